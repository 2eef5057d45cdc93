//! Builds the first-party plugins.

use std::path::Path;

fn main() {
    let root = Path::new("../..");
    let (plugins, sdk, wit) = (root.join("plugins"), root.join("sdk/rust"), root.join("wit"));
    let packages = [
        "gage-plugin-choice",
        "gage-plugin-hooks",
        "gage-plugin-number",
        "gage-plugin-preprocess",
        "gage-plugin-text",
        "gage-plugin-timing",
    ];
    if let Err(error) =
        gage_toolchain::build_for_script(&plugins.join("Cargo.toml"), &[&plugins, &sdk, &wit], &packages)
    {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
