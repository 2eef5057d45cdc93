//! `gage-host launch`: texts that run the shards of a suite on a cluster.

use super::{ConfigArguments, positive, run_id};
use clap::{Args, Subcommand};
use gage_core::MAX_SHARDS;
use std::path::PathBuf;

/// Maximum number of GPUs of a shard.
const MAX_GPUS: u32 = 64;

/// Maximum number of processor cores of a shard.
const MAX_CPUS: u32 = 1024;

#[derive(Debug, Subcommand)]
pub(crate) enum LaunchCommand {
    /// Print a script that submits the shards and their merge to Slurm.
    #[command(after_help = SLURM_EXAMPLES)]
    Slurm(LaunchArguments),
    /// Print a manifest of two Jobs for Kubernetes: the shards, and their merge.
    #[command(after_help = KUBERNETES_EXAMPLES)]
    Kubernetes(LaunchKubernetesArguments),
    /// Print a driver in Python that runs the shards on Ray and merges them.
    #[command(after_help = RAY_EXAMPLES)]
    Ray(LaunchArguments),
}

const SLURM_EXAMPLES: &str = "\
Examples:
  gage-host launch slurm suite.yaml --shards 64 --parallel 16 --gpus 1 --locked > nightly.sh
  bash nightly.sh --partition=gpu --time=4:00:00";

const KUBERNETES_EXAMPLES: &str = "\
Examples:
  gage-host launch kubernetes suite.yaml --shards 64 --parallel 16 --gpus 1 --locked \\
    --run-id nightly --image registry.example/gage-host:0.1.0 --storage evals > nightly.yaml
  kubectl apply -f nightly.yaml";

const RAY_EXAMPLES: &str = "\
Examples:
  gage-host launch ray suite.yaml --shards 64 --parallel 16 --gpus 1 --locked > nightly.py
  RAY_ADDRESS=auto python nightly.py";

/// Storage of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LaunchStorage {
    /// A PersistentVolumeClaim of Kubernetes, by its name.
    Claim(String),
    /// A bucket and a prefix in it, as `s3://bucket/prefix`.
    Bucket(String),
}

#[derive(Args, Debug)]
pub(crate) struct LaunchArguments {
    #[command(flatten)]
    pub(crate) config: ConfigArguments,

    /// Number of shards. A few times as many as run at the same time balance the load.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = shards)]
    pub(crate) shards: u32,

    /// Maximum number of shards at the same time; by default as many as the cluster has room for.
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = shards)]
    pub(crate) parallel: Option<u32>,

    /// Name of the run and of its folder; by default made from date and time.
    #[arg(long, value_name = "ID", value_parser = run_id)]
    pub(crate) run_id: Option<String>,

    /// GPUs of each shard.
    #[arg(long, value_name = "G", default_value = "0", allow_negative_numbers = true, value_parser = gpus)]
    pub(crate) gpus: u32,

    /// Processor cores of each shard; by default what the cluster gives.
    #[arg(long, value_name = "C", allow_negative_numbers = true, value_parser = cpus)]
    pub(crate) cpus: Option<u32>,

    /// Requests in flight of each shard; by default 16.
    #[arg(short = 'j', long, env = "GAGE_HOST_CONCURRENCY", value_name = "N", allow_negative_numbers = true, value_parser = positive)]
    pub(crate) concurrency: Option<usize>,

    /// Let shards refuse to run if anything that can change a figure differs from the lock.
    #[arg(long)]
    pub(crate) locked: bool,

    /// Folder of the runs, which all machines share.
    #[arg(long, env = "GAGE_HOST_OUTPUT_DIR", value_name = "DIR", default_value = "runs")]
    pub(crate) output_dir: PathBuf,

    /// Push finished shards to s3://bucket/prefix, and merge them from there. On Kubernetes also the name of
    /// a PersistentVolumeClaim with the suite, which takes the runs.
    #[arg(long, value_name = "STORAGE", value_parser = storage)]
    pub(crate) storage: Option<LaunchStorage>,
}

#[derive(Args, Debug)]
pub(crate) struct LaunchKubernetesArguments {
    #[command(flatten)]
    pub(crate) launch: LaunchArguments,

    /// Image of the containers, with gage-host on its PATH.
    #[arg(long, value_name = "IMAGE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) image: String,
}

impl LaunchCommand {
    /// Returns the arguments that all kinds of clusters have.
    pub(crate) fn arguments(&self) -> &LaunchArguments {
        match self {
            LaunchCommand::Slurm(arguments) | LaunchCommand::Ray(arguments) => arguments,
            LaunchCommand::Kubernetes(arguments) => &arguments.launch,
        }
    }

