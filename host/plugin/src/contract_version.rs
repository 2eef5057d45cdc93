//! Versions of the plugin contract, `gage:plugin`, that this host supports.

use semver::Version;

/// Newest version of `gage:plugin` that this host supports. Components are built against it.
pub const WIT_VERSION: &str = "0.1.1";

/// Oldest version of `gage:plugin` that this host supports.
pub const MIN_WIT_VERSION: &str = "0.1.0";

/// Relation of a component's version of the contract to those of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Support {
    /// This host runs the component.
    Supported,
    /// A later host supports it.
    Newer,
    /// An earlier host supported it, or it was never released.
    Other,
}

/// Returns whether this host, or another one, supports a version.
pub(crate) fn support_of(version: &str) -> Support {
    let (Ok(version), Ok(oldest), Ok(newest)) =
        (Version::parse(version), Version::parse(MIN_WIT_VERSION), Version::parse(WIT_VERSION))
    else {
        return Support::Other;
    };
    // Versions before a release, or with data of a build, are compatible with no other one.
    if !version.pre.is_empty() || !version.build.is_empty() || version < oldest {
        Support::Other
    } else if version > newest {
        Support::Newer
    } else {
        Support::Supported
    }
}

/// Returns whether this host runs components of a version.
pub(crate) fn is_supported(version: &str) -> bool {
    support_of(version) == Support::Supported
}

/// Returns the newest of some supported versions.
pub(crate) fn newest<'v>(versions: impl Iterator<Item = &'v str>) -> Option<&'v str> {
    versions.max_by_key(|version| Version::parse(version).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_versions_up_to_that_of_the_host_are_supported() {
        for (version, expected) in [
            (MIN_WIT_VERSION, Support::Supported),
            (WIT_VERSION, Support::Supported),
            ("0.1.2", Support::Newer),
            ("0.1.10", Support::Newer),
            ("0.2.0", Support::Newer),
            ("1.0.0", Support::Newer),
            ("0.0.9", Support::Other),
            ("0.1.1-rc.1", Support::Other),
            ("0.1.0+local", Support::Other),
            ("0.1", Support::Other),
            ("01.1.0", Support::Other),
            ("", Support::Other),
        ] {
            assert_eq!(support_of(version), expected, "{version}");
        }
    }

    #[test]
    fn versions_are_compared_by_number() {
        assert_eq!(newest(["0.1.9", "0.1.10", "0.1.2"].into_iter()), Some("0.1.10"));
        assert_eq!(newest(std::iter::empty()), None);
    }
}
