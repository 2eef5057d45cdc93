//! Sections of a suite that list named entries.

/// Each section with named entries, and the key that holds the name.
pub const ENTRY_IDS: [(&str, &str); 6] = [
    ("datasets", "dataset_id"),
    ("backends", "backend_id"),
    ("role_adapters", "adapter_id"),
    ("prompts", "prompt_id"),
    ("tasks", "task_id"),
    ("plugins", "id"),
];
