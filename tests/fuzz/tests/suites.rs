//! The targets of suites, in a process of their own: a suite marks secrets for its whole process.

use gage_fuzz::campaign::check;
use gage_fuzz::suites;

#[test]
fn suites_are_read_or_refused_with_positions() {
    assert_eq!(check(&suites::SUITES).err(), None);
}

#[test]
fn imported_suites_are_yaml() {
    assert_eq!(check(&suites::IMPORTS).err(), None);
}
