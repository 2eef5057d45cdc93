//! `answers`: a file of answers that were made elsewhere, in place of a model.

use crate::elements::dataset::{FileFormat, format_of_file};
use crate::mapping_reader::MappingReader;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::SamplingParams;
use std::path::PathBuf;
use strum::{IntoStaticStr, VariantArray};

/// A file of answers.
#[derive(Clone, Debug)]
pub struct AnswersConfig {
    /// The file; required.
    pub path: PathBuf,
    /// Span of the path.
    pub path_span: Span,
    /// Its format, by its name.
    pub format: FileFormat,
    /// The field with the text of the answer; default: the only one of the known names.
    pub answer_field: Option<String>,
    /// The field with the id of the sample; default: the first of the known names.
    pub id_field: Option<String>,
    /// How answers are matched to samples; default: by id if the file has ids, otherwise by order.
    pub match_by: Option<AnswerMatch>,
    /// Sampling parameters of the lowest precedence: none, because nothing is generated.
    pub default_params: SamplingParams,
}

/// A way to match answers to samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum AnswerMatch {
    /// By the id of the sample.
    Id,
    /// By the order of the rows.
    Order,
}

pub(super) fn read(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<AnswersConfig> {
    let path = table.required_text("path", problems).map(PathBuf::from);
    let answer_field = table.text("answer_field", problems);
    let id_field = table.text("id_field", problems);
    let match_by = table.variant("match_by", problems);
    let path = path?;
    table.uses_file("path", &path, problems);
    let Some(format) = format_of_file(&path) else {
        let message = format!("the format of the answers in `{}` is unknown by its name", path.display());
        table.error("path", message, problems).help(
            "name a file that ends in .jsonl, .json, .csv, .tsv or .parquet; `inspect log dump FILE.eval` prints a log of \
             Inspect as JSON",
        );
        return None;
    };
    if let (Some(AnswerMatch::Order), Some(_)) = (match_by, &id_field) {
        table
            .error("id_field", "`id_field` has no effect with `match_by: order`", problems)
            .help("remove one of them");
    }
    let default_params = SamplingParams::default();
    let path_span = table.span_of("path");
    Some(AnswersConfig { path, path_span, format, answer_field, id_field, match_by, default_params })
}
