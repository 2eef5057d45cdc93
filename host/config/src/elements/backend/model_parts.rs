//! Files of a model that is split into several.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns the files of a model, in order. A model that is split into several is named by any of its files, as in
/// `name-00001-of-00003.gguf`: llama.cpp finds the others by their names. Any other model has one file.
pub fn model_parts(file: &Path) -> Vec<PathBuf> {
    let parts = || -> Option<Vec<PathBuf>> {
        let stem = file.file_stem()?.to_str()?;
        let (rest, count) = stem.rsplit_once("-of-")?;
        let (name, number) = rest.rsplit_once('-')?;
        let is_number = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(number) || !is_number(count) || file.extension() != Some(OsStr::new("gguf")) {
            return None;
        }
        let (number, last) = (number.parse::<u32>().ok()?, count.parse::<u32>().ok()?);
        let part = |number| file.with_file_name(format!("{name}-{number:05}-of-{count}.gguf"));
        (1..=last).contains(&number).then(|| (1..=last).map(part).collect())
    };
    parts().unwrap_or_else(|| vec![file.to_owned()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_split_model_are_found_by_its_name() {
        let parts = model_parts(Path::new("/m/a-of-b-00002-of-00003.gguf"));
        let expected = [1, 2, 3].map(|number| PathBuf::from(format!("/m/a-of-b-0000{number}-of-00003.gguf")));
        assert_eq!(parts, expected);
        for whole in [
            "/m/a.gguf",
            "/m/a-1-of-3.gguf",
            "/m/a-00001-of-0000x.gguf",
            "/m/a-00001-of-00003.bin",
            "/m/a-00004-of-00003.gguf",
            "/m/a-00000-of-00000.gguf",
        ] {
            assert_eq!(model_parts(Path::new(whole)), [PathBuf::from(whole)]);
        }
    }
}
