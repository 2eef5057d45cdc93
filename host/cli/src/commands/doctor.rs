//! `gage-host doctor`: reports on this machine.

use super::setup;
use crate::arguments::DoctorArguments;
use crate::exit_code::ExitCode;
use crate::terminal;
use gage_backend::{ConfinementPart, GpuDevice, KernelBuild, ModelProgramReport};
use serde_json::{Value, json};

/// Program that runs models, or the reason why it cannot be started.
type ModelProgramState = Result<ModelProgramReport, String>;

/// Environment of a model process.
const ENVIRONMENT: &str = "only variables of OpenMP, llama.cpp, CUDA, Vulkan and the dynamic linker";

/// File in which the NVIDIA driver reports its version.
const NVIDIA_DRIVER_FILE: &str = "/proc/driver/nvidia/version";

pub(crate) fn execute(arguments: &DoctorArguments) -> anyhow::Result<ExitCode> {
    let program = setup::model_program().report();
    let driver =
        std::fs::read_to_string(NVIDIA_DRIVER_FILE).ok().map(|text| driver_version(&text).to_owned());
    if arguments.json {
        terminal::print_json(format_args!("{:#}", to_json(&program, driver.as_deref())))?;
    } else {
        terminal::print_line(render(&program, driver.as_deref()).trim_end())?;
    }
    Ok(ExitCode::Done)
}

/// Returns the version number in the driver's report, or else its first line.
fn driver_version(report: &str) -> &str {
    let first = report.lines().next().unwrap_or_default();
    let is_version =
        |word: &&str| word.starts_with(|letter: char| letter.is_ascii_digit()) && word.contains('.');
    first.split_whitespace().find(is_version).unwrap_or(first)
}

fn render(program: &ModelProgramState, driver: Option<&str>) -> String {
    let mut rows = Vec::new();
    match program {
        Ok(report) => {
            let program = format!("{} ({})", report.file.display(), report.greeting.build.variant);
            rows.push(("model program", program));
            rows.extend(kernel_rows(report));
            rows.extend(device_rows(report));
            rows.extend(driver.map(|version| ("NVIDIA driver", version.to_owned())));
            rows.push(("environment", ENVIRONMENT.to_owned()));
            rows.extend(report.greeting.confinement.parts().map(|part| (part.name, part.description)));
        }
        Err(reason) => {
            rows.push(("model program", format!("cannot be used: {reason}")));
            rows.extend(driver.map(|version| ("NVIDIA driver", version.to_owned())));
        }
    }
    rows.into_iter().map(|(name, value)| terminal::beside(&format!("{name:<15}"), &value) + "\n").collect()
}

/// Lists the kernels, each with the reason if it is not used.
fn kernel_rows(report: &ModelProgramReport) -> Vec<(&'static str, String)> {
    let build = &report.greeting.build;
    if build.modules.is_empty() {
        return vec![("kernels", format!("{}: in use, compiled into the program", build.variant.build))];
    }
    let state = |(kernels, unused): &(KernelBuild, Option<String>)| match unused {
        None => format!("{kernels}: in use"),
        Some(reason) => format!("{kernels}: not used: {reason}"),
    };
    let rows = report.kernels.iter().map(state).enumerate();
    rows.map(|(index, row)| (if index == 0 { "kernels" } else { "" }, row)).collect()
}

/// Lists the GPUs with their memory.
fn device_rows(report: &ModelProgramReport) -> Vec<(&'static str, String)> {
    let row = |device: &GpuDevice| {
        let total = shown_gibibytes(device.memory_bytes);
        let free = report.greeting.free_gpu_memory.get(&device.name).map(|bytes| shown_gibibytes(*bytes));
        let free = free.map(|free| format!(", {free} free")).unwrap_or_default();
        ("GPU", format!("{}: {}, {total} of memory{free}", device.name, device.description))
    };
    report.greeting.build.devices.iter().map(row).collect()
}

fn shown_gibibytes(bytes: u64) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}

fn to_json(program: &ModelProgramState, driver: Option<&str>) -> Value {
    let mut json = match program {
        Ok(report) => json!({
            "model_program": {
                "file": report.file.display().to_string(),
                "build": report.greeting.build,
                "kernels": kernels_to_json(report),
                "free_gpu_memory": report.greeting.free_gpu_memory,
                "environment": ENVIRONMENT,
                "confinement": report.greeting.confinement.parts().map(part_to_json),
            },
        }),
        Err(reason) => json!({"model_program": null, "problem": reason}),
    };
    json["nvidia_driver"] = driver.into();
    json
}

fn kernels_to_json(report: &ModelProgramReport) -> Vec<Value> {
    let build = &report.greeting.build;
    if build.modules.is_empty() {
        return vec![json!({"name": build.variant.build, "is_in_use": true, "reason": null})];
    }
    let kernels = report.kernels.iter();
    kernels
        .map(|(name, unused)| json!({"name": name, "is_in_use": unused.is_none(), "reason": unused}))
        .collect()
}

fn part_to_json(part: ConfinementPart) -> Value {
    json!({"name": part.name, "is_in_force": part.is_in_force, "description": part.description})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_of_the_nvidia_driver_is_a_number() {
        for (report, expected) in [
            (
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.03  Tue Sep 16\nGCC version: gcc 12.2.0\n",
                "580.159.03",
            ),
            ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  535.54  Release Build", "535.54"),
            ("something else\n", "something else"),
            ("", ""),
        ] {
            assert_eq!(driver_version(report), expected);
        }
    }
}
