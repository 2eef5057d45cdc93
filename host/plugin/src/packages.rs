//! The packages that a component contains, as its build noted them: a custom section with one package a line.
//!
//! The list is for people who look at licences and known faults. Nothing checks that it is true.

/// Name of the section.
pub(crate) const SECTION: &str = "gage-packages";

/// Identifier of custom sections.
const CUSTOM: u8 = 0;

/// Notes the packages in a component, such as `six==1.17.0`. Does nothing if there are none.
pub fn note_packages(component: &mut Vec<u8>, packages: &[String]) {
    if packages.is_empty() {
        return;
    }
    let mut content = Vec::new();
    push_length(&mut content, SECTION.len());
    content.extend_from_slice(SECTION.as_bytes());
    content.extend_from_slice(packages.join("\n").as_bytes());
    component.push(CUSTOM);
    push_length(component, content.len());
    component.extend_from_slice(&content);
}

/// Appends a length in LEB128, seven bits to a byte.
fn push_length(bytes: &mut Vec<u8>, mut length: usize) {
    const BITS: usize = 0x7f;
    const CONTINUES: u8 = 0x80;
    loop {
        // Seven bits always fit.
        let low = u8::try_from(length & BITS).unwrap_or_default();
        length >>= 7;
        if length == 0 {
            return bytes.push(low);
        }
        bytes.push(low | CONTINUES);
    }
}

/// Returns the packages in the content of a section.
pub(crate) fn packages_in(content: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(content).lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inspect::inspect;
    use gage_test_guests::BARE_WORD_RECALL;

    #[test]
    fn noted_packages_are_read_again() {
        let plain = inspect(BARE_WORD_RECALL).unwrap();
        assert_eq!(plain.packages, Vec::<String>::new());
        for count in [0, 1, 1_000] {
            let packages: Vec<String> = (0..count).map(|number| format!("package-{number}==1.0")).collect();
            let mut component = BARE_WORD_RECALL.to_vec();
            note_packages(&mut component, &packages);
            let summary = inspect(&component).unwrap();
            assert_eq!((summary.packages, summary.imports), (packages, plain.imports.clone()));
            assert_eq!(component == BARE_WORD_RECALL, count == 0);
        }
    }
}
