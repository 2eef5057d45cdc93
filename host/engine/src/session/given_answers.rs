//! The backend `answers`: gives the answers of a file, each to its sample.

use crate::plan::PlannedTask;
use async_trait::async_trait;
use gage_backend::{
    Backend, BackendError, BackendErrorKind, BackendInfo, Capabilities, GenerateRequest, MediaSupport,
    OpenError, Reply, RequestTiming, SamplePlace,
};
use gage_config::{AnswersConfig, Span};
use gage_core::{ModelOutput, Object, name_list, shown_name};
use gage_data::{AnswerKey, AnswersError, AnswersFile, GivenAnswer};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of requests in flight: more would not be faster.
const MAX_CONCURRENCY: usize = 16;

/// Maximum number of ids in a message.
const MAX_SHOWN_IDS: usize = 3;

const ORDER_HELP: &str = "give the answers the ids of their samples, or leave out the setting";

/// A sample, as an answer names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum SampleKey {
    Id(Box<str>),
    Row(u64),
}

/// A sample of a task. Without a task it is that of any.
type PlaceKey = (Option<Box<str>>, SampleKey);

/// The answers of a file.
pub(super) struct GivenAnswers {
    info: BackendInfo,
    file: AnswersFile,
    /// By sample, the places of the answers to its repeats: of the entry in the file, and in the entry.
    places: HashMap<PlaceKey, Vec<(usize, usize)>>,
    /// Whether each entry of the file was taken.
    taken: Vec<AtomicBool>,
    has_ids: bool,
}

impl GivenAnswers {
    /// Reads the answers for some tasks. Blocks.
    ///
    /// # Errors
    /// If the file cannot be read, or it is not clear which answer belongs to which sample.
    pub(super) fn open(config: &AnswersConfig, tasks: &[&PlannedTask]) -> Result<GivenAnswers, OpenError> {
        let span = config.path_span;
        let file = AnswersFile::read(config).map_err(|error| unreadable(span, &error))?;
        let has_ids = file.answered().any(|answer| matches!(answer.key, AnswerKey::Id(_)));
        match has_ids {
            true => check_datasets(&file, tasks, span)?,
            false => check_order(&file, tasks, span)?,
        }
        let places = places_of(&file, &Repeats::of(tasks), span)?;
        if file.unanswered > 0 {
            tracing::warn!("{}: entries without an answer: {}", file.named(), file.unanswered);
        }
        let taken = file.answers.iter().map(|_| AtomicBool::new(false)).collect();
        let details: Object = [
            ("file_digest".to_owned(), file.digest().to_string().into()),
            ("answers".to_owned(), file.answered().count().into()),
        ]
        .into_iter()
        .collect();
        let info = BackendInfo {
            kind: "answers",
            model: config.path.display().to_string(),
            capabilities: Capabilities {
                generate: true,
                media: MediaSupport::Everything,
                ..Capabilities::default()
            },
            max_concurrency: MAX_CONCURRENCY,
            details,
        };
        Ok(GivenAnswers { info, file, places, taken, has_ids })
    }

    /// Returns the places of the answers to the repeats of a sample.
    fn find(&self, id: &str, place: &SamplePlace) -> Option<&Vec<(usize, usize)>> {
        let sample = match self.has_ids {
            true => SampleKey::Id(id.into()),
            false => SampleKey::Row(place.row),
        };
        let of_task = (Some(Box::from(&*place.task_id)), sample);
        self.places.get(&of_task).or_else(|| self.places.get(&(None, of_task.1)))
    }

    /// Counts the answers at some places: an entry without one has a place, too.
    fn count_answers(&self, places: &[(usize, usize)]) -> usize {
        let has_answer =
            |entry: usize| self.file.answers.get(entry).is_some_and(|answer| !answer.outputs.is_empty());
        places.iter().filter(|(entry, _)| has_answer(*entry)).count()
    }

