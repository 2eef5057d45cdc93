//! The component called by the host, built from an author's members: finds a member by name, creates it from
//! its parameters, and runs it over a batch.
//!
//! Only the macros use this module.

use crate::{PluginError, PluginInfo};
use serde_json::Value;
use std::marker::PhantomData;

/// A kind of plugin, implemented for the trait objects of its members.
pub trait Kind {
    /// Noun for a member, as in `no metric 'x' in this component`.
    const NOUN: &'static str;

    /// Description of a member.
    type Spec;

    /// Sets the name of a member in its description.
    fn set_name(spec: &mut Self::Spec, name: &str);
}

/// Implements [`Kind`] for a trait of members, given its noun, its description, and the description's name
/// field.
macro_rules! kind {
    ($member:ident, $noun:literal, $spec:ty, $($name:ident).+) => {
        impl $crate::component::Kind for dyn $member {
            const NOUN: &'static str = $noun;
            type Spec = $spec;

            fn set_name(spec: &mut $spec, name: &str) {
                spec.$($name).+ = name.to_owned();
            }
        }
    };
}

/// Exports of all kinds with several members: the plugin's description, the list of its members, and the
/// check of a member's parameters.
macro_rules! members {
    ($list:ident, $spec:ty) => {
        fn describe() -> $crate::PluginInfo {
            P::info()
        }

        fn $list() -> Vec<$spec> {
            $crate::component::specs::<P>()
        }

        fn check(member: String, params: String) -> Result<(), PluginError> {
            $crate::component::make::<P>(&member, &params).map(drop)
        }
    };
}

pub(crate) use {kind, members};

/// A member of a component.
pub struct Entry<K: Kind + ?Sized> {
    /// Name of the member. Separate from the description, which is expensive to create: every batch looks up
    /// its member.
    pub name: &'static str,
    /// Creates its description.
    pub spec: fn() -> K::Spec,
    /// Creates it from its parameters.
    pub make: fn(Value) -> Result<Box<K>, PluginError>,
}

/// Interface that the macros implement.
pub trait Plugin {
    /// The kind of all members.
    type Kind: Kind + ?Sized;

    /// Returns the description of the plugin.
    fn info() -> PluginInfo;

    /// Returns its members.
    fn entries() -> Vec<Entry<Self::Kind>>;
}

/// Implements the exports of a world for the plugin.
pub struct Component<P>(PhantomData<P>);

/// Returns the descriptions of all members, in order.
pub fn specs<P: Plugin>() -> Vec<<P::Kind as Kind>::Spec> {
    let named = |entry: Entry<P::Kind>| {
        let mut spec = (entry.spec)();
        P::Kind::set_name(&mut spec, entry.name);
        spec
    };
    P::entries().into_iter().map(named).collect()
}

/// Creates the member with this name from the JSON text of its parameters.
pub fn make<P: Plugin>(name: &str, params: &str) -> Result<Box<P::Kind>, PluginError> {
    let Some(entry) = P::entries().into_iter().find(|entry| entry.name == name) else {
        let noun = P::Kind::NOUN;
        return Err(PluginError::unsupported(format!("no {noun} '{name}' in this component")));
    };
    let params = serde_json::from_str(params)
        .map_err(|error| PluginError::invalid_config(format!("the parameters are not JSON: {error}")))?;
    (entry.make)(params)
}

/// Creates the member with this name and runs it over a batch, with one result per item, in order. If the
/// member cannot be created, every item gets its error.
pub fn each<P: Plugin, Item, Output>(
    name: &str,
    params: &str,
    items: Vec<Item>,
    call: impl Fn(&P::Kind, Item) -> Result<Output, PluginError>,
) -> Vec<Result<Output, PluginError>> {
    match make::<P>(name, params) {
        Ok(member) => items.into_iter().map(|item| call(&member, item)).collect(),
        Err(error) => items.iter().map(|_| Err(error.clone())).collect(),
    }
}

/// Parses JSON from the host. An error names the affected part of the call.
pub fn read_json<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> Result<T, PluginError> {
    serde_json::from_str(text)
        .map_err(|error| PluginError::invalid_input(format!("{what} cannot be read: {error}")))
}

/// Returns a value as JSON, without the formatting machinery that its `to_string` uses.
pub(crate) fn json_text(value: &Value) -> String {
    // Keys are texts, so no value fails.
    serde_json::to_string(value).unwrap_or_default()
}

/// Returns the `extra` of [`PluginInfo`]: the first object, or an empty one.
pub fn extra<const N: usize>(objects: [Value; N]) -> String {
    objects.first().map_or_else(|| "{}".to_owned(), Value::to_string)
}

