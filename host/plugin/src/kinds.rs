//! The plugin kinds, one module each, with their exports and results.

pub(crate) mod aggregator;
pub(crate) mod backend;
pub(crate) mod doc_hook;
pub(crate) mod extractor;
pub(crate) mod judge;
pub(crate) mod metric;
pub(crate) mod preprocessor;
pub(crate) mod role_adapter;

/// The items of [`crate::component_members::PluginKind`] whose code differs between kinds only in binding
/// names.
///
/// With a guest interface, the function that lists its members and a conversion to `DeclaredMember`, the macro adds
/// `describe` and `check` too.
macro_rules! bindings {
    ($plugin:ident, $pre:ident) => {
        type PreInstance = $pre<crate::sandbox::GuestState>;
        type PluginInstance = $plugin;

        fn prepare(
            instance: wasmtime::component::InstancePre<crate::sandbox::GuestState>,
        ) -> wasmtime::Result<Self::PreInstance> {
            $pre::new(instance)
        }

        async fn instantiate(
            pre: &Self::PreInstance,
            store: &mut wasmtime::Store<crate::sandbox::GuestState>,
        ) -> wasmtime::Result<$plugin> {
            pre.instantiate_async(store).await
        }
    };
    ($plugin:ident, $pre:ident, $guest:ident, $list:ident, $declared:path) => {
        crate::kinds::bindings!($plugin, $pre);

        async fn describe(
            plugin: &$plugin,
            store: &mut wasmtime::Store<crate::sandbox::GuestState>,
        ) -> wasmtime::Result<(
            crate::bindings::types::PluginInfo,
            Vec<crate::component_members::DeclaredMember<Self>>,
        )> {
            let guest = plugin.$guest();
            let info = guest.call_describe(&mut *store).await?;
            Ok((info, guest.$list(store).await?.into_iter().map($declared).collect()))
        }

        async fn check(
            plugin: &$plugin,
            store: &mut wasmtime::Store<crate::sandbox::GuestState>,
            member: &str,
            params: &String,
        ) -> wasmtime::Result<Result<(), crate::bindings::types::PluginError>> {
            plugin.$guest().call_check(store, member, params).await
        }
    };
}

pub(crate) use bindings;

use crate::bindings::types::MemberSpec;
use crate::component_members::{DeclaredMember, PluginKind};
use crate::member_description::OptionalMetadata;

/// Creates a member without kind-specific declarations.
fn plain<K: PluginKind<Detail = ()>>(spec: MemberSpec) -> DeclaredMember<K> {
    DeclaredMember { spec, inputs: Vec::new(), optional: OptionalMetadata::default(), detail: () }
}