    /// Describes what the file lacks. Records hold it, so it names the file as the suite does.
    fn missing(&self, id: &str, place: &SamplePlace, places: &[(usize, usize)]) -> String {
        let file = format!("'{}'", shown_name(&self.info.model));
        let repeat = usize::try_from(place.repeat).unwrap_or(usize::MAX);
        let entry = places.get(repeat).and_then(|(entry, _)| self.file.answers.get(*entry));
        if let Some(error) = entry.and_then(|entry| entry.error.as_deref()) {
            return format!("{file} has an error in the place of an answer: {error}");
        }
        let found = self.count_answers(places);
        if found > 0 {
            let answers = if found == 1 { "1 answer".to_owned() } else { format!("{found} answers") };
            return format!(
                "{file} has {answers} for the sample '{}', and none for repeat {}",
                shown_name(id),
                place.repeat + 1
            );
        }
        if !self.has_ids {
            return format!("{file} has no answer for row {}", place.row + 1);
        }
        let ids = self.file.answered().filter_map(|answer| match (&answer.key, &answer.task_id) {
            (AnswerKey::Id(id), None) => Some(id.to_string()),
            (AnswerKey::Id(id), Some(task_id)) => Some(format!("{id} of the task {task_id}")),
            (AnswerKey::Row(_) | AnswerKey::Order(_), _) => None,
        });
        let ids: Vec<String> = ids.take(MAX_SHOWN_IDS).collect();
        format!(
            "{file} has no answer with the id '{}'; its first ids are: {}; `match_by: order` matches by the order of the \
             rows instead",
            shown_name(id),
            name_list(&ids, MAX_SHOWN_IDS, ", ")
        )
    }
}

fn unreadable(span: Span, error: &AnswersError) -> OpenError {
    OpenError { span, message: error.to_string(), help: None }
}

/// Checks that the order of the rows is that of the answers.
fn check_order(file: &AnswersFile, tasks: &[&PlannedTask], span: Span) -> Result<(), OpenError> {
    let name = file.named();
    let refused = |why: String| OpenError {
        span,
        message: format!("{name} has no ids, so its answers are matched by order, but {why}"),
        help: Some(ORDER_HELP.to_owned()),
    };
    for task in tasks {
        let spec = &task.dataset.spec;
        if spec.shuffle {
            return Err(refused(format!("the task `{}` shuffles its rows (`shuffle`)", task.spec.task_id)));
        }
        if !spec.filter.is_empty() || !spec.exclude.is_empty() {
            let dataset = &spec.dataset_id;
            return Err(refused(format!("the dataset `{dataset}` leaves out rows (`filter`, `exclude`)")));
        }
    }
    if let [first, _, ..] = tasks
        && let Some(answer) = file.answered().find(|answer| answer.task_id.is_none())
    {
        let error = refused(format!("{} tasks take answers from it", tasks.len()));
        return Err(OpenError { help: Some(task_help(first, answer)), ..error });
    }
    Ok(())
}

/// Checks that an id means one sample: ids of different datasets may be the same.
fn check_datasets(file: &AnswersFile, tasks: &[&PlannedTask], span: Span) -> Result<(), OpenError> {
    let dataset_of = |task: &&PlannedTask| task.dataset.spec.dataset_id.clone();
    let Some(task) = tasks.first() else { return Ok(()) };
    let first = dataset_of(task);
    let Some(other) = tasks.iter().map(dataset_of).find(|id| *id != first) else { return Ok(()) };
    let Some(answer) = file.answered().find(|answer| answer.task_id.is_none()) else { return Ok(()) };
    Err(OpenError {
        span,
        message: format!(
            "{}, {}: the answer has no `task_id` beside a `sample_id`, and the datasets `{first}` and `{other}` may both \
             have a sample with its id",
            file.named(),
            answer.place
        ),
        help: Some(task_help(task, answer)),
    })
}

/// Shows an answer with the fields that name its task and its sample.
fn task_help(task: &PlannedTask, answer: &GivenAnswer) -> String {
    let sample_id = match &answer.key {
        AnswerKey::Id(id) => shown_name(id),
        AnswerKey::Row(_) | AnswerKey::Order(_) => "ID".into(),
    };
    let task_id = Value::from(&*task.spec.task_id);
    let sample_id = Value::from(&*sample_id);
    format!(
        "give each answer both, as the lines of a run's samples.jsonl have them: {{\"task_id\": {task_id}, \
         \"sample_id\": {sample_id}, \"answer\": \"…\"}}"
    )
}

/// The numbers of answers that the tasks ask for each sample.
struct Repeats<'t> {
    by_task: HashMap<&'t str, u64>,
    /// The largest of them.
    most: u64,
}

