//! `gage-host doctor`: reports on this machine.

use super::setup;
use crate::arguments::DoctorArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_backend::{ConfinementPart, Greeting};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Program that runs models and its greeting, or the reason why it cannot be started.
type ModelProgramState = Result<(PathBuf, Greeting), String>;

/// Environment of a model process.
const ENVIRONMENT: &str = "only variables of OpenMP, llama.cpp, CUDA, Vulkan and the dynamic linker";

pub(crate) fn execute(arguments: &DoctorArguments) -> anyhow::Result<ExitCode> {
    let program = setup::model_program().greeting();
    if arguments.json {
        terminal::print_json(format_args!("{:#}", to_json(&program)))?;
    } else {
        terminal::print_line(render(&program).trim_end())?;
    }
    Ok(ExitCode::Done)
}

fn render(program: &ModelProgramState) -> String {
    let mut rows = Vec::new();
    match program {
        Ok((file, greeting)) => {
            let program = format!("{} ({})", file.display(), greeting.build.variant);
            rows.push(("model program", program));
            rows.push(("environment", ENVIRONMENT.to_owned()));
            rows.extend(greeting.confinement.parts().map(|part| (part.name, part.description)));
        }
        Err(reason) => rows.push(("model program", format!("cannot be used: {reason}"))),
    }
    rows.into_iter().map(|(name, value)| terminal::beside(&format!("{name:<15}"), &value) + "\n").collect()
}

fn to_json(program: &ModelProgramState) -> Value {
    match program {
        Ok((file, greeting)) => json!({
            "model_program": {
                "file": file.display().to_string(),
                "build": greeting.build,
                "environment": ENVIRONMENT,
                "confinement": greeting.confinement.parts().map(part_to_json),
            },
        }),
        Err(reason) => json!({"model_program": null, "problem": reason}),
    }
}

fn part_to_json(part: ConfinementPart) -> Value {
    json!({"name": part.name, "is_in_force": part.is_in_force, "description": part.description})
}
