//! The program runs on older systems than the one that built it.

use crate::support::program_file;
use object::Endianness;
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{Dyn as _, FileHeader as _};
use std::process::Command;

/// The newest version of glibc whose symbols the program may need: that of the wheel's tag.
const MAX_GLIBC: (u32, u32) = (2, 34);

/// The newest version of glibc to build with. The headers of later ones replace functions of C by newer ones.
const MAX_BUILD_GLIBC: (u32, u32) = (2, 36);

/// Libraries that every system with glibc has.
const LIBRARIES: [&str; 4] = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"];

/// What a program needs: its libraries, and versions of their symbols such as `GLIBC_2.34`.
#[derive(Default)]
struct Needs {
    libraries: Vec<String>,
    versions: Vec<String>,
}

fn needs(file: &[u8]) -> Needs {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let header = FileHeader64::<Endianness>::parse(file).expect("an ELF file");
    let endian = header.endian().expect("an order of bytes");
    let sections = header.sections(endian, file).expect("sections");
    let mut needs = Needs::default();
    let table = sections.dynamic_table(endian, file).expect("a dynamic section");
    for entry in table.dynamics().iter().filter(|entry| entry.tag(endian) == DT_NEEDED) {
        needs.libraries.push(text(entry.string(endian, *table.strings()).expect("a name")));
    }
    let (libraries, strings) =
        sections.gnu_verneed(endian, file).expect("a version section").expect("versions");
    let strings = sections.strings(endian, file, strings).expect("names");
    for library in libraries {
        let (_, versions) = library.expect("a library");
        for version in versions {
            needs.versions.push(text(version.expect("a version").name(endian, strings).expect("a name")));
        }
    }
    needs
}

/// Returns the numbers of `2.34`, or of `2.2.5` without the last one.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Returns the version of this system's glibc.
fn glibc() -> (u32, u32) {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().expect("getconf runs");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.trim().strip_prefix("glibc ").and_then(numbers).unwrap_or_else(|| panic!("a version: {text}"))
}

#[test]
fn program_needs_few_libraries_and_old_symbols() {
    let file = std::fs::read(program_file("gage-host")).expect("the program");
    let needs = needs(&file);
    let is_other = |library: &&String| !LIBRARIES.contains(&library.as_str());
    assert_eq!(needs.libraries.iter().filter(is_other).collect::<Vec<_>>(), [""; 0]);
    assert!(needs.versions.iter().any(|version| version.starts_with("GLIBC_2.")), "{:?}", needs.versions);
    if glibc() > MAX_BUILD_GLIBC {
        eprintln!("skipped: programs that are built here need a newer glibc");
        return;
    }
    let is_new = |version: &&String| {
        // Versions without a number, such as GLIBC_ABI_DT_RELR of glibc 2.36, are all newer.
        version.starts_with("GLIBC_ABI_")
            || version.strip_prefix("GLIBC_").and_then(numbers).is_some_and(|found| found > MAX_GLIBC)
    };
    assert_eq!(needs.versions.iter().filter(is_new).collect::<Vec<_>>(), [""; 0]);
}
