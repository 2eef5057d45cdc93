//! Builds the components that tests run.

use std::path::Path;

fn main() {
    let root = Path::new("../..");
    let (guests, sdk, wit) = (root.join("tests/guests"), root.join("sdk/rust"), root.join("wit"));
    let packages = ["gage-guest-hostile", "gage-guest-scripted-backend"];
    if let Err(error) =
        gage_toolchain::build_for_script(&guests.join("Cargo.toml"), &[&guests, &sdk, &wit], &packages)
    {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
