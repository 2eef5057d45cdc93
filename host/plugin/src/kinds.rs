//! One file for each kind of plugin: how its exports are called, and what is made of its results.

pub(crate) mod aggregator;
pub(crate) mod backend;
pub(crate) mod doc_hook;
pub(crate) mod extractor;
pub(crate) mod judge;
pub(crate) mod metric;
pub(crate) mod preprocessor;
pub(crate) mod role_adapter;

/// The part of a [`crate::family::PluginKind`] that is the same for all, but for the names of the bindings.
macro_rules! bindings {
    ($plugin:ident, $pre:ident) => {
        type PreInstance = $pre<crate::sandbox::GuestState>;
        type PluginInstance = $plugin;

        fn prepare(
            instance: wasmtime::component::InstancePre<crate::sandbox::GuestState>,
        ) -> wasmtime::Result<Self::PreInstance> {
            $pre::new(instance)
        }

        fn instantiate(
            pre: &Self::PreInstance,
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
use crate::component_members::{DeclaredMember, OptionalMetadata, PluginKind};

/// A member that declares nothing beyond what all do.
fn plain<K: PluginKind<Detail = ()>>(spec: MemberSpec) -> DeclaredMember<K> {
    DeclaredMember { spec, inputs: Vec::new(), further: OptionalMetadata::default(), detail: () }
}
