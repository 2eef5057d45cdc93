//! Communication of `gage-model` with `gage-host` over the standard streams.

use crate::bench::bench;
use crate::build::{build_info, may_use_gpus};
use crate::confinement::confine;
use crate::kernel_modules::{gpu_devices, kernel_folders};
use crate::runtime::kernels_in_use;
use crate::vocabulary::Vocabulary;
use crate::worker;
use gage_core::spawn_thread;
use gage_model_protocol::{
    BenchOptions, Command, Confinement, Greeting, LOG_TARGET, ModelOptions, ToModel, read_frame, write_frame,
};
use std::collections::BTreeMap;
use std::io::{BufReader, BufWriter, Result};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::channel;

/// Reads one command, confines this process to the files of the command, sends the greeting, and executes the command.
///
/// Must be called while this process has a single thread. Returns when the host has closed the stream, or if the model
/// cannot be loaded.
///
/// # Errors
/// If the streams break, or the first message is not a command of this version.
pub fn serve() -> Result<()> {
    // Read before the match, whose arms lock the stream again.
    let command = read_frame::<Command>(&mut std::io::stdin().lock());
    let model_files = command.as_ref().ok().and_then(Option::as_ref).map(Command::model_files);
    let confinement = confine(&model_files.unwrap_or_default(), kernel_folders(), may_use_gpus());
    // Only now: the build asks for the GPUs, whose drivers start threads. A host of another version learns from the
    // greeting why its command is not understood.
    let greeting = greeting(confinement);
    write_frame(&mut std::io::stdout().lock(), &greeting)?;
    match command? {
        Some(Command::Serve(options)) => serve_model(*options),
        Some(Command::CountTokens(path)) => count_tokens(&path),
        Some(Command::Bench(options)) => measure(&options),
        None => Ok(()),
    }
}

/// Starts llama.cpp, which loads its kernels, and returns the greeting.
fn greeting(confinement: Confinement) -> Greeting {
    let build = build_info();
    match kernels_in_use() {
        Ok(kernels) => Greeting {
            build,
            confinement,
            unused_kernels: kernels.unused.clone(),
            free_gpu_memory: gpu_devices().into_iter().map(|(gpu, free)| (gpu.name, free)).collect(),
            problem: None,
        },
        Err(error) => Greeting {
            build,
            confinement,
            unused_kernels: Vec::new(),
            free_gpu_memory: BTreeMap::new(),
            problem: Some(error.to_string()),
        },
    }
}

/// Loads a model and answers requests.
fn serve_model(options: ModelOptions) -> Result<()> {
    let (sender, inbox) = channel();
    spawn_thread("requests", move || {
        let mut stdin = BufReader::new(std::io::stdin().lock());
        while let Ok(Some(message)) = read_frame::<ToModel>(&mut stdin) {
            if sender.send(message).is_err() {
                break;
            }
        }
        // The host is gone; the model may be in the middle of a long call.
        std::process::exit(0);
    })?;
    let mut stdout = std::io::stdout().lock();
    worker::run(options, &inbox, move |message| match write_frame(&mut stdout, &message) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            tracing::debug!(target: LOG_TARGET, %error, "the reader of answers is gone");
            ControlFlow::Break(())
        }
    });
    Ok(())
}

/// Counts the tokens of one text after another.
fn count_tokens(path: &Path) -> Result<()> {
    let mut stdin = BufReader::new(std::io::stdin().lock());
    let mut stdout = BufWriter::new(std::io::stdout().lock());
    let vocabulary = Vocabulary::read(path);
    write_frame(&mut stdout, &vocabulary.as_ref().map(|_| ()))?;
    if let Ok(vocabulary) = vocabulary {
        while let Some(text) = read_frame::<String>(&mut stdin)? {
            write_frame(&mut stdout, &vocabulary.count(&text))?;
        }
    }
    Ok(())
}

/// Runs a benchmark for as long as the host waits for it.
fn measure(options: &BenchOptions) -> Result<()> {
    spawn_thread("requests", || {
        // The host sends nothing more; it closes the stream when it exits.
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        std::process::exit(0);
    })?;
    let report = bench(options);
    write_frame(&mut std::io::stdout().lock(), &report)
}
