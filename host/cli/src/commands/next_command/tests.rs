use super::*;
use gage_record::ShardStatus;
use gage_runner::TakenResults;
use std::path::PathBuf;

fn words_of(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

#[test]
fn the_command_is_that_of_the_run_with_its_id() {
    for (words, expected) in [
        ("gage-host run a.yaml", "gage-host run a.yaml --run-id r --resume"),
        ("/bin/gage-host run a.yaml --run-id r -j 4", "gage-host run a.yaml -j 4 --run-id r --resume"),
        ("gage-host run --run-id=r a.yaml", "gage-host run a.yaml --run-id r --resume"),
        ("gage-host run a.yaml --set x=$y", "gage-host run a.yaml --set 'x=$y' --run-id r --resume"),
        ("gage-host run a.yaml --run-id r --resume", "gage-host run a.yaml --run-id r --resume"),
        ("gage-host run a.yaml --resume runs/r", "gage-host run a.yaml --resume runs/r"),
        ("gage-host eval gsm8k --model m", "gage-host eval gsm8k --model m --run-id r --resume"),
        ("gage-host judge r", "gage-host run SUITE --run-id r --resume"),
        ("gage-host", "gage-host run SUITE --run-id r --resume"),
    ] {
        assert_eq!(continued(&words_of(words), "r", Vec::new()), expected, "{words:?}");
    }
}

#[test]
fn a_run_that_is_stopped_at_once_can_be_resumed() {
    for (words, common_id, expected) in [
        ("gage-host run a.yaml --run-id r", None, "gage-host run a.yaml --run-id r --resume"),
        ("gage-host run a.yaml --resume r", None, "gage-host run a.yaml --resume r"),
        ("gage-host eval gsm8k", None, "gage-host eval gsm8k --resume"),
        ("gage-host score r --run-id=new --judge all", None, "gage-host score r --judge all"),
        ("gage-host run a.yaml", Some("all"), "gage-host run a.yaml --run-id all --resume"),
        ("gage-host run a.yaml --resume all", Some("all"), "gage-host run a.yaml --resume all"),
    ] {
        assert_eq!(aborted(&words_of(words), common_id), expected);
    }
}

#[test]
fn each_end_of_a_run_has_a_next_command() {
    let stopped = Ending::Stopped;
    let budget = |text: &str| stopped(StopReason::Budget(text.to_owned()));
    let (backend_id, message) = (|| "b".to_owned(), || "gone".to_owned());
    let resume = "gage-host run a.yaml -j 4 --run-id r --resume";
    let suite = Path::new("my suite.yaml");
    for (ending, has_failures, expected) in [
        (Ending::Complete, false, "gage-host report 'my runs/r'"),
        (Ending::Incomplete, false, "gage-host report 'my runs/r'"),
        (Ending::Complete, true, "gage-host samples 'my runs/r' --failed"),
        (Ending::Incomplete, true, "gage-host samples 'my runs/r' --failed"),
        (Ending::UnreadableData, true, "gage-host data validate 'my suite.yaml'"),
        (stopped(StopReason::FailFast("t: a".to_owned())), true, "gage-host samples 'my runs/r' --failed"),
        (stopped(StopReason::Requested), true, resume),
        (stopped(StopReason::BackendRefused { backend_id: backend_id(), message: message() }), true, resume),
        (stopped(StopReason::ServerLost { backend_id: backend_id(), message: message() }), true, resume),
        (stopped(StopReason::ModelLost { backend_id: backend_id(), message: message() }), true, resume),
        (
            budget("max_time 5 s is over"),
            true,
            "gage-host run a.yaml -j 4 --max-time 10s --run-id r --resume",
        ),
        (
            budget("max_tokens_total 100: 110 tokens are spent"),
            false,
            "gage-host run a.yaml -j 4 --max-tokens-total 220 --run-id r --resume",
        ),
        (
            budget("max_cost 0.25: 0.250000 is spent"),
            false,
            "gage-host run a.yaml -j 4 --max-cost 0.5 --run-id r --resume",
        ),
        (
            budget("max_failures 0: 1 samples failed"),
            false,
            "gage-host run a.yaml -j 4 --max-failures 2 --run-id r --resume",
        ),
    ] {
        let end = RunEnd { ending: &ending, batch: None, run_id: "r", folder: "my runs/r", has_failures };
        let words = words_of("gage-host run a.yaml --max-tokens-total 100 -j 4");
        let words = match &ending {
            Ending::Stopped(StopReason::Budget(text)) if text.starts_with("max_tokens") => words,
            _ => words_of("gage-host run a.yaml -j 4"),
        };
        assert_eq!(end.next(&words, OutcomeOf::Run { suite }), expected, "{ending:?}");
    }
    let end = RunEnd {
        ending: &stopped(StopReason::Requested),
        batch: None,
        run_id: "new",
        folder: "runs/new",
        has_failures: false,
    };
    let next = end.next(&words_of("gage-host score runs/r --run-id new"), OutcomeOf::Recorded);
    assert_eq!(next, "gage-host score runs/r");
}

#[test]
fn a_batch_is_followed_by_its_results_or_by_the_next_one() {
    let written =
        |requests| BatchReport::Written { path: PathBuf::from("x.jsonl"), requests, bytes: requests };
    let taken = |missing| BatchReport::Taken(TakenResults { missing, ..TakenResults::default() });
    let waiting = || Ending::Stopped(StopReason::AwaitsBatch);
    let resume = "gage-host run a.yaml --run-id r --resume";
    let results = "gage-host run a.yaml --responses results.jsonl --run-id r --resume";
    let open = "gage-host run a.yaml --requests-out open-requests.jsonl --run-id r --resume";
    let again = "gage-host run a.yaml --requests-out x.jsonl --run-id r --resume";
    for (batch, ending, expected) in [
        (written(0), waiting(), resume),
        (written(3), waiting(), results),
        (taken(2), waiting(), open),
        (taken(0), Ending::Complete, "gage-host report runs/r"),
        // The open requests belong to a batch: the next command must not send them live.
        (written(3), Ending::Stopped(StopReason::Requested), again),
    ] {
        let end = RunEnd {
            ending: &ending,
            batch: Some(&batch),
            run_id: "r",
            folder: "runs/r",
            has_failures: false,
        };
        let words = words_of("gage-host run a.yaml --requests-out x.jsonl");
        assert_eq!(end.next(&words, OutcomeOf::Run { suite: Path::new("a.yaml") }), expected);
    }
    for words in ["gage-host run a.yaml --requests-out x.jsonl", "gage-host run --responses=x.jsonl a.yaml"] {
        assert_eq!(continued(&words_of(words), "r", without_batch()), resume, "{words}");
    }
}

#[test]
fn each_error_of_a_run_has_a_next_command() {
    let is_file = |word: &str| word == "a.yaml";
    let short = |run_id: Option<&str>| RunnerError::Shortage {
        message: "out of memory".to_owned(),
        run_id: run_id.map(str::to_owned),
    };
    let changed = || RunError::Changed { what: "the rows".to_owned(), message: "other".to_owned() };
    let mismatch = |text: &str| RunnerError::Run(RunError::IdentityMismatch(vec![text.to_owned()]));
    let fewer = || RunError::FewerSamples { task_id: "t".to_owned(), recorded: 9, most: 5 };
    let nothing = || RunnerError::NothingToResume { root: PathBuf::from("my runs"), other: None };
    let exists = |is_finished| RunnerError::RunExists {
        run_id: "r".to_owned(),
        root: PathBuf::from("runs"),
        is_finished,
    };
    let input = || RunnerError::ChangedInput { run_id: "r".to_owned(), reason: "x".to_owned() };
    for (error, words, expected) in [
        (short(None), "gage-host run a.yaml -j 4", Some("gage-host run a.yaml -j 4")),
        (short(Some("r")), "gage-host run a.yaml", Some("gage-host run a.yaml --run-id r --resume")),
        (input(), "gage-host run a.yaml", Some("gage-host run a.yaml --run-id r --resume")),
        (exists(false), "gage-host run a.yaml --run-id r", Some("gage-host run a.yaml --run-id r --resume")),
        (exists(true), "gage-host run a.yaml --run-id r", Some("gage-host run a.yaml")),
        (RunnerError::Run(changed()), "gage-host run a.yaml --resume r", Some("gage-host run a.yaml")),
        (
            RunnerError::Run(changed()),
            "gage-host run --resume a.yaml --run-id=r",
            Some("gage-host run a.yaml"),
        ),
        (
            RunnerError::Run(fewer()),
            "gage-host run a.yaml --resume --max-samples 5",
            Some("gage-host run a.yaml --resume --max-samples 9"),
        ),
        (mismatch("a: 1 before, 2 now"), "gage-host run a.yaml --resume r", Some("gage-host run a.yaml")),
        (
            mismatch("a: 1 before, 2 now (from the variable `A`; set it as it was)"),
            "gage-host run a.yaml --resume r",
            Some("gage-host run a.yaml --resume r"),
        ),
        (nothing(), "gage-host run a.yaml --resume", Some("gage-host runs list --output-dir 'my runs'")),
        (short(None), "gage-host score r --run-id new", Some("gage-host score r")),
        (input(), "gage-host score r", None),
        (RunnerError::PluginHost("no engine".to_owned()), "gage-host run a.yaml", None),
    ] {
        let next = next_of_error(&error, &words_of(words), &is_file);
        assert_eq!(next.as_deref(), expected, "{words}: {error}");
    }
}

#[test]
fn a_sharded_run_has_a_next_command() {
    use MergeState::{Merged, NotMerged, Outdated, Partial, Running};
    use ShardState::{Deleted, Done, NotStarted, Stopped, Unreadable};
    let shard = |number: usize, state: ShardState| ShardStatus {
        number: number as u64 + 1,
        state,
        reason: None,
        recorded: None,
        planned: None,
        failed: None,
        samples_per_s: None,
        changed_unix_ms: None,
    };
    for (states, merge, is_watched, expected) in [
        ([Done, Done], NotMerged, false, Some("gage-host merge runs/r")),
        ([Done, Done], Outdated, false, Some("gage-host merge runs/r")),
        ([Done, Done], Merged, false, Some("gage-host report runs/r")),
        ([Done, Done], Running, false, None),
        ([Done, Done], MergeState::Unreadable("it was edited".to_owned()), false, None),
        ([Done, ShardState::Running], NotMerged, false, Some("gage-host runs status runs/r --watch")),
        ([NotStarted, Stopped], NotMerged, true, Some("gage-host run SUITE --run-id r --shard 2/2")),
        ([Done, NotStarted], Partial, false, Some("gage-host run SUITE --run-id r --shard 2/2")),
        ([Done, Unreadable], NotMerged, false, None),
        ([Done, Deleted], Merged, false, None),
        ([Done, Deleted], Outdated, false, None),
    ] {
        let shards = states.into_iter().enumerate().map(|(number, state)| shard(number, state)).collect();
        let (run_id, models) = ("r".to_owned(), Vec::new());
        let run = ShardedRun { run_id, suite: None, models, created_at: None, merge, shards };
        let command = after_status(Path::new("runs/r"), &run, is_watched);
        assert_eq!(command.as_deref(), expected, "{run:?}");
        let elsewhere = after_status(Path::new("my runs/r"), &run, is_watched);
        assert!(elsewhere.is_none_or(|command| command.contains("'my runs")), "{run:?}");
    }
}
