use super::cluster_commands::{container_word, python_list, quoted, shell_command};
use super::{LaunchError, LaunchText, ShardedRun, kubernetes, ray, slurm};
use crate::arguments::{Arguments, Command, LaunchCommand};
use clap::Parser as _;

/// Names that each language of scripts could misread.
const HOSTILE_WORDS: [&str; 8] = [
    "a b.yaml",
    "it's \"here\".yaml",
    "$(touch pwned) `touch pwned`.yaml",
    "$$HOME/${HOME}/$(JOB_COMPLETION_INDEX).yaml",
    "# no comment: {{ run }} {% raw %} \\n \\",
    "END_OF_SHARDS",
    "yes",
    "模型.yaml",
];

fn launch(words: &[&str]) -> LaunchCommand {
    let words = [["gage-host", "launch"].as_slice(), words].concat();
    match Arguments::parse_from(words).command {
        Command::Launch(launch) => *launch,
        other => panic!("{other:?}"),
    }
}

fn print(words: &[&str], variables: &[&str]) -> Result<LaunchText, LaunchError> {
    let command = launch(words);
    let arguments = command.arguments();
    let run = ShardedRun {
        arguments,
        run_id: arguments.run_id.clone().expect("an id"),
        parallel: arguments.parallel.unwrap_or(arguments.shards).min(arguments.shards),
        variables: variables.iter().map(|name| (*name).to_owned()).collect(),
    };
    match &command {
        LaunchCommand::Slurm(_) => slurm::script(&run),
        LaunchCommand::Kubernetes(arguments) => kubernetes::manifest(&run, &arguments.image),
        LaunchCommand::Ray(_) => ray::driver(&run),
    }
}

fn text(words: &[&str], variables: &[&str]) -> String {
    let printed = print(words, variables).unwrap_or_else(|error| panic!("{words:?}: {error:?}"));
    // The driver of Ray names the working folder.
    let folder = quoted(&std::env::current_dir().expect("a folder").display().to_string());
    format!("{}---- stderr\n{}\n", printed.text.replace(&folder, "\"/shared\""), printed.next)
}

const ALL_OPTIONS: [&str; 14] = [
    "suites/it's mine.yaml",
    "--shards",
    "64",
    "--parallel",
    "16",
    "--run-id",
    "nightly",
    "--gpus",
    "1",
    "--cpus",
    "8",
    "--concurrency",
    "32",
    "--locked",
];

const FEW_OPTIONS: [&str; 5] = ["suite.yaml", "--shards=3", "--run-id", "nightly", "--set=a=b c"];

