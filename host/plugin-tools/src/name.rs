//! Project names.

/// Maximum length of a name, in characters.
const MAX_NAME_CHARS: usize = 64;

/// Names that have another meaning in one of the languages.
const RESERVED: &str = "\
    abstract alloc and as assert async await become bool box break build bytes case class const continue \
    core crate def del deps dict do dyn elif else enum except extern false final finally float fn for \
    from gage gage_sdk gen global if impl import in int is lambda let list loop macro match mod move mut \
    none nonlocal not object or override pass plugin priv proc_macro pub raise ref return self set \
    static std str struct super test trait true try tuple type typeof union unsafe unsized use virtual \
    where while with yield";

/// Device names, which Windows does not allow for files or folders.
const DEVICES: &str = "con prn aux nul com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 \
    lpt0 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9";

/// Checks the name of a project, which is also used for a folder, a package and a function.
///
/// # Errors
/// The problem, and the allowed characters.
pub(crate) fn check(name: &str) -> Result<(), String> {
    let allowed = format!(
        "a name is 1 to {MAX_NAME_CHARS} lower-case letters, digits, '-' and '_', begins with a letter, and has letters or \
         digits on both sides of each '-' and '_'"
    );
    let is_part = |part: &str| {
        !part.is_empty() && part.chars().all(|one| one.is_ascii_lowercase() || one.is_ascii_digit())
    };
    let is_well_made = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.len() <= MAX_NAME_CHARS
        && name.split(['-', '_']).all(is_part);
    if !is_well_made {
        let name = gage_core::shown_name(name);
        return Err(format!("the name '{name}' cannot be used; {allowed}"));
    }
    let snake = snake(name);
    if RESERVED.split(' ').any(|reserved| reserved == snake) {
        return Err(format!(
            "the name '{name}' means something else in one of the languages; choose another, such as 'my-{name}'"
        ));
    }
    if DEVICES.split(' ').any(|device| device == name) {
        return Err(format!(
            "the name '{name}' is that of a device on Windows; choose another, such as 'my-{name}'"
        ));
    }
    Ok(())
}

/// Returns the name with `-` replaced by `_`, for functions and members.
pub(crate) fn snake(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_can_be_used() {
        let longest = "a".repeat(64);
        for name in ["a", "word-recall", "word_recall", "bleu4", "a-b_c", longest.as_str()] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
    }

    #[test]
    fn names_that_cannot() {
        let too_long = "a".repeat(65);
        for name in
            ["", "4bleu", "-a", "a-", "_a", "a--b", "a-_b", "Word", "a.b", "a/b", "..", "é", "a b", &too_long]
        {
            let error = check(name).unwrap_err();
            assert!(error.contains("begins with a letter"), "{name}: {error}");
        }
        for name in ["class", "match", "gage-sdk", "test", "yield", "abstract"] {
            assert!(check(name).unwrap_err().contains("something else"), "{name}");
        }
        for name in ["con", "nul", "com1", "lpt9"] {
            assert!(check(name).unwrap_err().contains("device"), "{name}");
        }
    }
}