/// Creates a component; called by the macro of each kind.
#[doc(hidden)]
#[macro_export]
macro_rules! __component {
    ($module:ident, $kind:path, $trait:path, $name:expr, $description:expr, [$($extra:expr)?], [$($member:ty),+]) => {
        #[doc(hidden)]
        pub struct GagePlugin;

        impl $crate::component::Plugin for GagePlugin {
            type Kind = dyn $kind;

            fn info() -> $crate::PluginInfo {
                $crate::PluginInfo {
                    name: ::std::convert::Into::into($name),
                    version: ::std::convert::Into::into(::std::env!("CARGO_PKG_VERSION")),
                    description: ::std::convert::Into::into($description),
                    extra: $crate::component::extra([$($extra)?]),
                }
            }

            fn entries() -> ::std::vec::Vec<$crate::component::Entry<Self::Kind>> {
                ::std::vec![$($crate::component::Entry {
                    name: <$member as $trait>::name(),
                    spec: <$member as $trait>::spec,
                    make: |params| ::std::result::Result::Ok(::std::boxed::Box::new(<$member as $trait>::prepare(params)?)),
                }),+]
            }
        }

        #[cfg(target_family = "wasm")]
        type GageComponent = $crate::component::Component<GagePlugin>;

        // Only here: linkers of other targets do not take the names of the exports.
        #[cfg(target_family = "wasm")]
        $crate::bindings::$module::export!(GageComponent with_types_in $crate::bindings::$module);

        // The exports as functions, for programs that measure them without a sandbox.
        #[cfg(not(target_family = "wasm"))]
        #[doc(hidden)]
        pub type NativeComponent = $crate::component::Component<GagePlugin>;
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;
    use crate::preprocessor::{Preprocessor, Row, RowOutcome};
    use crate::{MemberSpec, from_params};
    use serde_json::json;

    #[derive(serde::Deserialize)]
    struct Labelled {
        label: String,
    }

    impl Preprocessor for Labelled {
        fn name() -> &'static str {
            "labelled"
        }

        fn spec() -> MemberSpec {
            MemberSpec::new("1", "", json!({}))
        }
        fn prepare(params: Value) -> Result<Self, PluginError> {
            from_params(params)
        }
        fn convert(&self, row: Row) -> Result<RowOutcome, PluginError> {
            match row.index {
                0 => Err(PluginError::invalid_input("no first row")),
                _ => Ok(RowOutcome::Skip(self.label.clone())),
            }
        }
    }

    struct Rows;

    impl Plugin for Rows {
        type Kind = dyn Preprocessor;
        fn info() -> PluginInfo {
            let [name, version, description] = ["rows", "1", ""].map(str::to_owned);
            PluginInfo { name, version, description, extra: extra([json!({ "license": "MIT" })]) }
        }
        fn entries() -> Vec<Entry<dyn Preprocessor>> {
            vec![Entry {
                name: Labelled::name(),
                spec: Labelled::spec,
                make: |params| Ok(Box::new(Labelled::prepare(params)?)),
            }]
        }
    }

    fn convert(name: &str, params: &str) -> Vec<Result<RowOutcome, PluginError>> {
        each::<Rows, _, _>(name, params, vec![0, 1], |member, index| {
            member.convert(Row { dataset: String::new(), index, body: serde_json::Map::new() })
        })
    }

    #[test]
    fn an_error_is_that_of_one_item() {
        let results = convert("labelled", r#"{"label":"a"}"#);
        assert!(results[0].is_err());
        assert_eq!(results[1], Ok(RowOutcome::Skip("a".to_owned())));
    }

    #[test]
    fn a_member_that_cannot_be_made_is_an_error_of_all() {
        for (name, params, kind, message) in [
            ("other", "{}", ErrorKind::Unsupported, "no preprocessor 'other' in this component"),
            ("labelled", "{}", ErrorKind::InvalidConfig, "params: missing field `label`"),
        ] {
            let results = convert(name, params);
            let error = PluginError::new(kind, message);
            assert_eq!(results, [Err(error.clone()), Err(error)], "{name} {params}");
        }
        assert_eq!(
            make::<Rows>("labelled", "?").err().map(|error| error.kind),
            Some(ErrorKind::InvalidConfig)
        );
    }

    #[test]
    fn extras() {
        assert_eq!(Rows::info().extra, r#"{"license":"MIT"}"#);
        assert_eq!(extra([]), "{}");
    }
}