#[test]
fn texts_for_clusters_are_as_recorded() {
    let claim = ["--image", "registry.example/gage-host:0.1.0", "--storage", "evals"];
    let bucket = [
        "--image",
        "registry.example/gage-host:0.1.0",
        "--storage",
        "s3://evals/team/",
        "--output-dir",
        "/runs",
    ];
    let words = |parts: &[&[&'static str]]| parts.concat();
    for (name, words, variables) in [
        ("slurm_all", words(&[&["slurm"], &ALL_OPTIONS]), vec![]),
        ("slurm_few", words(&[&["slurm"], &FEW_OPTIONS]), vec![]),
        ("kubernetes_claim", words(&[&["kubernetes"], &ALL_OPTIONS, &claim]), vec!["API_KEY", "HF_TOKEN"]),
        ("kubernetes_claim_few", words(&[&["kubernetes"], &FEW_OPTIONS, &claim]), vec![]),
        ("kubernetes_bucket", words(&[&["kubernetes"], &FEW_OPTIONS, &bucket]), vec![]),
        ("ray_all", words(&[&["ray"], &ALL_OPTIONS]), vec!["API_KEY"]),
        ("ray_bucket", words(&[&["ray"], &FEW_OPTIONS, &["--storage", "s3://evals/team"]]), vec![]),
    ] {
        insta::assert_snapshot!(name, text(&words, &variables));
    }
}

#[test]
fn commands_pass_on_what_changes_a_suite() {
    let words = [
        "slurm",
        "--config=-suite.yaml",
        "--shards=2",
        "--run-id=r",
        "--set=a=b",
        "--set=c=$x",
        "--model=m",
        "--prompt=p",
        "--plugin-dir=my plugins",
        "--untrusted",
        "--allow-env=A,B",
        "--allow-read=data",
        "--allow-net=h:80",
        "--output-dir=out",
    ];
    let command = launch(&words);
    let commands = super::ClusterCommands::new(command.arguments(), "r").expect("commands");
    assert_eq!(
        shell_command(&commands.run),
        "gage-host run ./-suite.yaml --set a=b --set 'c=$x' --model m --prompt p --plugin-dir 'my plugins' \
         --untrusted --allow-env A,B --allow-read data --allow-net h:80 --run-id r --output-dir out"
    );
    assert_eq!(
        shell_command(&commands.merge),
        "gage-host merge r --output-dir out --plugin-dir 'my plugins'"
    );
}

#[test]
fn words_are_quoted_for_each_language() {
    for (word, shell, json, container) in [
        ("a", "a", r#""a""#, r#""a""#),
        ("a b", "'a b'", r#""a b""#, r#""a b""#),
        ("it's", r"'it'\''s'", r#""it's""#, r#""it's""#),
        (r#"\"$"#, r#"'\"$'"#, r#""\\\"$""#, r#""\\\"$$""#),
        ("$(A) $$", "'$(A) $$'", r#""$(A) $$""#, r#""$$(A) $$$$""#),
        ("{{ a }}", "'{{ a }}'", r#""{{ a }}""#, r#""{{ a }}""#),
    ] {
        let words = [word.to_owned(), word.to_owned()];
        assert_eq!(shell_command(&words), format!("{shell} {shell}"));
        assert_eq!(python_list(&words), format!("[{json}, {json}]"));
        assert_eq!(container_word(word), container);
    }
}

#[test]
fn hostile_words_stay_whole_in_manifests() {
    for word in HOSTILE_WORDS {
        let claim = ["kubernetes", word, "--shards=2", "--run-id=r", "--image", word, "--storage=evals"];
        let text = print(&claim, &[]).unwrap_or_else(|error| panic!("{word}: {error:?}")).text;
        let documents: Vec<serde_yaml::Value> = serde_yaml::Deserializer::from_str(&text)
            .map(|document| serde::Deserialize::deserialize(document).expect("YAML"))
            .collect();
        assert_eq!(documents.len(), 2, "{text}");
        let container = &documents[0]["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["image"], serde_yaml::Value::from(word));
        assert_eq!(container["command"][2], serde_yaml::Value::from(word.replace('$', "$$")));
        let last = serde_yaml::Value::from("index:$(JOB_COMPLETION_INDEX)/2");
        let count = container["command"].as_sequence().map_or(0, Vec::len);
        assert_eq!(container["command"][count - 1], last);
    }
}

#[test]
fn impossible_arguments_are_explained() {
    let kubernetes = |arguments: &[&'static str]| {
        [["kubernetes", "s.yaml", "--shards=2", "--image=i"].as_slice(), arguments].concat()
    };
    let bucket = "--storage=s3://evals";
    for (words, expected) in [
        (vec!["slurm", "s.yaml", "--shards=2", "--run-id=r", "--storage=evals"], "only Kubernetes has"),
        (vec!["ray", "s.yaml", "--shards=2", "--run-id=r", "--storage=evals"], "only Kubernetes has"),
        (vec!["slurm", "a\nb.yaml", "--shards=2", "--run-id=r"], r"a\nb.yaml cannot be part of a script"),
        (vec!["ray", "s.yaml", "--shards=2", "--run-id=r", "--set=a=\u{202e}"], r"a=\u{202e} cannot be part"),
        (kubernetes(&["--run-id=r"]), "launch kubernetes needs --storage"),
        (kubernetes(&["--run-id=R", "--storage=evals"]), "--run-id R cannot name a Job"),
        (kubernetes(&["--run-id=r_1", "--storage=evals"]), "--run-id r_1 cannot name a Job"),
        (kubernetes(&["--run-id=r-", "--storage=evals"]), "--run-id r- cannot name a Job"),
        (kubernetes(&["--run-id=r", "--storage=evals", "--output-dir=/runs"]), "'/runs' is not in the claim"),
        (kubernetes(&["--run-id=r", "--storage=evals", "--plugin-dir=../p"]), "'../p'"),
        (kubernetes(&["--run-id=r", bucket]), "--output-dir runs cannot be mounted in a pod"),
        (kubernetes(&["--run-id=r", bucket, "--output-dir=/"]), "--output-dir / cannot be mounted"),
        (
            kubernetes(&["--run-id=r", bucket, "--output-dir=/a/../b"]),
            "--output-dir /a/../b cannot be mounted",
        ),
    ] {
        match print(&words, &[]) {
            Err(LaunchError::Usage { message, .. }) => {
                assert!(message.contains(expected), "{words:?}: {message}")
            }
            Err(LaunchError::Template(error)) => panic!("{words:?}: {error}"),
            Ok(printed) => panic!("{words:?}: {}", printed.text),
        }
    }
}

#[test]
fn large_arrays_are_warned_about() {
    for (shards, is_warned) in [("1000", false), ("1001", true)] {
        let printed = print(&["slurm", "s.yaml", "--shards", shards, "--run-id=r"], &[]).expect("a script");
        assert_eq!(printed.next.contains("MaxArraySize"), is_warned, "{shards}: {}", printed.next);
    }
}
