//! Figures and their uncertainty, from the records of a run: aggregation, intervals, the summary, timings, and the terminal
//! table. This crate reads run folders; it does not run anything.
//!
//! - **Only scored samples enter a figure**, and every figure reports their number.
//! - **Sums are compensated and taken in dataset order**, so a figure has the same bits for every concurrency, batch and
//!   interruption.
//! - **Data that varies from run to run is separate**: [`Summary`] has the same bytes each time, [`Timings`] has the rest.
//! - **A sample counts once**, regardless of its number of repeats.
//! - **Randomness is seeded**, with a generator of this crate, so results are the same everywhere.
//! - **Memory does not grow with the number of samples**, except by 8 bytes per score for [`Aggregation::Median`] and
//!   [`Aggregation::Percentile`] (24 with clusters), by 16 for [`Aggregation::WeightedMean`], and with the number of
//!   clusters.

mod accumulator;
mod aggregation;
mod aggregator_state;
mod bootstrap;
mod completeness;
mod custom_aggregation;
mod description;
mod error;
mod figure;
mod judges;
mod known_paths;
mod latency;
mod plugin_costs;
mod quantile;
pub mod random;
mod recorded_run;
mod resamples;
mod resamples_file;
mod robust_mean;
mod served;
mod slicing;
mod spread;
mod statistics;
mod sum;
mod summary;
mod table;
#[cfg(any(test, feature = "test-records"))]
pub mod test_records;
mod timings;
mod write;

pub use accumulator::Accumulator;
pub use aggregation::Aggregation;
pub use bootstrap::MIN_RESAMPLED_UNITS;
pub use completeness::{Completeness, TaskCompleteness};
pub use custom_aggregation::{
    AggregationRow, CustomAggregator, CustomAggregators, NamedFigure, no_custom_aggregators,
};
pub use description::{MetricDescription, PromptDescription, Scale, TaskDescription, UNBOUNDED};
pub use error::FiguresError;
pub use figure::{CategoryCount, MetricFigure, SliceFigure, SliceMean, SubFigure, TagCount};
pub use gage_core::OTHER_LABEL;
pub use judges::JudgeFigure;
pub use known_paths::UnfoundPath;
pub use latency::LatencyFigures;
pub use plugin_costs::PluginCosts;
pub use recorded_run::{PartialRecords, RecordedRun, Records};
pub use resamples::Resamples;
pub use robust_mean::RobustMean;
pub use served::{ServedModel, describe_served};
pub use slicing::{SliceMembership, Slicing, max_slices};
pub use spread::{RunningMean, Spread};
pub use statistics::{Interval, IntervalMethod, LEVEL_95, Z_95, student_t_975, wilson_interval};
pub use sum::CompensatedSum;
pub use summary::{SUMMARY_VERSION, SampleFigures, Summary, SummaryBuilder, TaskSummary, TokenFigures};
pub use table::{TableOptions, percent_rounded_down, render_side_by_side, render_table, unit_of};
pub use timings::{Machine, Phases, TIMINGS_VERSION, TaskTimings, Timings, TimingsBuilder};
pub use write::{Example, ReportBuilder, WrittenReports, write_reports};
