//! Builds the components that tests run.

use std::path::Path;

fn main() {
    let root = Path::new("../..");
    let (guests, examples) = (root.join("tests/guests"), root.join("sdk/examples"));
    let (sdk, wit) = (root.join("sdk/rust"), root.join("wit"));
    let build = |folder: &Path, packages: &[&str]| {
        gage_toolchain::build_for_script(&folder.join("Cargo.toml"), &[folder, &sdk, &wit], packages)
    };
    let built = build(
        &guests,
        &[
            "gage-guest-asking-backend",
            "gage-guest-hostile",
            "gage-guest-measuring-backend",
            "gage-guest-media-backend",
            "gage-guest-media-metric",
            "gage-guest-scripted-backend",
        ],
    )
    .and_then(|()| build(&examples, &["word-recall", "http-model", "self-consistency"]));
    if let Err(error) = built {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
