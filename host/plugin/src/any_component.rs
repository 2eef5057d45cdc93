//! A component of whatever kind it turns out to be.

use crate::component::{CallWork, InstanceSetup, LoadError, PluginIdentity};
use crate::component_members::{PluginComponent, PluginKind};
use crate::host::PluginHost;
use crate::inspect::{ComponentSummary, inspect};
use crate::kinds::aggregator::{AggregatorComponent, AggregatorKind};
use crate::kinds::backend::{BackendKind, BackendPluginComponent};
use crate::kinds::doc_hook::{DocHookComponent, DocHookKind};
use crate::kinds::extractor::{ExtractorComponent, ExtractorKind};
use crate::kinds::judge::{JudgeComponent, JudgeKind};
use crate::kinds::metric::{MetricComponent, MetricKind};
use crate::kinds::preprocessor::{PreprocessorComponent, PreprocessorKind};
use crate::kinds::role_adapter::{RoleAdapterComponent, RoleAdapterKind};
use crate::limits::Limits;
use crate::member_description::MemberDescription;
use crate::world::World;
use gage_core::Object;
use std::sync::Arc;

/// A component of any kind.
#[derive(Clone)]
pub enum AnyComponent {
    /// Metrics.
    Metric(Arc<MetricComponent>),
    /// Preprocessors.
    Preprocessor(Arc<PreprocessorComponent>),
    /// Doc hooks.
    DocHook(Arc<DocHookComponent>),
    /// Aggregators.
    Aggregator(Arc<AggregatorComponent>),
    /// Judges.
    Judge(Arc<JudgeComponent>),
    /// Answer extractors.
    Extractor(Arc<ExtractorComponent>),
    /// Role adapters.
    RoleAdapter(Arc<RoleAdapterComponent>),
    /// A backend.
    Backend(Arc<BackendPluginComponent>),
}

/// A kind of plugins that an [`AnyComponent`] may turn out to be.
pub trait AnyKind: PluginKind {
    /// The component, if it is of this kind.
    fn of(any: &AnyComponent) -> Option<Arc<PluginComponent<Self>>>;
}

/// Takes families out again.
macro_rules! take {
    ($($variant:ident: $kind:ty),+ $(,)?) => {
        $(impl AnyKind for $kind {
            fn of(any: &AnyComponent) -> Option<Arc<PluginComponent<$kind>>> {
                match any {
                    AnyComponent::$variant(component) => Some(Arc::clone(component)),
                    _ => None,
                }
            }
        })+
    };
}

take!(
    Metric: MetricKind,
    Preprocessor: PreprocessorKind,
    DocHook: DocHookKind,
    Aggregator: AggregatorKind,
    Judge: JudgeKind,
    Extractor: ExtractorKind,
    RoleAdapter: RoleAdapterKind,
    Backend: BackendKind,
);

/// Does the same with a component of whichever kind.
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
        let summary = summarise(name, bytes)?;
        Ok(match summary.world {
            World::Metric => AnyComponent::Metric(Arc::new(PluginComponent::load(host, name, bytes, setup)?)),
            World::Preprocessor => {
                AnyComponent::Preprocessor(Arc::new(PluginComponent::load(host, name, bytes, setup)?))
            }
            World::DocHook => {
                AnyComponent::DocHook(Arc::new(PluginComponent::load(host, name, bytes, setup)?))
            }
            World::Aggregator => {
                AnyComponent::Aggregator(Arc::new(PluginComponent::load(host, name, bytes, setup)?))
            }
            World::Judge => AnyComponent::Judge(Arc::new(PluginComponent::load(host, name, bytes, setup)?)),
            World::Extractor => {
                AnyComponent::Extractor(Arc::new(PluginComponent::load(host, name, bytes, setup)?))
            }
            World::RoleAdapter => {
                AnyComponent::RoleAdapter(Arc::new(PluginComponent::load(host, name, bytes, setup)?))
            }
            World::Backend => {
                AnyComponent::Backend(Arc::new(PluginComponent::load(host, name, bytes, setup)?))
            }
        })
    }

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
