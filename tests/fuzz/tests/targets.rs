//! Every target holds for its valid inputs, for inputs that once failed, and for generated ones.

use gage_core::Sample;
use gage_fuzz::campaign::check;
use gage_fuzz::{
    TARGETS, answers_files, batch_results, chat_templates, images, journals, manifests, model_files,
    parquet_files, plugin_schemas, prompts, recordings, rows, run_index, sample_readers, secret_search,
    server_replies, signatures, summaries,
};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;

#[test]
fn names_of_targets_differ() {
    let mut names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), TARGETS.len());
}

#[test]
fn sample_readers_agree_with_serde_json() {
    assert_eq!(check(&sample_readers::TARGET).err(), None);
}

/// Inputs that nothing accepts would compare nothing.
#[test]
fn many_generated_texts_are_samples() {
    let mut runner = TestRunner::deterministic();
    let (mut valid, mut refused) = (0, 0);
    for _ in 0..500 {
        let Ok(tree) = sample_readers::texts().new_tree(&mut runner) else { continue };
        match Sample::from_text(&tree.current()) {
            Ok(_) => valid += 1,
            Err(_) => refused += 1,
        }
    }
    assert!(valid > 100 && refused > 100, "{valid} valid, {refused} refused");
}

#[test]
fn no_secret_is_left_in_any_spelling() {
    assert_eq!(check(&secret_search::TARGET).err(), None);
}

#[test]
fn schemas_of_parameters_are_checked_or_refused() {
    assert_eq!(check(&plugin_schemas::TARGET).err(), None);
}

#[test]
fn bodies_of_replies_are_outputs_or_errors() {
    assert_eq!(check(&server_replies::BODIES).err(), None);
}

#[test]
fn pieces_of_a_stream_do_not_change_its_answer() {
    assert_eq!(check(&server_replies::STREAMS).err(), None);
}

#[test]
fn refusals_of_servers_are_typed_errors() {
    assert_eq!(check(&server_replies::REFUSALS).err(), None);
}

#[test]
fn recordings_are_replayed_or_refused() {
    assert_eq!(check(&recordings::TARGET).err(), None);
}

#[test]
fn manifests_are_read_or_refused() {
    assert_eq!(check(&manifests::TARGET).err(), None);
}

#[test]
fn summaries_are_shown_or_refused() {
    assert_eq!(check(&summaries::TARGET).err(), None);
}

#[test]
fn journals_are_read_repaired_or_refused() {
    assert_eq!(check(&journals::JOURNALS).err(), None);
}

#[test]
fn sample_lines_are_read_or_refused() {
    assert_eq!(check(&journals::SAMPLE_LINES).err(), None);
}

#[test]
fn no_index_changes_the_list_of_runs() {
    assert_eq!(check(&run_index::TARGET).err(), None);
}

#[test]
fn rows_are_read_or_refused_in_every_format() {
    assert_eq!(check(&rows::TARGET).err(), None);
}

#[test]
fn parquet_files_are_read_or_refused() {
    assert_eq!(check(&parquet_files::TARGET).err(), None);
}

#[test]
fn images_are_decoded_or_refused() {
    assert_eq!(check(&images::TARGET).err(), None);
}

#[test]
fn model_files_are_described_or_refused() {
    assert_eq!(check(&model_files::HEADERS).err(), None);
}

#[test]
fn messages_of_a_model_process_are_read_or_refused() {
    assert_eq!(check(&model_files::MESSAGES).err(), None);
}

#[test]
fn chat_templates_are_rendered_or_refused() {
    assert_eq!(check(&chat_templates::TEMPLATES).err(), None);
}

#[test]
fn configurations_of_tokenizers_are_read_or_refused() {
    assert_eq!(check(&chat_templates::TOKENIZERS).err(), None);
}

#[test]
fn results_of_batches_are_counted_or_refused() {
    assert_eq!(check(&batch_results::TARGET).err(), None);
}

#[test]
fn files_of_answers_are_read_or_refused() {
    assert_eq!(check(&answers_files::TARGET).err(), None);
}

#[test]
fn prompts_are_rendered_or_refused() {
    assert_eq!(check(&prompts::TARGET).err(), None);
}

#[test]
fn only_what_was_signed_is_accepted() {
    assert_eq!(check(&signatures::BUNDLES).err(), None);
}

#[test]
fn public_keys_are_read_or_refused() {
    assert_eq!(check(&signatures::KEYS).err(), None);
}
