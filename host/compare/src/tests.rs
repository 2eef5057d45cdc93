//! Comparisons of run folders, from the files to the answers.

mod bad_input;
mod gates;
mod needed;
mod rendering;
mod runs;
mod simulation;
mod statistics;
mod verdicts;
mod warnings;

/// The JUnit XML of a comparison.
fn xml_of(comparison: &super::Comparison) -> String {
    super::junit_xml(comparison).unwrap()
}
