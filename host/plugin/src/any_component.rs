//! A component of whatever kind it turns out to be.

use crate::component::{CallWork, InstanceSetup, LoadError, PluginIdentity};
use crate::component_members::{PluginComponent, PluginKind};
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
use crate::limits::Limits;
use crate::member_description::MemberDescription;
use crate::world::World;
use gage_core::Object;
use std::sync::Arc;

/// A kind of plugins that an [`AnyComponent`] may turn out to be.
pub trait AnyKind: PluginKind {
    /// The component, if it is of this kind.
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

        impl AnyComponent {
            /// Loads a component of the kind that its bytes say.
            ///
            /// # Errors
            /// As for [`PluginComponent::load`].
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

/// Evaluates an expression with the component, whichever its kind.
macro_rules! each {
    ($any:expr, $component:ident => $body:expr) => {
        match $any {
            AnyComponent::Metric($component) => $body,
            AnyComponent::Preprocessor($component) => $body,
            AnyComponent::DocHook($component) => $body,
            AnyComponent::Aggregator($component) => $body,
            AnyComponent::Judge($component) => $body,
            AnyComponent::Extractor($component) => $body,
            AnyComponent::RoleAdapter($component) => $body,
            AnyComponent::Backend($component) => $body,
        }
    };
}

impl AnyComponent {
    /// Its kind.
    pub fn world(&self) -> World {
        self.summary().world
    }

    /// What a record of a run says about the component.
    pub fn identity(&self) -> &PluginIdentity {
        each!(self, component => component.identity())
    }

    /// What it says of itself, in a sentence.
    pub fn description(&self) -> &str {
        each!(self, component => component.description())
    }

    /// Its `extra` metadata.
    pub fn extra(&self) -> &Object {
        each!(self, component => component.extra())
    }

    /// What was read from its bytes.
    pub fn summary(&self) -> &ComponentSummary {
        each!(self, component => component.summary())
    }

    /// What it may use.
    pub fn limits(&self) -> &Limits {
        each!(self, component => component.limits())
    }

    /// How much it has done so far.
    pub fn work(&self) -> CallWork {
        each!(self, component => component.work())
    }

    /// What its members say of themselves.
    pub fn descriptions(&self) -> Vec<&MemberDescription> {
        each!(self, component => component.descriptions().collect())
    }
}

/// Reads what a component is, without compiling or running it. `name` is what messages call it.
///
/// # Errors
/// When it is not a component that this host could run, whatever it was granted.
pub fn summarise(name: &str, bytes: &[u8]) -> Result<ComponentSummary, LoadError> {
    inspect(bytes).map_err(|refusal| LoadError {
        name: name.to_owned(),
        message: refusal.message,
        help: refusal.help,
    })
}
