//! Statistics of a dataset: lengths, answers, labels, duplicates, media.

use super::tokens::TokenCounter;
use super::validation::{ReferenceProblem, UnansweredCounts};
use gage_core::{Digest, OptionDisplay, Sample, text_of};
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// Maximum number of distinct values of a label; further ones are counted together.
const MAX_DISTINCT_VALUES: usize = 1_000;
/// Number of values that a report shows of each label.
const MAX_SHOWN_VALUES: usize = 10;

/// Number of occurrences of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Value that is counted.
    pub value: String,
    /// Number of occurrences.
    pub count: u64,
}

/// Distribution of a number over the Samples. Exact up to three digits.
#[derive(Clone, Debug, Serialize)]
pub struct Distribution {
    /// Number of Samples.
    pub count: u64,
    /// Minimum.
    pub min: u64,
    /// Median.
    pub median: u64,
    /// Sum divided by the count.
    pub mean: f64,
    /// 95th percentile.
    pub p95: u64,
    /// Maximum.
    pub max: u64,
}

/// Statistics of a dataset.
#[derive(Clone, Debug, Serialize)]
pub struct StatisticsReport {
    /// Number of Samples.
    pub samples: u64,
    /// Numbers, by name: `prompt_characters`, `answer_characters`, `prompt_tokens`, `options`, `messages`,
    /// `few_shot_examples`, `image_bytes`, `image_pixels`, …
    pub numbers: BTreeMap<String, Distribution>,
    /// Texts, by name, the most frequent first: `task_type`, `label`, and `data_tag.…`. `label` includes only short
    /// ones.
    pub values: BTreeMap<String, Vec<Count>>,
    /// Number of distinct values of each name, capped at a thousand.
    pub distinct: BTreeMap<String, u64>,
    /// Names with more than a thousand distinct values; later values are counted as `(others)`.
    pub more_distinct: Vec<String>,
    /// Samples with the same messages, few-shot examples, options, references, tools, inputs and sampling parameters
    /// as an earlier one.
    pub duplicates: u64,
    /// IDs of the first duplicates.
    pub first_duplicates: Vec<String>,
    /// Samples without a reference.
    pub without_reference: u64,
    /// Samples in which metrics may find nothing to compare answers with.
    pub unanswered: Vec<ReferenceProblem>,
}

/// Collects statistics of Samples.
pub struct Statistics {
    tokens: Option<TokenCounter>,
    samples: u64,
    numbers: BTreeMap<&'static str, Numbers>,
    values: BTreeMap<String, Values>,
    seen: HashSet<u64>,
    duplicates: u64,
    first_duplicates: Vec<String>,
    without_reference: u64,
    unanswered: UnansweredCounts,
}

/// Values of one name.
#[derive(Default)]
struct Values {
    counts: BTreeMap<String, u64>,
    /// Number of values that arrived after `counts` was full.
    others: u64,
}

struct Numbers {
    histogram: Histogram<u64>,
    sum: u128,
    min: u64,
    max: u64,
}

impl Values {
    fn most_frequent(&self) -> Vec<Count> {
        let others = (self.others > 0).then(|| Count { value: "(others)".to_owned(), count: self.others });
        let counts = self.counts.iter().map(|(value, count)| Count { value: value.clone(), count: *count });
        let mut counts: Vec<Count> = counts.chain(others).collect();
        counts.sort_by(|one, two| two.count.cmp(&one.count).then_with(|| one.value.cmp(&two.value)));
        counts.truncate(MAX_SHOWN_VALUES);
        counts
    }
}

impl Numbers {
    fn add(&mut self, number: u64) {
        // Cannot fail: `record` resizes the histogram.
        let _ = self.histogram.record(number);
        self.sum += u128::from(number);
        self.min = self.min.min(number);
        self.max = self.max.max(number);
    }

    fn finish(&self) -> Distribution {
        let count = self.histogram.len();
        let at = |quantile: f64| self.histogram.value_at_quantile(quantile).clamp(self.min, self.max);
        // Sums and counts stay far below 2^53.
        let mean = self.sum as f64 / count.max(1) as f64;
        Distribution { count, min: self.min, median: at(0.5), mean, p95: at(0.95), max: self.max }
    }
}

impl Statistics {
    /// Starts counting; tokens only with a tokenizer.
    pub fn new(tokens: Option<TokenCounter>) -> Statistics {
        Statistics {
            tokens,
            samples: 0,
            numbers: BTreeMap::new(),
            values: BTreeMap::new(),
            seen: HashSet::new(),
            duplicates: 0,
            first_duplicates: Vec::new(),
            without_reference: 0,
            unanswered: UnansweredCounts::default(),
        }
    }

    /// Counts a Sample.
    pub fn add(&mut self, sample: &Sample) {
        self.samples += 1;
        let prompt: Vec<String> = sample
            .conversation(OptionDisplay::AfterQuestion)
            .iter()
            .map(|message| text_of(&message.content))
            .collect();
        let answer = sample.references.first().map(|reference| text_of(&reference.answer));
        self.number("messages", sample.messages.len() as u64);
        self.number("prompt_characters", prompt.iter().map(|text| text.chars().count() as u64).sum());
        if let Some(answer) = &answer {
            self.number("answer_characters", answer.chars().count() as u64);
        }
        if let Some(tokens) = &self.tokens {
            let count: Option<u64> = prompt.iter().map(|text| tokens.count(text)).sum();
            let of_answer = answer.as_ref().and_then(|answer| tokens.count(answer));
            count.into_iter().for_each(|count| self.number("prompt_tokens", count));
            of_answer.into_iter().for_each(|count| self.number("answer_tokens", count));
        }
        for (name, count) in [
            ("options", sample.options.len()),
            ("references", sample.references.len()),
            ("few_shot_examples", sample.few_shot_examples.len()),
            ("tools", sample.tools.len()),
        ] {
            if count > 0 {
                self.number(name, count as u64);
            }
        }
        self.without_reference += u64::from(sample.references.is_empty());
        sample.answer_problem().into_iter().for_each(|problem| self.unanswered.add(problem, &sample.id));
        self.labels(sample);
        self.media(sample);
        self.duplicate(sample);
    }

