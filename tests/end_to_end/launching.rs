//! `launch`: what it prints is run as it is, with stand-ins for the programs of a cluster.

use crate::languages::is_there;
use crate::support::{CommandOutput, Workspace, repository, rows, suite};
use std::process::Command;

/// Name of a suite that a shell, Python, YAML and Kubernetes could misread.
const HOSTILE_SUITE: &str = "it's \"a\" $(touch pwned) `touch pwned`; $(SHELL) {{ x }} #.yaml";

/// Writes its arguments, a line each, and ends with the code in `code`.
const PROGRAM: &str =
    "#!/bin/sh\nprintf '%s\\n' \"$@\" > words-of-$1\nread -r code < code-of-$1\nexit \"$code\"\n";

/// Keeps the script that it gets, with its arguments.
const SBATCH: &str = "#!/bin/sh\nname=submitted-$(ls | grep -c '^submitted-')\ncat > \"$name\"\n\
                      printf '%s\\n' \"$@\" > \"arguments-of-$name\"\necho '17;cluster'\n";

/// A module in place of Ray: tasks run when they are asked for their result.
const RAY: &str = "
class Task:
    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments

class Remote:
    def __init__(self, function):
        self.function = function

    def remote(self, *arguments):
        return Task(self.function, arguments)

def init():
    pass

def remote(**options):
    print('task', options.get('num_gpus'), options['num_cpus'])
    return Remote

def wait(tasks):
    return tasks[:1], tasks[1:]

def get(task):
    return task.function(*task.arguments)
";

/// Returns a workspace with a suite of a model behind a server, and stand-ins in the folder `bin`.
fn workspace() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("rows.jsonl", rows(4));
    workspace.write(HOSTILE_SUITE, suite(BACKEND, "[exact_match]"));
    workspace.write("suite.yaml", suite(BACKEND, "[exact_match]"));
    for (name, text) in [
        ("gage-host", PROGRAM),
        ("sbatch", SBATCH),
        ("squeue", "#!/bin/sh\ncat state\n"),
        ("scontrol", "#!/bin/sh\necho \"$@\" > scontrol-words\n"),
    ] {
        let file = workspace.write(&format!("bin/{name}"), text);
        assert!(Command::new("chmod").arg("+x").arg(file).status().expect("chmod runs").success());
    }
    workspace.write("code-of-run", "0\n");
    workspace.write("code-of-merge", "0\n");
    workspace.write("state", "RUNNING\n");
    workspace
}

const BACKEND: &str = "type: openai_http\n    config: {base_url: 'http://127.0.0.1:9/v1', model: m}";

/// Runs a shell command in the workspace, with the stand-ins before all other programs.
fn shell(workspace: &Workspace, variables: &[(&str, &str)], script: &str) -> CommandOutput {
    let script = format!("PATH=\"$PWD/bin:$PATH\"; export PATH; {script}");
    let mut command = workspace.program_in_shell(&script);
    CommandOutput::of(command.envs(variables.iter().copied()).output().expect("a shell runs"))
}

/// Returns the words that a stand-in got.
fn words(workspace: &Workspace, file: &str) -> Vec<String> {
    workspace.read(file).lines().map(str::to_owned).collect()
}

#[test]
fn slurm_script_submits_shards_and_their_merge() {
    let workspace = workspace();
    // Only whether there is a lock is looked at.
    workspace.write(&HOSTILE_SUITE.replace(".yaml", ".gage.lock"), "");
    let launch =
        ["launch", "slurm", HOSTILE_SUITE, "--shards", "3", "--run-id", "r", "--gpus", "2", "--locked"];
    let printed = workspace.run(&launch).expect_code(0);
    assert!(
        printed.stderr.contains("next: save the text as r.sh, and submit it with `bash r.sh`"),
        "{}",
        printed.stderr
    );
    workspace.write("r.sh", &printed.stdout);
    let submitted = shell(&workspace, &[], "bash r.sh --partition=gpu '--comment=a b'").expect_code(0);
    assert!(submitted.stdout.contains("shards: job 17, logs r-*.log"), "{}", submitted.stdout);
    let options = ["--parsable", "--partition=gpu", "--comment=a b"];
    assert_eq!(words(&workspace, "arguments-of-submitted-0"), options);
    assert_eq!(
        words(&workspace, "arguments-of-submitted-1"),
        [&options[..], &["--dependency=afterany:17"]].concat()
    );
    let script = workspace.read("submitted-0");
    for line in ["#SBATCH --array=1-3", "#SBATCH --gres=gpu:2", "#SBATCH --requeue --signal=B:TERM@120"] {
        assert!(script.lines().any(|found| found == line), "{line}\n{script}");
    }
    let task = [("SLURM_ARRAY_JOB_ID", "17"), ("SLURM_ARRAY_TASK_ID", "2")];
    shell(&workspace, &task, "bash submitted-0").expect_code(0);
    let run = ["run", HOSTILE_SUITE, "--run-id", "r", "--output-dir", "runs", "--locked", "--shard", "2/3"];
    assert_eq!(words(&workspace, "words-of-run"), run);
    shell(&workspace, &[], "bash submitted-1").expect_code(0);
    assert_eq!(words(&workspace, "words-of-merge"), ["merge", "r", "--output-dir", "runs"]);
    assert!(!workspace.path("pwned").exists());
}