    /// Returns the arguments that all kinds of clusters have, to be changed.
    pub(crate) fn arguments_mut(&mut self) -> &mut LaunchArguments {
        match self {
            LaunchCommand::Slurm(arguments) | LaunchCommand::Ray(arguments) => arguments,
            LaunchCommand::Kubernetes(arguments) => &mut arguments.launch,
        }
    }
}

fn shards(text: &str) -> Result<u32, String> {
    within(text, 1, u32::try_from(MAX_SHARDS).unwrap_or(u32::MAX))
}

fn gpus(text: &str) -> Result<u32, String> {
    within(text, 0, MAX_GPUS)
}

fn cpus(text: &str) -> Result<u32, String> {
    within(text, 1, MAX_CPUS)
}

fn within(text: &str, min: u32, max: u32) -> Result<u32, String> {
    let number = text.parse::<u32>().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| format!("expected a whole number from {min} to {max}"))
}

fn storage(text: &str) -> Result<LaunchStorage, String> {
    const EXPECTED: &str = "expected s3://bucket/prefix, or the name of a PersistentVolumeClaim: lower-case \
                            letters, digits, '-' and '.'";
    if let Some(address) = text.strip_prefix("s3://") {
        let address = address.trim_end_matches('/');
        let is_plain = |one: char| one.is_ascii_alphanumeric() || "-._/".contains(one);
        let is_address = !address.is_empty() && !address.starts_with('/') && address.chars().all(is_plain);
        return match is_address {
            true => Ok(LaunchStorage::Bucket(format!("s3://{address}"))),
            false => Err(EXPECTED.to_owned()),
        };
    }
    let is_plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit() || "-.".contains(one);
    let is_end = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit();
    let is_name =
        text.len() <= 253 && text.starts_with(is_end) && text.ends_with(is_end) && text.chars().all(is_plain);
    match is_name {
        true => Ok(LaunchStorage::Claim(text.to_owned())),
        false => Err(EXPECTED.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::command;

    #[test]
    fn storage_is_a_bucket_or_a_claim() {
        let bucket = |address: &str| Some(LaunchStorage::Bucket(address.to_owned()));
        let claim = |name: &str| Some(LaunchStorage::Claim(name.to_owned()));
        for (text, expected) in [
            ("s3://evals", bucket("s3://evals")),
            ("s3://evals/team-a/x_1/", bucket("s3://evals/team-a/x_1")),
            ("s3://", None),
            ("s3:///prefix", None),
            ("s3://evals/a b", None),
            ("s3://evals/$(id)", None),
            ("evals", claim("evals")),
            ("evals-2.team", claim("evals-2.team")),
            ("Evals", None),
            ("-evals", None),
            ("evals-", None),
            ("/mnt/evals", None),
            ("", None),
        ] {
            assert_eq!(storage(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn wrong_values_say_what_is_allowed() {
        for (engine, arguments, expected) in [
            ("slurm", ["--shards", "0"].as_slice(), "expected a whole number from 1 to 10000"),
            ("slurm", &["--shards", "-1"], "expected a whole number from 1 to 10000"),
            ("slurm", &["--shards", "10001"], "expected a whole number from 1 to 10000"),
            ("slurm", &[], "--shards <N>"),
            ("ray", &["--shards", "2", "--parallel", "no"], "expected a whole number from 1 to 10000"),
            ("ray", &["--shards", "2", "--gpus", "65"], "expected a whole number from 0 to 64"),
            ("ray", &["--shards", "2", "--cpus", "0"], "expected a whole number from 1 to 1024"),
            ("ray", &["--shards", "2", "--run-id", "a/b"], "use 1 to 128 letters, digits"),
            ("ray", &["--shards", "2", "--storage", "/mnt"], "expected s3://bucket/prefix"),
            ("ray", &["--shards", "2", "--image", "i"], "--image"),
            ("kubernetes", &["--shards", "2"], "--image <IMAGE>"),
            ("kubernetes", &["--shards", "2", "--image", ""], "a value is required for '--image <IMAGE>'"),
        ] {
            let words = [["gage-host", "launch", engine, "suite.yaml"].as_slice(), arguments].concat();
            let error = command(&|_| None).try_get_matches_from(&words).expect_err("refused").to_string();
            assert!(error.contains(expected), "{words:?}: {error}");
        }
        let words = "gage-host launch kubernetes s.yaml --shards 3 --image i --storage evals".split(' ');
        assert!(command(&|_| None).try_get_matches_from(words).is_ok());
    }
}
