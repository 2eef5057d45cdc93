//! The command line of `gage-host plugin`.

mod add;
mod diff;
mod export;
mod import;
mod outdated;
mod pull;
mod push;
mod sign;
mod target;
mod update;
mod verify;

use super::{PermissionArguments, PrintArguments};
pub(crate) use add::PluginAddArguments;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
pub(crate) use diff::PluginDiffArguments;
pub(crate) use export::PluginExportArguments;
use gage_plugin::World;
use gage_plugin_tools::Language;
pub(crate) use import::PluginImportArguments;
pub(crate) use outdated::PluginOutdatedArguments;
pub(crate) use pull::PluginPullArguments;
pub(crate) use push::PluginPushArguments;
pub(crate) use sign::PluginSignArguments;
use std::path::PathBuf;
pub(crate) use target::ComponentTarget;
use target::component_target;
pub(crate) use update::PluginUpdateArguments;
pub(crate) use verify::PluginVerifyArguments;

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Create a plugin project that builds and passes its cases.
    New(NewArguments),
    /// Build the project in a folder into one .wasm file.
    Build(BuildArguments),
    /// Lock the packages of a Python project: write requirements.txt from requirements.in.
    Lock(PluginLockArguments),
    /// Show what a component is and wants: kind, members, imports, grants, digest, signers.
    Inspect(InspectArguments),
    /// Run the cases of a plugin, and check that it keeps no state.
    Test(TestArguments),
    /// Measure a component.
    Bench(BenchArguments),
    /// Bring the contract and the SDK in a project to those of this version.
    Upgrade(UpgradeArguments),
    /// Push a component to a registry, and print the entry for a suite.
    Push(PluginPushArguments),
    /// Fetch a package from a registry into the cache.
    Pull(PluginPullArguments),
    /// Sign a component or a package with a private key.
    Sign(PluginSignArguments),
    /// Check who signed a component or a package.
    Verify(PluginVerifyArguments),
    /// Write the packages of a suite to one file, for a machine without a network.
    Export(PluginExportArguments),
    /// Add the packages of an exported file to the cache.
    Import(PluginImportArguments),
    /// Add a package of a registry to a suite, with its digest.
    Add(PluginAddArguments),
    /// List the plugins of a suite that have a newer version in their registry.
    Outdated(PluginOutdatedArguments),
    /// Change the versions and digests of a suite's plugins to the newest ones.
    Update(PluginUpdateArguments),
    /// Compare two components, and their results for the same items.
    Diff(PluginDiffArguments),
}

const NEW_EXAMPLES: &str = "\
Examples:
  gage-host plugin new word-recall
  gage-host plugin new --lang python --kind judge politeness";

#[derive(Args, Debug)]
#[command(after_help = NEW_EXAMPLES)]
pub(crate) struct NewArguments {
    /// Name of the plugin and its folder: lower-case letters, digits, - and _.
    #[arg(value_name = "NAME")]
    pub(crate) name: String,

    /// Language of the plugin.
    #[arg(long, default_value = "rust", value_parser = languages())]
    pub(crate) lang: Language,

    /// Kind of the plugin.
    #[arg(long, default_value = "metric", value_parser = kinds())]
    pub(crate) kind: World,
}

fn languages() -> impl TypedValueParser<Value = Language> {
    let value = |one: Language| PossibleValue::new(one.name()).aliases(one.other_names());
    PossibleValuesParser::new(Language::ALL.map(value))
        .try_map(|name| Language::of_name(&name).ok_or("unknown language"))
}

fn kinds() -> impl TypedValueParser<Value = World> {
    PossibleValuesParser::new(World::ALL.map(World::kind))
        .try_map(|kind| World::of_kind(&kind).ok_or("unknown kind"))
}

const BUILD_EXAMPLES: &str = "\
Examples:
  gage-host plugin build
  gage-host plugin build ./word-recall";

#[derive(Args, Debug)]
#[command(after_help = BUILD_EXAMPLES)]
pub(crate) struct BuildArguments {
    /// The project.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,

    /// Show no progress.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}

const LOCK_EXAMPLES: &str = "\
Examples:
  echo charset-normalizer > requirements.in
  gage-host plugin lock
  gage-host plugin build

Only packages with a wheel in pure Python (py3-none-any) can be locked: a component runs no native code.";

#[derive(Args, Debug)]
#[command(after_help = LOCK_EXAMPLES)]
pub(crate) struct PluginLockArguments {
    /// The project.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,