#[test]
fn slurm_script_names_the_shards_if_the_merge_fails() {
    let workspace = workspace();
    let launch = ["launch", "slurm", "suite.yaml", "--shards", "3", "--run-id", "r"];
    workspace.write("r.sh", workspace.run(&launch).expect_code(0).stdout);
    // The second job is refused.
    let sbatch = "#!/bin/sh\n[ -e submitted ] && exit 1\ncat > submitted\necho 17\n";
    workspace.write("bin/sbatch", sbatch);
    let submitted = shell(&workspace, &[], "bash r.sh").expect_code(1);
    assert_eq!(submitted.stdout, "shards: job 17, logs r-*.log\n");
}

#[test]
fn slurm_tasks_are_queued_again_by_their_exit_code() {
    let workspace = workspace();
    let launch = ["launch", "slurm", "suite.yaml", "--shards", "3", "--run-id", "r"];
    workspace.write("r.sh", workspace.run(&launch).expect_code(0).stdout);
    shell(&workspace, &[], "bash r.sh").expect_code(0);
    for (code, restarts, state, is_queued) in [
        (0, "0", "RUNNING", false),
        (1, "0", "RUNNING", false),
        (2, "0", "RUNNING", false),
        (3, "0", "RUNNING", false),
        (4, "0", "RUNNING", false),
        (5, "0", "RUNNING", true),
        (130, "19", "RUNNING", true),
        (130, "20", "RUNNING", false),
        // The task is being cancelled.
        (130, "0", "COMPLETING", false),
    ] {
        workspace.write("code-of-run", format!("{code}\n"));
        workspace.write("state", format!("{state}\n"));
        let _ = std::fs::remove_file(workspace.path("scontrol-words"));
        let task =
            [("SLURM_ARRAY_JOB_ID", "17"), ("SLURM_ARRAY_TASK_ID", "2"), ("SLURM_RESTART_COUNT", restarts)];
        shell(&workspace, &task, "bash submitted-0").expect_code(code);
        let is_found = workspace.path("scontrol-words").exists();
        assert_eq!(is_found, is_queued, "{code} after {restarts} restarts, {state}");
        if is_found {
            assert_eq!(workspace.read("scontrol-words"), "requeue 17_2\n");
        }
    }
}

#[test]
fn slurm_task_passes_the_signal_on() {
    let workspace = workspace();
    let launch = ["launch", "slurm", "suite.yaml", "--shards", "3", "--run-id", "r"];
    workspace.write("r.sh", workspace.run(&launch).expect_code(0).stdout);
    shell(&workspace, &[], "bash r.sh").expect_code(0);
    // As before the time limit, only the shell of the task gets the signal. The program waits for its own.
    let program = "#!/bin/sh\ntrap 'kill $child; echo > stopped; exit 130' TERM\n\
                   tail -f /dev/null >/dev/null 2>&1 & child=$!\nkill -TERM $PPID\nwait\n";
    workspace.write("bin/gage-host", program);
    let task = [("SLURM_ARRAY_JOB_ID", "17"), ("SLURM_ARRAY_TASK_ID", "2")];
    shell(&workspace, &task, "bash submitted-0").expect_code(130);
    assert!(workspace.path("stopped").exists());
    assert_eq!(workspace.read("scontrol-words"), "requeue 17_2\n");
}

