//! A component of any kind, detected from its bytes.

use crate::component::{InstanceSetup, LoadError};
use crate::component_members::{LoadedComponent, PluginComponent, PluginKind};
use crate::host::PluginHost;
use crate::inspect::{ComponentSummary, inspect};
use crate::kinds::aggregator::AggregatorKind;
use crate::kinds::backend::BackendKind;
use crate::kinds::doc_hook::DocHookKind;
use crate::kinds::extractor::ExtractorKind;
use crate::kinds::judge::JudgeKind;
use crate::kinds::metric::MetricKind;
use crate::kinds::preprocessor::PreprocessorKind;
use crate::kinds::role_adapter::RoleAdapterKind;
use crate::world::World;
use std::ops::Deref;
use std::sync::Arc;

/// A plugin kind that an [`AnyComponent`] may hold.
pub trait AnyKind: PluginKind {
    /// Returns the component if it is of this kind.
    fn of(any: &AnyComponent) -> Option<Arc<PluginComponent<Self>>>;
}

/// Defines [`AnyComponent`] with a variant for each world.
macro_rules! any_component {
    ($($(#[$doc:meta])* $variant:ident: $kind:ty),+ $(,)?) => {
        /// A component of any kind.
        #[derive(Clone)]
        pub enum AnyComponent {
            $($(#[$doc])* $variant(Arc<PluginComponent<$kind>>),)+
        }

        $(impl AnyKind for $kind {
            fn of(any: &AnyComponent) -> Option<Arc<PluginComponent<$kind>>> {
                match any {
                    AnyComponent::$variant(component) => Some(Arc::clone(component)),
                    _ => None,
                }
            }
        })+

        impl Deref for AnyComponent {
            type Target = LoadedComponent;

            fn deref(&self) -> &LoadedComponent {
                match self {
                    $(AnyComponent::$variant(component) => component,)+
                }
            }
        }

        impl AnyComponent {
            /// Loads a component of the kind that its bytes declare.
            ///
            /// # Errors
            /// Same as for [`PluginComponent::load`].
            pub fn load(
                host: &PluginHost,
                name: &str,
                bytes: &[u8],
                setup: &InstanceSetup,
            ) -> Result<AnyComponent, LoadError> {
                Ok(match summarise(name, bytes)?.world {
                    $(World::$variant => {
                        AnyComponent::$variant(Arc::new(PluginComponent::load(host, name, bytes, setup)?))
                    })+
                })
            }
        }
    };
}

any_component!(
    /// Metrics.
    Metric: MetricKind,
    /// Preprocessors.
    Preprocessor: PreprocessorKind,
    /// Doc hooks.
    DocHook: DocHookKind,
    /// Aggregators.
    Aggregator: AggregatorKind,
    /// Judges.
    Judge: JudgeKind,
    /// Answer extractors.
    Extractor: ExtractorKind,
    /// Role adapters.
    RoleAdapter: RoleAdapterKind,
    /// A backend.
    Backend: BackendKind,
);

/// Describes a component without compiling or running it. `name` is used in messages.
///
/// # Errors
/// If this host could not run the component with any grants.
pub fn summarise(name: &str, bytes: &[u8]) -> Result<ComponentSummary, LoadError> {
    inspect(bytes).map_err(|refusal| LoadError::refused(name, refusal))
}
