use gage_runner::{RunEvent, RunProgress, RunRequest, RunnerError, run};
use std::sync::Arc;

/// Prints the id of every finished sample.
struct Samples;

impl RunProgress for Samples {
    fn on_event(&self, event: &RunEvent<'_>) {
        if let RunEvent::SampleFinished(sample) = event {
            println!("{}: {}", sample.sample_id, sample.outcome);
        }
    }
}

fn main() -> Result<(), RunnerError> {
    let mut request = RunRequest::new("suite.yaml");
    request.context.progress = Arc::new(Samples);
    let outcome = run(&request)?;
    println!("{}: {} in {}", outcome.run_id, outcome.status.name(), outcome.folder.display());
    Ok(())
}