#[test]
fn ray_driver_runs_all_shards_and_merges_them() {
    if !is_there("python3", &["-c", "import sys; print(sys.version_info[1])"], 10) {
        eprintln!("skipped: there is no Python 3.10");
        return;
    }
    let workspace = workspace();
    workspace.write("ray.py", RAY);
    let launch = ["launch", "ray", HOSTILE_SUITE, "--shards", "2", "--run-id", "r", "--gpus", "1", "-j", "3"];
    let printed = workspace.run(&launch).expect_code(0);
    assert!(printed.stderr.contains("next: save the text as r.py"), "{}", printed.stderr);
    workspace.write("r.py", &printed.stdout);
    for (code, merge_code) in [(0, 0), (3, 4)] {
        workspace.write("code-of-run", format!("{code}\n"));
        workspace.write("code-of-merge", format!("{merge_code}\n"));
        let ended = shell(&workspace, &[], "python3 r.py").expect_code(merge_code);
        match code {
            0 => assert!(ended.stdout.contains("shard 1/2: done\nshard 2/2: done\n"), "{}", ended.stdout),
            _ => assert!(ended.stderr.contains("shard 2/2: exit code 3"), "{}", ended.stderr),
        }
        assert!(ended.stdout.starts_with("task 1 1\ntask None 1\n"), "{}", ended.stdout);
    }
    let run = [
        "run",
        HOSTILE_SUITE,
        "--run-id",
        "r",
        "--output-dir",
        "runs",
        "--concurrency",
        "3",
        "--shard",
        "2/2",
    ];
    assert_eq!(words(&workspace, "words-of-run"), run);
    assert_eq!(words(&workspace, "words-of-merge"), ["merge", "r", "--output-dir", "runs"]);
    assert!(!workspace.path("pwned").exists());
}

#[test]
fn kubernetes_manifest_lists_the_words_of_the_pods() {
    let workspace = workspace();
    let launch =
        ["launch", "kubernetes", HOSTILE_SUITE, "--shards", "2", "--run-id", "r", "--image", "gage-host:1"];
    let printed = workspace.run(&[&launch[..], &["--storage", "evals"]].concat()).expect_code(0);
    assert!(printed.stderr.contains("next: save the text as r.yaml"), "{}", printed.stderr);
    let [shards, merge] = [0, 1].map(|document| {
        let mut documents = serde_yaml::Deserializer::from_str(&printed.stdout).skip(document);
        let document = documents.next().expect("two documents");
        let job: serde_json::Value = serde::Deserialize::deserialize(document).expect("YAML");
        let command = job["spec"]["template"]["spec"]["containers"][0]["command"].clone();
        serde_json::from_value::<Vec<String>>(command).expect("words")
    });
    let suite = HOSTILE_SUITE.replace('$', "$$");
    let run = ["gage-host", "run", &suite, "--run-id", "r", "--output-dir", "runs", "--shard"];
    assert_eq!(shards, [&run[..], &["index:$(JOB_COMPLETION_INDEX)/2"]].concat());
    assert_eq!(merge, ["gage-host", "merge", "r", "--output-dir", "runs"]);
}

