//! Builds the first-party plugins.

use std::path::Path;

fn main() {
    let root = Path::new("../..");
    let (plugins, sdk, wit) = (root.join("plugins"), root.join("sdk/rust"), root.join("wit"));
    let packages = [
        "gage-plugin-aggregate",
        "gage-plugin-answer",
        "gage-plugin-choice",
        "gage-plugin-extract",
        "gage-plugin-hooks",
        "gage-plugin-instruction",
        "gage-plugin-judge",
        "gage-plugin-list",
        "gage-plugin-math",
        "gage-plugin-number",
        "gage-plugin-overlap",
        "gage-plugin-preprocess",
        "gage-plugin-reasoning",
        "gage-plugin-score",
        "gage-plugin-template",
        "gage-plugin-text",
        "gage-plugin-timing",
        "gage-plugin-tools",
        "gage-plugin-trajectory",
    ];
    if let Err(error) =
        gage_toolchain::build_for_script(&plugins.join("Cargo.toml"), &[&plugins, &sdk, &wit], &packages)
    {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
