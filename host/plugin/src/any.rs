//! A component of whatever kind it turns out to be.

use crate::component::{LoadError, PluginIdentity, Setup, Work};
use crate::family::{Family, Kind, MemberDescription};
use crate::host::PluginHost;
use crate::inspect::{ComponentSummary, inspect};
use crate::kinds::aggregator::{AggregatorFamily, AggregatorKind};
use crate::kinds::backend::{BackendFamily, BackendKind};
use crate::kinds::doc_hook::{DocHookFamily, DocHookKind};
use crate::kinds::extractor::{ExtractorFamily, ExtractorKind};
use crate::kinds::judge::{JudgeFamily, JudgeKind};
use crate::kinds::metric::{MetricFamily, MetricKind};
use crate::kinds::preprocessor::{PreprocessorFamily, PreprocessorKind};
use crate::kinds::role_adapter::{RoleAdapterFamily, RoleAdapterKind};
use crate::limits::Limits;
use crate::world::World;
use gage_core::Object;
use std::sync::Arc;

/// A component of any kind.
#[derive(Clone)]
pub enum AnyFamily {
    /// Metrics.
    Metric(Arc<MetricFamily>),
    /// Preprocessors.
    Preprocessor(Arc<PreprocessorFamily>),
    /// Doc hooks.
    DocHook(Arc<DocHookFamily>),
    /// Aggregators.
    Aggregator(Arc<AggregatorFamily>),
    /// Judges.
    Judge(Arc<JudgeFamily>),
    /// Answer extractors.
    Extractor(Arc<ExtractorFamily>),
    /// Role adapters.
    RoleAdapter(Arc<RoleAdapterFamily>),
    /// A backend.
    Backend(Arc<BackendFamily>),
}

/// A kind of plugins that an [`AnyFamily`] may turn out to be.
pub trait AnyKind: Kind {
    /// The family, if it is of this kind.
    fn of(any: &AnyFamily) -> Option<Arc<Family<Self>>>;
}

/// Takes families out again.
macro_rules! take {
    ($($variant:ident: $kind:ty),+ $(,)?) => {
        $(impl AnyKind for $kind {
            fn of(any: &AnyFamily) -> Option<Arc<Family<$kind>>> {
                match any {
                    AnyFamily::$variant(family) => Some(Arc::clone(family)),
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

/// Does the same with a family of whichever kind.
macro_rules! each {
    ($any:expr, $family:ident => $body:expr) => {
        match $any {
            AnyFamily::Metric($family) => $body,
            AnyFamily::Preprocessor($family) => $body,
            AnyFamily::DocHook($family) => $body,
            AnyFamily::Aggregator($family) => $body,
            AnyFamily::Judge($family) => $body,
            AnyFamily::Extractor($family) => $body,
            AnyFamily::RoleAdapter($family) => $body,
            AnyFamily::Backend($family) => $body,
        }
    };
}

impl AnyFamily {
    /// Loads a component of the kind that its bytes say.
    ///
    /// # Errors
    /// As for [`Family::load`].
    pub fn load(host: &PluginHost, name: &str, bytes: &[u8], setup: &Setup) -> Result<AnyFamily, LoadError> {
        let summary = summarise(name, bytes)?;
        Ok(match summary.world {
            World::Metric => AnyFamily::Metric(Arc::new(Family::load(host, name, bytes, setup)?)),
            World::Preprocessor => AnyFamily::Preprocessor(Arc::new(Family::load(host, name, bytes, setup)?)),
            World::DocHook => AnyFamily::DocHook(Arc::new(Family::load(host, name, bytes, setup)?)),
            World::Aggregator => AnyFamily::Aggregator(Arc::new(Family::load(host, name, bytes, setup)?)),
            World::Judge => AnyFamily::Judge(Arc::new(Family::load(host, name, bytes, setup)?)),
            World::Extractor => AnyFamily::Extractor(Arc::new(Family::load(host, name, bytes, setup)?)),
            World::RoleAdapter => AnyFamily::RoleAdapter(Arc::new(Family::load(host, name, bytes, setup)?)),
            World::Backend => AnyFamily::Backend(Arc::new(Family::load(host, name, bytes, setup)?)),
        })
    }

    /// Its kind.
    pub fn world(&self) -> World {
        self.summary().world
    }

    /// What a record of a run says about the component.
    pub fn identity(&self) -> &PluginIdentity {
        each!(self, family => family.identity())
    }

    /// What it says of itself, in a sentence.
    pub fn description(&self) -> &str {
        each!(self, family => family.description())
    }

    /// What it says of itself further.
    pub fn extra(&self) -> &Object {
        each!(self, family => family.extra())
    }

    /// What was read from its bytes.
    pub fn summary(&self) -> &ComponentSummary {
        each!(self, family => family.summary())
    }

    /// What it may use.
    pub fn limits(&self) -> &Limits {
        each!(self, family => family.limits())
    }

    /// How much it has done so far.
    pub fn work(&self) -> Work {
        each!(self, family => family.work())
    }

    /// What its members say of themselves.
    pub fn descriptions(&self) -> Vec<&MemberDescription> {
        each!(self, family => family.descriptions().collect())
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