#[test]
fn variables_of_the_suite_reach_the_shards() {
    let workspace = workspace();
    let backend = BACKEND.replace("model: m", "model: m, api_key_env: MY_KEY");
    workspace.write("suite.yaml", suite(&backend, "[exact_match]"));
    let launch = |engine: &[&str]| {
        let command = ["launch", engine[0], "suite.yaml", "--shards", "2", "--run-id", "r"];
        let variables = [
            ("MY_KEY", "sk-0123456789abcdef"),
            ("AWS_REGION", "eu-1"),
            // Files and services of this machine.
            ("AWS_CA_BUNDLE", "/etc/ca.pem"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", "/run/token"),
            ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/v2/credentials"),
        ];
        workspace.run_with_env(variables, &[&command[..], &engine[1..]].concat()).expect_code(0)
    };
    let ray = launch(&["ray", "--storage", "s3://evals/team"]);
    assert!(ray.stdout.contains("VARIABLES = [\"AWS_REGION\", \"MY_KEY\"]"), "{}", ray.stdout);
    assert!(ray.stdout.contains("\"merge\", \"s3://evals/team/r\""), "{}", ray.stdout);
    let kubernetes = launch(&["kubernetes", "--image", "i", "--storage", "evals"]);
    assert!(
        kubernetes.stdout.contains("secretRef: {name: gage-r, optional: false}"),
        "{}",
        kubernetes.stdout
    );
    let secret = "the pods read MY_KEY from a secret: kubectl create secret generic gage-r \
                  --from-literal=MY_KEY=\"$MY_KEY\"";
    assert!(kubernetes.stderr.contains(secret), "{}", kubernetes.stderr);
}

#[test]
fn launch_warns_about_suites_that_need_care() {
    let workspace = workspace();
    let launch = |arguments: &[&str]| {
        let command = ["launch", "slurm", "suite.yaml", "--shards", "1001", "--run-id", "r"];
        workspace.run(&[&command[..], arguments].concat()).expect_code(0).stderr
    };
    workspace.write("suite.gage.lock", "");
    let servers = launch(&[]);
    assert!(servers.contains("warning: all models are on HTTP servers"), "{servers}");
    assert!(servers.contains("warning: Slurm refuses more than 1000 tasks"), "{servers}");
    let model = repository().join("config/models/gage-tiny.gguf");
    let llama = format!("type: llama_cpp\n    config: {{model_path: '{}'}}", model.display());
    workspace.write("suite.yaml", suite(&llama, "[exact_match]"));
    let kernels = launch(&[]);
    assert!(kernels.contains("warning: each machine chooses the kernels of `model`"), "{kernels}");
    assert!(!kernels.contains("HTTP"), "{kernels}");
    for arguments in [["--locked"].as_slice(), &["--set", "backends.model.config.kernels=baseline"]] {
        let quiet = launch(arguments);
        assert!(!quiet.contains("kernels of"), "{arguments:?}: {quiet}");
    }
}

#[test]
fn launch_refuses_what_a_cluster_cannot_run() {
    let workspace = workspace();
    let common = ["suite.yaml", "--shards", "2", "--run-id", "r"];
    let kubernetes = |arguments: &[&'static str]| [&["kubernetes", "--image", "i"], arguments].concat();
    for (arguments, expected) in [
        (vec!["slurm", "--answers", "rows.jsonl"], "shards cannot score the answers in a file"),
        (vec!["slurm", "--model", "openai:a", "--model", "openai:b"], "have one model and one prompt, not 2"),
        (vec!["slurm", "--storage", "evals"], "--storage evals: only Kubernetes has PersistentVolumeClaims"),
        (vec!["ray", "--output-dir", "a\tb"], "a\\tb cannot be part of a script"),
        (vec!["ray", "--set", "backends.model.config.api_key=sk-0123456789abcdef"], "would contain a secret"),
        (vec!["ray", "--set", "metrics=[no_such_key"], "error"),
        (vec!["slurm", "--locked"], "--locked: there is no lock 'suite.gage.lock'"),
        (vec!["slurm", "--locked"], "make it with `gage-host lock suite.yaml`, or leave --locked out"),
        (kubernetes(&[]), "launch kubernetes needs --storage"),
        (kubernetes(&["--storage", "evals", "--output-dir", "/runs"]), "'/runs' is not in the claim"),
        (kubernetes(&["--storage", "s3://evals"]), "--output-dir runs cannot be mounted in a pod"),
    ] {
        let words = [&["launch", arguments[0]], &common[..], &arguments[1..]].concat();
        let refused = workspace.run(&words).expect_code(2);
        assert!(refused.stderr.contains(expected), "{words:?}: {}", refused.stderr);
        assert_eq!(refused.stdout, "", "{words:?}");
    }
    let words = ["launch", "kubernetes", "suite.yaml", "--shards", "2", "--image", "i", "--storage", "evals"];
    let refused = workspace.run(&[&words[..], &["--run-id", "A.b"]].concat()).expect_code(2);
    assert!(refused.stderr.contains("--run-id A.b cannot name a Job of Kubernetes"), "{}", refused.stderr);
}

#[test]
fn launch_refuses_the_id_of_another_run() {
    let workspace = workspace();
    workspace.write("runs/divided/shards/01-of-03/manifest.json", "{}");
    workspace.write("runs/broken/manifest.json", "{");
    let answers = "{\"id\": \"q0\", \"answer\": \"7\"}\n";
    workspace.write("answers.jsonl", answers);
    let run = ["run", "suite.yaml", "--answers", "answers.jsonl", "--run-id", "whole", "--quiet"];
    workspace.run(&run);
    assert!(workspace.path("runs/whole/manifest.json").exists());
    let launch = |engine: &[&str], run_id: &str| {
        let common = ["suite.yaml", "--shards", "2", "--run-id", run_id];
        workspace.run(&[&["launch"], engine, &common[..]].concat())
    };
    for (run_id, expected) in [
        ("whole", "runs/whole is a run without shards"),
        ("divided", "--shards 2: runs/divided has shards of a run of 3, and a run is divided once"),
        ("broken", "manifest.json"),
    ] {
        let refused = launch(&["slurm"], run_id).expect_code(2);
        assert!(refused.stderr.contains(expected), "{run_id}: {}", refused.stderr);
        assert!(refused.stderr.contains("name another run with --run-id"), "{}", refused.stderr);
    }
    launch(&["slurm"], "new").expect_code(0);
    // The folder is that of a pod.
    let output_dir = workspace.path("runs").display().to_string();
    let kubernetes = ["kubernetes", "--image", "i", "--storage", "s3://evals", "--output-dir", &output_dir];
    launch(&kubernetes, "whole").expect_code(0);
}
