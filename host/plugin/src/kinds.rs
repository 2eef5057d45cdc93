//! One file for each kind of plugin: how its exports are called, and what is made of its results.

pub(crate) mod aggregator;
pub(crate) mod backend;
pub(crate) mod doc_hook;
pub(crate) mod extractor;
pub(crate) mod judge;
pub(crate) mod metric;
pub(crate) mod preprocessor;
pub(crate) mod role_adapter;

/// The part of a [`crate::family::Kind`] that is the same for all, but for the names of the bindings.
macro_rules! bindings {
    ($plugin:ident, $pre:ident) => {
        type Pre = $pre<crate::sandbox::GuestState>;
        type Plugin = $plugin;

        fn prepare(
            instance: wasmtime::component::InstancePre<crate::sandbox::GuestState>,
        ) -> wasmtime::Result<Self::Pre> {
            $pre::new(instance)
        }

        fn instantiate(
            pre: &Self::Pre,
            store: &mut wasmtime::Store<crate::sandbox::GuestState>,
        ) -> wasmtime::Result<$plugin> {
            pre.instantiate(store)
        }
    };
    ($plugin:ident, $pre:ident, $guest:ident) => {
        crate::kinds::bindings!($plugin, $pre);

        fn check(
            plugin: &$plugin,
            store: &mut wasmtime::Store<crate::sandbox::GuestState>,
            member: &str,
            params: &String,
        ) -> wasmtime::Result<Result<(), crate::bindings::types::PluginError>> {
            plugin.$guest().call_check(store, member, params)
        }
    };
}

pub(crate) use bindings;

use crate::bindings::types::MemberSpec;
use crate::family::{Declared, Further, Kind};

/// A member that declares nothing beyond what all do.
fn plain<K: Kind<Detail = ()>>(spec: MemberSpec) -> Declared<K> {
    Declared { spec, inputs: Vec::new(), further: Further::default(), detail: () }
}