impl<'t> Repeats<'t> {
    fn of(tasks: &[&'t PlannedTask]) -> Repeats<'t> {
        Repeats::new(tasks.iter().map(|task| (task.spec.task_id.as_str(), task.spec.repeat)))
    }

    fn new(tasks: impl Iterator<Item = (&'t str, u64)>) -> Repeats<'t> {
        let by_task: HashMap<&str, u64> = tasks.collect();
        let most = by_task.values().copied().max().unwrap_or(1);
        Repeats { by_task, most }
    }

    /// Returns the number for an answer. `None` if its task takes no answers from the file.
    fn for_answer(&self, answer: &GivenAnswer) -> Option<u64> {
        match &answer.task_id {
            Some(task_id) => self.by_task.get(&**task_id).copied(),
            None => Some(self.most),
        }
    }
}

/// Returns the places of the answers by their samples. Answers of other tasks have none.
fn places_of(
    file: &AnswersFile,
    repeats: &Repeats<'_>,
    span: Span,
) -> Result<HashMap<PlaceKey, Vec<(usize, usize)>>, OpenError> {
    let mut places: HashMap<PlaceKey, Vec<(usize, usize)>> = HashMap::new();
    let wrong = |answer: &GivenAnswer, message: String| OpenError {
        span,
        message: format!("{}, {}: {message}", file.named(), answer.place),
        help: None,
    };
    let has_ids = file.answered().any(|answer| matches!(answer.key, AnswerKey::Id(_)));
    let has_rows = file.answered().any(|answer| matches!(answer.key, AnswerKey::Row(_)));
    let has_answer = |entry: usize| file.answers.get(entry).is_some_and(|answer| !answer.outputs.is_empty());
    for (entry, answer) in file.answers.iter().enumerate() {
        let Some(repeats) = repeats.for_answer(answer) else { continue };
        let key = match &answer.key {
            AnswerKey::Id(id) => SampleKey::Id(id.clone()),
            // An entry without an answer needs no sample.
            _ if has_ids && answer.outputs.is_empty() => continue,
            AnswerKey::Order(_) if has_rows && answer.outputs.is_empty() => continue,
            _ if has_ids => {
                return Err(wrong(answer, "it has no id, and other answers have one".to_owned()));
            }
            AnswerKey::Row(row) => SampleKey::Row(*row),
            AnswerKey::Order(_) if has_rows => {
                return Err(wrong(answer, "it has no `doc_id`, and other answers have one".to_owned()));
            }
            AnswerKey::Order(number) => SampleKey::Row(number / repeats.max(1)),
        };
        let known = places.entry((answer.task_id.clone(), key)).or_default();
        // An entry without an answer keeps the place of its repeat, so that later answers stay with theirs.
        known.extend((0..answer.outputs.len().max(1)).map(|output| (entry, output)));
        if known.len() as u64 > repeats {
            known.retain(|(entry, _)| has_answer(*entry));
        }
        if known.len() as u64 > repeats {
            let first = known.first().and_then(|(entry, _)| file.answers.get(*entry));
            let earlier = first.filter(|first| first.place != answer.place);
            let earlier = earlier.map(|first| format!(", the first in {}", first.place)).unwrap_or_default();
            let message = format!(
                "the sample has {} answers{earlier}, and the suite asks {}",
                known.len(),
                if repeats == 1 { "once".to_owned() } else { format!("{repeats} times (`repeat`)") }
            );
            return Err(wrong(answer, message));
        }
    }
    Ok(places)
}

#[async_trait]
impl Backend for GivenAnswers {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    async fn generate(&self, request: Box<GenerateRequest>) -> Result<Reply<ModelOutput>, BackendError> {
        let failed = |kind, message| BackendError { kind, message, attempts: 0 };
        let Some(place) = &request.place else {
            let message =
                "a file of answers answers only the first request about a sample to the model under test";
            return Err(failed(BackendErrorKind::Unsupported, message.to_owned()));
        };
        let found = self.find(&request.id, place).map(Vec::as_slice).unwrap_or_default();
        let repeat = usize::try_from(place.repeat).unwrap_or(usize::MAX);
        let answer = found.get(repeat).and_then(|(entry, output)| {
            let answer = self.file.answers.get(*entry)?.outputs.get(*output)?;
            if let Some(taken) = self.taken.get(*entry) {
                taken.store(true, Ordering::Relaxed);
            }
            Some(answer.clone())
        });
        match answer {
            // Nothing was sent.
            Some(output) => Ok(Reply { output, timing: RequestTiming::default() }),
            None => {
                let message = self.missing(&request.id, place, found);
                Err(failed(BackendErrorKind::NoGivenAnswer, message))
            }
        }
    }

    fn check_files(&self) -> Result<(), String> {
        self.file.check_unchanged()
    }

    fn unused_answers(&self) -> Option<String> {
        let is_unused = |(answer, taken): (&GivenAnswer, &AtomicBool)| {
            (!answer.outputs.is_empty() && !taken.load(Ordering::Relaxed)).then_some(answer.place)
        };
        let mut unused = self.file.answers.iter().zip(&self.taken).filter_map(is_unused);
        let first = unused.next()?;
        let (file, count) = (self.file.named(), 1 + unused.count());
        Some(format!(
            "{file}: {count} of {} answers belong to no sample, the first in {first}",
            self.file.answered().count()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_config::{BackendKind, Environment, load};

    /// Returns the places of the answers of a file, by the names of their samples.
    fn places(content: &str, keys: &str, repeats: &[(&str, u64)]) -> Result<Vec<(String, usize)>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("answers.jsonl");
        std::fs::write(&path, content).expect("written");
        let path = serde_json::json!(path);
        let text = format!("datasets: rows.jsonl\nanswers: {{path: {path}{keys}}}\nmetrics: [exact_match]\n");
        let environment = Environment { variable: &|_| None, config_dir: ".".to_owned() };
        let (config, problems) = load("suite.yaml", &text, &[], &environment);
        let config = config.filter(|_| !problems.has_errors());
        let config = config.unwrap_or_else(|| panic!("{}", problems.render(false)));
        let BackendKind::Answers(answers) = &config.backends[0].kind else { panic!("no answers") };
        let file = AnswersFile::read(answers).expect("answers");
        let places = places_of(&file, &Repeats::new(repeats.iter().copied()), answers.path_span);
        let shown = |((task_id, sample), outputs): (PlaceKey, Vec<(usize, usize)>)| {
            let sample = match sample {
                SampleKey::Id(id) => id.into_string(),
                SampleKey::Row(row) => row.to_string(),
            };
            (format!("{}/{sample}", task_id.as_deref().unwrap_or("any")), outputs.len())
        };
        let mut places: Vec<(String, usize)> =
            places.map_err(|error| error.message)?.into_iter().map(shown).collect();
        places.sort_unstable();
        Ok(places)
    }

    #[test]
    fn repeats_are_those_of_the_task_of_the_answer() {
        let line = |task: &str, sample: &str| {
            format!("{{\"task_id\": \"{task}\", \"sample_id\": \"{sample}\", \"answer\": \"x\"}}\n")
        };
        let lines = [("one", "p"), ("one", "c"), ("two", "p"), ("two", "p"), ("other", "p"), ("other", "p")];
        let content: String = lines.into_iter().map(|(task, sample)| line(task, sample)).collect();
        let repeats = [("one", 1), ("two", 2)];
        let expected =
            |names: [(&str, usize); 3]| Ok(names.map(|(name, count)| (name.to_owned(), count)).to_vec());
        let by_id = places(&content, "", &repeats);
        assert_eq!(by_id, expected([("one/c", 1), ("one/p", 1), ("two/p", 2)]));
        let by_order = places(&content, ", match_by: order", &repeats);
        assert_eq!(by_order, expected([("one/0", 1), ("one/1", 1), ("two/0", 2)]));
    }

    #[test]
    fn answers_of_unclear_samples_are_refused() {
        for (content, part) in [
            (
                "{\"doc_id\": 3, \"resps\": [[\"a\"]]}\n{\"resps\": [[\"b\"]]}\n",
                "line 2: it has no `doc_id`, and other answers have one",
            ),
            (
                "{\"id\": \"p\", \"answer\": \"a\"}\n\"b\"\n",
                "line 2: it has no id, and other answers have one",
            ),
            (
                "{\"doc_id\": 0, \"resps\": [[\"a\", \"b\"]]}\n",
                "the sample has 2 answers, and the suite asks once",
            ),
        ] {
            let error = places(content, "", &[("one", 1)]).expect_err("refused");
            assert!(error.contains(part), "{error}");
        }
    }
}
