//! Runs a suite, and prints how each sample ended.

use gage_runner::{RunEvent, RunOutcome, RunProgress, RunRequest, RunnerError, run};
use std::path::Path;
use std::sync::Arc;

struct PrintSamples;

impl RunProgress for PrintSamples {
    fn on_event(&self, event: &RunEvent<'_>) {
        if let RunEvent::SampleFinished(sample) = event {
            println!("{}: {}", sample.sample_id, sample.outcome);
        }
    }
}

/// Runs the suite in a file. Run folders are created below `runs`.
pub fn evaluate(suite: &Path, runs: &Path) -> Result<RunOutcome, RunnerError> {
    let mut request = RunRequest { output_folder: runs.to_owned(), ..RunRequest::new(suite) };
    request.context.progress = Arc::new(PrintSamples);
    run(&request)
}

fn main() -> Result<(), RunnerError> {
    evaluate(Path::new("suite.yaml"), Path::new("runs")).map(|outcome| println!("{}", outcome.run_id))
}
