//! The program from the outside, with real components and a real server on loopback. Tests with a model are in `tests/models`.

#![expect(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod added_fields;
mod answers;
mod bad_input;
mod barrier_server;
mod batches;
mod budgets;
mod caching;
mod changed_files;
mod code_execution;
mod comparing;
mod components;
mod contract_versions;
mod data;
mod data_commands;
mod dataset_faults;
mod demo;
mod documentation;
mod embedding;
mod exporting;
mod fences;
mod figures;
mod files;
mod formats;
mod history;
mod http_faults;
#[expect(dead_code, reason = "the tests of the hub use more of it")]
#[path = "../../host/data/tests/hub/hub_server.rs"]
mod hub_server;
mod importing;
mod importing_others;
mod instructions;
mod interruption;
mod judged_runs;
mod judging;
mod killed_runs;
mod languages;
#[cfg(unix)]
mod launching;
mod likelihoods;
mod locks;
#[cfg(target_os = "linux")]
mod machine_limits;
mod model_files;
mod next_commands;
mod object_storage;
mod observing;
mod planning;
mod plugin_authors;
mod plugin_commands;
mod plugin_packages;
mod plugins;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
mod program_file;
mod prompt_checks;
mod ready_suites;
mod redacted_values;
mod reference_pages;
mod references;
mod registry_plugins;
mod registry_server;
mod rejudging;
mod repair;
mod reply_media;
mod run_folders;
mod scripted_backend;
mod secret_texts;
mod secrets;
mod server;
mod shard_status;
mod shards;
mod short_suites;
#[cfg(unix)]
mod signals;
mod signed_plugins;
mod specification;
mod stored_reader;
mod structured_answers;
mod suites;
mod support;
mod support_steps;
mod tasks;
mod unusable_places;
mod verifying;
#[cfg(unix)]
mod viewing;
mod words_suite;