    /// Show no progress.
    #[arg(long, short, env = "GAGE_HOST_QUIET")]
    pub(crate) quiet: bool,
}

const INSPECT_EXAMPLES: &str = "\
Examples:
  gage-host plugin inspect word-recall.wasm
  gage-host plugin inspect --static stranger.wasm
  gage-host plugin inspect word-recall.wasm --json
  gage-host plugin inspect oci://registry.example/metrics/word-recall:0.1.0";

#[derive(Args, Debug)]
#[command(after_help = INSPECT_EXAMPLES)]
pub(crate) struct InspectArguments {
    /// The component: a file, the name of a built-in one, or a package of a registry; by default that of the project in
    /// this folder.
    #[arg(value_name = "FILE|REF", value_parser = component_target())]
    pub(crate) target: Option<ComponentTarget>,

    /// Only read the bytes; nothing is compiled or run. Otherwise the component describes itself in the sandbox, unless
    /// the policy refuses it.
    #[arg(long = "static")]
    pub(crate) is_static: bool,

    /// Read a package from the cache, and ask no registry.
    #[arg(long, env = "GAGE_HOST_OFFLINE")]
    pub(crate) offline: bool,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}

const TEST_EXAMPLES: &str = "\
Examples:
  gage-host plugin test
  gage-host plugin test word-recall.wasm --cases cases.jsonl
  gage-host plugin test word-recall.wasm --cases cases.jsonl --json
  gage-host plugin test --native
  gage-host plugin test --native --watch

Exit codes: 0 all cases pass and the plugin is pure, 4 some do not, 2 the plugin or the cases
cannot be used. With --watch: 0 after Ctrl-C.";

#[derive(Args, Debug)]
#[command(after_help = TEST_EXAMPLES)]
pub(crate) struct TestArguments {
    /// The component: a file, the name of a built-in one, or the folder of a project; by default that of the project in this
    /// folder.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// The cases, one JSON object a line (docs/reference/plugin-cases.md); by default cases.jsonl beside the
    /// component. May be given several times.
    #[arg(long, value_name = "CASES")]
    pub(crate) cases: Vec<PathBuf>,

    /// Suite whose entry of `plugins` has the grants and limits of the component.
    #[arg(long, value_name = "CONFIG")]
    pub(crate) config: Option<PathBuf>,

    /// Run the source of a metric in Python or JavaScript in the python3 or node on the path, without building it and without
    /// the sandbox. Use it only for code that you trust.
    #[arg(long, conflicts_with = "config")]
    pub(crate) native: bool,

    /// Run the cases again whenever a file changes, until Ctrl-C.
    #[arg(long, conflicts_with = "json")]
    pub(crate) watch: bool,

    #[command(flatten)]
    pub(crate) permissions: PermissionArguments,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}

const UPGRADE_EXAMPLES: &str = "\
Examples:
  gage-host plugin upgrade
  gage-host plugin upgrade ./word-recall --check

Exit codes: 0 the project is up to date, 3 --check found files that are not, 2 the folder is no
project.";

#[derive(Args, Debug)]
#[command(after_help = UPGRADE_EXAMPLES)]
pub(crate) struct UpgradeArguments {
    /// The project.
    #[arg(value_name = "DIR", default_value = ".")]
    pub(crate) folder: PathBuf,

    /// Only show the files that would change.
    #[arg(long)]
    pub(crate) check: bool,
}

const BENCH_EXAMPLES: &str = "\
Examples:
  gage-host plugin bench
  gage-host plugin bench word-recall.wasm
  gage-host plugin bench word-recall.wasm --cases cases.jsonl --batch 256";

#[derive(Args, Debug)]
#[command(after_help = BENCH_EXAMPLES)]
pub(crate) struct BenchArguments {
    /// The component, or the name of one that comes with the program; by default that of the project in
    /// the working folder. Items are measured of
    /// metrics and extractors.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,

    /// Cases with inputs; without them texts of --bytes are generated.
    #[arg(long, value_name = "CASES")]
    pub(crate) cases: Option<PathBuf>,

    /// Member, if the component has several.
    #[arg(long, value_name = "NAME")]
    pub(crate) member: Option<String>,

    /// Items in a batch.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = super::positive)]
    pub(crate) batch: usize,

    /// Bytes of each generated input.
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = super::positive)]
    pub(crate) bytes: usize,

    /// Also measure the cost of counting fuel and time. The component then runs without limits: use it only for
    /// components that you trust.
    #[arg(long)]
    pub(crate) uncounted: bool,

    /// Duration of each measurement in seconds.
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    pub(crate) seconds: f64,

    #[command(flatten)]
    pub(crate) print: PrintArguments,
}

#[derive(Args, Debug)]
pub(crate) struct CompileArguments {
    /// Bytes of addresses that the process may use.
    #[arg(value_name = "BYTES")]
    pub(crate) memory_bytes: u64,

    /// Processor time that the process may use.
    #[arg(value_name = "SECONDS")]
    pub(crate) seconds: u64,

    /// Folder of the functions of earlier compilations; without it, all are compiled.
    #[arg(value_name = "DIR")]
    pub(crate) functions: Option<PathBuf>,
}
