//! ROUGE (Lin, "ROUGE: a package for automatic evaluation of summaries", 2004) as the `rouge-score`
//! package 0.1.2 computes it: precision, recall and F1 of ROUGE-1, ROUGE-2, ROUGE-L over the whole text and ROUGE-L
//! over its lines. For each of the four, the reference with the best F1 counts.

use crate::lcs::{self, Work};
use crate::ngrams::{Ngrams, total};
use crate::share::Share;
use crate::tokens::Tokenizer;
use crate::vocabulary::{NumberedText, TextReader};
use gage_sdk::metric::MetricSpec;
use gage_sdk::{PluginError, ScoreCard};
use gage_text_kit::Params;
use gage_text_kit::params::flag_schema;
use std::borrow::Cow;

/// Adds the parameters that define a word.
pub fn with_reading(spec: MetricSpec) -> MetricSpec {
    spec.param("tokenizer", Tokenizer::schema())
        .param("use_stemmer", flag_schema(false, "Reduce English words to their stems (Porter)"))
}

/// Reads the parameters that define a word.
pub fn reading(params: &Params) -> Result<TextReader, PluginError> {
    Ok(TextReader {
        tokenizer: params.one_of("tokenizer", &Tokenizer::NAMES, Tokenizer::Unicode)?,
        stems: params.flag("use_stemmer", false)?,
    })
}

/// Selection of scores; those of n-grams cost less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreSelection {
    /// All four scores.
    All,
    /// The scores of longest common subsequences.
    Subsequences,
    /// ROUGE-1, and ROUGE-L over the whole text.
    Words,
}

/// The best scores of a prediction over its references.
#[derive(Debug, Default)]
pub struct Rouge {
    /// ROUGE-1 and ROUGE-2, if selected.
    pub ngrams: [Option<Share>; 2],
    /// ROUGE-L over the whole text; `None` if all texts are too long for it.
    pub whole: Option<Share>,
    /// ROUGE-L over lines (`rougeLsum`); `None` if all texts are too long for it.
    pub lines: Option<Share>,
    /// True if some reference was too long for one of the subsequences.
    pub is_partial: bool,
    /// Number of words in the prediction, and in its longest reference.
    pub words: (usize, usize),
    /// Index of the best reference by ROUGE-1, or by ROUGE-L if ROUGE-1 is not selected.
    pub best: usize,
}

impl Rouge {
    /// Scores a prediction.
    pub fn new(
        reading: TextReader,
        wanted: ScoreSelection,
        prediction: &str,
        references: &[Cow<'_, str>],
    ) -> Rouge {
        let prepared = reading.tokenizer.prepare(prediction);
        let (vocabulary, prediction) = reading.learn(&prepared);
        let orders = match wanted {
            ScoreSelection::All => 2,
            ScoreSelection::Words => 1,
            ScoreSelection::Subsequences => 0,
        };
        let ngrams = (orders > 0).then(|| Ngrams::new(&prediction.words, orders));
        let mut rouge = Rouge { words: (prediction.words.len(), 0), ..Rouge::default() };
        let mut work = Work::OF_AN_ITEM;
        for (place, reference) in references.iter().enumerate() {
            let reference = reading.find(&reading.tokenizer.prepare(reference), &vocabulary);
            rouge.words.1 = rouge.words.1.max(reference.words.len());
            let is_best_by_ngrams =
                ngrams.as_ref().map(|ngrams| rouge.add_ngrams(ngrams, &prediction, &reference));
            let is_best_by_length =
                rouge.add_subsequences(&prediction, &reference, wanted != ScoreSelection::Words, &mut work);
            if is_best_by_ngrams.unwrap_or(is_best_by_length) {
                rouge.best = place;
            }
        }
        rouge
    }

    fn add_ngrams(&mut self, ngrams: &Ngrams, prediction: &NumberedText, reference: &NumberedText) -> bool {
        let occurrences = ngrams.occurrences_in(&reference.words);
        let shares = (1..).zip(ngrams.matches(&occurrences)).map(|(order, matches)| {
            Share::new(matches, total(prediction.words.len(), order), total(reference.words.len(), order))
        });
        let mut is_best = false;
        for (order, (best, share)) in self.ngrams.iter_mut().zip(shares).enumerate() {
            let is_better = Share::raise_to(best, share);
            is_best |= order == 0 && is_better;
        }
        is_best
    }

    fn add_subsequences(
        &mut self,
        prediction: &NumberedText,
        reference: &NumberedText,
        wants_lines: bool,
        work: &mut Work,
    ) -> bool {
        let (predicted, expected) = (prediction.words.len() as u64, reference.words.len() as u64);
        let share = |matches| Share::new(matches, predicted, expected);
        let whole = lcs::length(&reference.words, &prediction.words, work).map(share);
        // The two are the same if both texts have a single line.
        let is_one_line = prediction.lines().nth(1).is_none() && reference.lines().nth(1).is_none();
        let lines = match is_one_line {
            _ if !wants_lines => None,
            true => whole,
            false => lcs::summary_hits(reference, prediction, work).map(share),
        };
        self.is_partial |= whole.is_none() || (wants_lines && lines.is_none());
        if let Some(share) = lines {
            Share::raise_to(&mut self.lines, share);
        }
        whole.is_some_and(|share| Share::raise_to(&mut self.whole, share))
    }
}

/// Adds a share to a card: F1 under the name, precision and recall under names derived from it.
pub fn add_share(
    card: ScoreCard,
    names: [&'static str; 3],
    share: Share,
    round: impl Fn(f64) -> f64,
) -> ScoreCard {
    let [f1, precision, recall] = names;
    card.sub_score(f1, round(share.f1))
        .sub_score(precision, round(share.precision))
        .sub_score(recall, round(share.recall))
}