    fn number(&mut self, name: &'static str, number: u64) {
        if let Some(numbers) = self.numbers.get_mut(name) {
            numbers.add(number);
            return;
        }
        // Three digits are always allowed.
        let Ok(histogram) = Histogram::new(3) else { return };
        let mut numbers = Numbers { histogram, sum: 0, min: u64::MAX, max: 0 };
        numbers.add(number);
        self.numbers.insert(name, numbers);
    }

    fn value(&mut self, name: &str, value: String) {
        let values = match self.values.get_mut(name) {
            Some(values) => values,
            None => self.values.entry(name.to_owned()).or_default(),
        };
        if values.counts.len() < MAX_DISTINCT_VALUES || values.counts.contains_key(&value) {
            *values.counts.entry(value).or_default() += 1;
        } else {
            values.others += 1;
        }
    }

    fn labels(&mut self, sample: &Sample) {
        /// Longer labels are answers rather than classes.
        const MAX_VALUE_CHARS: usize = 40;
        if let Some(task_type) = &sample.task_type {
            self.value("task_type", task_type.name().to_owned());
        }
        if let Some(label) = sample.label.as_ref().filter(|label| label.chars().count() <= MAX_VALUE_CHARS) {
            self.value("label", label.clone());
        }
        for (tag, value) in &sample.data_tag {
            let listed = match value {
                Value::Array(list) => list.as_slice(),
                single => std::slice::from_ref(single),
            };
            for value in listed {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                self.value(&format!("data_tag.{tag}"), text);
            }
        }
    }

    fn media(&mut self, sample: &Sample) {
        const KINDS: [(&str, &str); 4] = [
            ("images", "image_bytes"),
            ("audios", "audio_bytes"),
            ("videos", "video_bytes"),
            ("files", "file_bytes"),
        ];
        for (key, bytes_name) in KINDS {
            let Some(listed) = sample.media_meta.get(key).and_then(Value::as_array) else { continue };
            self.number(key, listed.len() as u64);
            for one in listed {
                one["bytes"].as_u64().into_iter().for_each(|bytes| self.number(bytes_name, bytes));
                if let (Some(width), Some(height)) = (one["width"].as_u64(), one["height"].as_u64()) {
                    self.number("image_pixels", width * height);
                }
                if let Some(media_type) = one["media_type"].as_str() {
                    self.value("media_type", media_type.to_owned());
                }
            }
        }
    }

    fn duplicate(&mut self, sample: &Sample) {
        const MAX_SHOWN_VALUES: usize = 5;
        // Everything that a model is shown or evaluated against, without the row's origin and other metadata.
        let content = format!(
            "{:?}\0{:?}\0{:?}\0{:?}\0{:?}\0{:?}\0{:?}",
            sample.messages,
            sample.few_shot_examples,
            sample.options,
            sample.references,
            sample.tools,
            sample.inputs,
            sample.own_sampling()
        );
        let digest = Digest::of_bytes(content.as_bytes());
        let short = u64::from_str_radix(digest.hex().get(..16).unwrap_or_default(), 16).unwrap_or_default();
        if !self.seen.insert(short) {
            self.duplicates += 1;
            if self.first_duplicates.len() < MAX_SHOWN_VALUES {
                self.first_duplicates.push(sample.id.clone());
            }
        }
    }

    /// Returns the statistics.
    pub fn finish(self) -> StatisticsReport {
        let numbers = self.numbers.iter().map(|(name, numbers)| ((*name).to_owned(), numbers.finish()));
        let values = || self.values.iter();
        let distinct = values().map(|(name, values)| (name.clone(), values.counts.len() as u64)).collect();
        let more_distinct =
            values().filter(|(_, values)| values.others > 0).map(|(name, _)| name.clone()).collect();
        let values = values().map(|(name, values)| (name.clone(), values.most_frequent())).collect();
        StatisticsReport {
            samples: self.samples,
            numbers: numbers.collect(),
            values,
            distinct,
            more_distinct,
            duplicates: self.duplicates,
            first_duplicates: self.first_duplicates,
            without_reference: self.without_reference,
            unanswered: self.unanswered.finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn indistinct_values_are_not_counted_as_one() {
        let mut statistics = Statistics::new(None);
        for number in 0..MAX_DISTINCT_VALUES + 5 {
            let sample = json!({
                "schema_version": "v1", "id": "q", "messages": [{"role": "user", "content": "q"}],
                "references": [{"answer": format!("{number}")}], "data_tag": {"kind": "one"},
            });
            statistics.add(&Sample::from_value(sample).expect("a Sample"));
        }
        let report = statistics.finish();
        assert_eq!(report.distinct["label"], MAX_DISTINCT_VALUES as u64);
        assert_eq!(report.more_distinct, ["label"]);
        assert_eq!(report.values["label"][0], Count { value: "(others)".to_owned(), count: 5 });
        assert_eq!((report.distinct["data_tag.kind"], report.unanswered.len()), (1, 0));
    }
}
