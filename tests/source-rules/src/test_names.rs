//! The names of test functions.

/// Characters of a test's name.
pub const MAX_TEST_NAME_CHARS: usize = 60;

/// Returns the names of the test functions of a source file that are longer than [`MAX_TEST_NAME_CHARS`]. The text is searched
/// rather than parsed, so that tests inside of macros count.
pub fn long_test_names(text: &str) -> Vec<String> {
    let mut long = Vec::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim) {
        if ["#[test]", "#[tokio::test"].iter().any(|attribute| line.starts_with(attribute)) {
            is_test = true;
        } else if let Some((_, after)) = line.split_once("fn ").filter(|_| is_test && !line.starts_with("//"))
        {
            is_test = false;
            let name: String =
                after.chars().take_while(|next| next.is_alphanumeric() || *next == '_').collect();
            if name.chars().count() > MAX_TEST_NAME_CHARS {
                long.push(name);
            }
        }
    }
    long
}
