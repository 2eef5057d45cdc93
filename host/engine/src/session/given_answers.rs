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
        let has_ids = file.answers.iter().any(|answer| matches!(answer.key, AnswerKey::Id(_)));
        if !has_ids {
            check_order(&file, tasks, span)?;
        }
        let repeats = tasks.iter().map(|task| task.spec.repeat).max().unwrap_or(1);
        let places = places_of(&file, has_ids, repeats, span)?;
        let taken = file.answers.iter().map(|_| AtomicBool::new(false)).collect();
        let details: Object = [
            ("file_digest".to_owned(), file.digest().to_string().into()),
            ("answers".to_owned(), file.answers.len().into()),
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

    /// Describes what the file lacks.
    fn missing(&self, id: &str, place: &SamplePlace, found: usize) -> String {
        let file = self.file.named();
        if found > 0 {
            return format!(
                "{file} has {found} answers for the sample '{}', and none for repeat {}",
                shown_name(id),
                place.repeat + 1
            );
        }
        if !self.has_ids {
            return format!("{file} has no answer for row {}", place.row + 1);
        }
        let ids = self.file.answers.iter().filter_map(|answer| match &answer.key {
            AnswerKey::Id(id) => Some(id),
            AnswerKey::Row(_) | AnswerKey::Order(_) => None,
        });
        let ids: Vec<&str> = ids.take(MAX_SHOWN_IDS).map(|id| &**id).collect();
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
    if tasks.len() > 1 && file.answers.iter().any(|answer| answer.task_id.is_none()) {
        return Err(refused(format!("{} tasks take answers from it", tasks.len())));
    }
    Ok(())
}

/// Returns the places of the answers by their samples.
fn places_of(
    file: &AnswersFile,
    has_ids: bool,
    repeats: u64,
    span: Span,
) -> Result<HashMap<PlaceKey, Vec<(usize, usize)>>, OpenError> {
    let mut places: HashMap<PlaceKey, Vec<(usize, usize)>> = HashMap::new();
    let wrong = |answer: &GivenAnswer, message: String| OpenError {
        span,
        message: format!("{}, {}: {message}", file.named(), answer.place),
        help: None,
    };
    for (entry, answer) in file.answers.iter().enumerate() {
        let key = match &answer.key {
            AnswerKey::Id(id) => SampleKey::Id(id.clone()),
            _ if has_ids => {
                return Err(wrong(answer, "it has no id, and other answers have one".to_owned()));
            }
            AnswerKey::Row(row) => SampleKey::Row(*row),
            AnswerKey::Order(number) => SampleKey::Row(number / repeats.max(1)),
        };
        let known = places.entry((answer.task_id.clone(), key)).or_default();
        known.extend((0..answer.outputs.len()).map(|output| (entry, output)));
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
                let message = self.missing(&request.id, place, found.len());
                Err(failed(BackendErrorKind::NoGivenAnswer, message))
            }
        }
    }

    fn check_files(&self) -> Result<(), String> {
        self.file.check_unchanged()
    }

    fn unused_answers(&self) -> Option<String> {
        let is_unused = |(answer, taken): (&GivenAnswer, &AtomicBool)| {
            (!taken.load(Ordering::Relaxed)).then_some(answer.place)
        };
        let mut unused = self.file.answers.iter().zip(&self.taken).filter_map(is_unused);
        let first = unused.next()?;
        let (file, count) = (self.file.named(), 1 + unused.count());
        Some(format!(
            "{file}: {count} of {} answers belong to no sample, the first in {first}",
            self.taken.len()
        ))
    }
}
