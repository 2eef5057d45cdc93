//! Measures metrics and preprocessors that are compiled for this machine's processor, without a sandbox. The benchmark
//! `sandbox` compares them with the components.
//!
//! Reads a JSON document with batches from stdin, and writes one with the costs to stdout:
//!
//! ```json
//! {"seconds": 0.3, "members": [{"plugin": "text", "kind": "metric", "member": "exact_match", "params": "{}",
//!   "items": [{"prediction": "Paris", "reference": "paris"}]}]}
//! ```
//!
//! An item of a metric has values by input name. That of a preprocessor is the text of a row.

mod document;
mod inputs;
mod measure;
mod members;

use document::{MemberCosts, MemberRequest, Report, Request};
use gage_sdk::serde_json;
use std::process::ExitCode;
use std::time::Duration;

fn main() -> ExitCode {
    match report() {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("gage-native-costs: {message}");
            ExitCode::FAILURE
        }
    }
}

fn report() -> Result<String, String> {
    let request: Request =
        serde_json::from_reader(std::io::stdin().lock()).map_err(|error| format!("stdin: {error}"))?;
    let time = Duration::try_from_secs_f64(request.seconds).map_err(|error| format!("seconds: {error}"))?;
    let costs_of = |member: &MemberRequest| -> Result<MemberCosts, String> {
        members::costs(member, time).map_err(|message| format!("'{}': {message}", member.member))
    };
    let members = request.members.iter().map(costs_of).collect::<Result<Vec<_>, String>>()?;
    serde_json::to_string(&Report { members }).map_err(|error| error.to_string())
}
