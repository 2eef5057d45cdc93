//! Folders that media may be read from.

use super::error::{MediaError, MediaErrorKind};
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Content root and further folders.
pub(super) struct AllowedRoots {
    /// All readable folders, without symbolic links; the content root first.
    folders: Vec<PathBuf>,
    content: PathBuf,
    shown: String,
}

/// A file that may be read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RootMatch {
    /// Path as written in a Sample.
    pub(super) shown: String,
    /// Path without symbolic links.
    pub(super) path: PathBuf,
}

/// Interpretation of a relative path that is tried first if two lead to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathOrder {
    /// Spelling of a row: below the content root.
    OfRow,
    /// Spelling of a settled Sample: prefixed with the content root.
    OfSample,
}

impl AllowedRoots {
    /// Opens the folders.
    ///
    /// # Errors
    /// `media_options` for one that is not a folder.
    pub(super) fn open(content: &Path, shown: &str, allowed: &[PathBuf]) -> Result<AllowedRoots, MediaError> {
        let open = |key: &str, folder: &Path| {
            let resolved = folder.canonicalize().and_then(|resolved| match resolved.is_dir() {
                true => Ok(resolved),
                false => Err(ErrorKind::NotADirectory.into()),
            });
            resolved.map_err(|error| {
                let message = format!("{key} {}: {error}", folder.display());
                MediaError::new(MediaErrorKind::Options, message).at(key)
            })
        };
        let content = open("content_root", content)?;
        let further = allowed.iter().map(|folder| open("allowed_roots", folder));
        let folders =
            std::iter::once(Ok(content.clone())).chain(further).collect::<Result<_, MediaError>>()?;
        Ok(AllowedRoots { folders, content, shown: shown.to_owned() })
    }

    /// Finds the file of a path.
    ///
    /// # Errors
    /// `media_missing`, `media_outside_root`, and `media_unreadable` for a path that the system refuses.
    pub(super) fn find(&self, written: &str, order: PathOrder) -> Result<RootMatch, MediaError> {
        let below_shown = self.below_shown(written);
        let stripped = below_shown.map(|rest| (self.content.join(rest), written.to_owned()));
        let joined = match Path::new(written).is_absolute() {
            true => (PathBuf::from(written), written.to_owned()),
            false => (self.content.join(written), self.with_root(written)),
        };
        let is_stripped_first = order == PathOrder::OfSample || Path::new(written).is_absolute();
        let candidates = match is_stripped_first {
            true => [stripped, Some(joined)],
            false => [Some(joined), stripped],
        };
        let mut first_error = None;
        for (path, shown) in candidates.into_iter().flatten() {
            match self.resolve(&path) {
                Ok(path) => return Ok(RootMatch { shown, path }),
                Err(error) => first_error = first_error.or(Some(error)),
            }
        }
        Err(first_error.unwrap_or_else(|| missing(self.root_name())))
    }

    fn resolve(&self, path: &Path) -> Result<PathBuf, MediaError> {
        match path.canonicalize() {
            Ok(resolved) if self.holds(&resolved) => Ok(resolved),
            Ok(_) => Err(self.outside()),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                // For a path outside the folders, not even its absence is revealed.
                match self.holds(&without_parents(path)) {
                    true => Err(missing(self.root_name())),
                    false => Err(self.outside()),
                }
            }
            Err(error) => Err(MediaError::new(MediaErrorKind::Unreadable, error.to_string())),
        }
    }

    /// Returns the name of the content root in messages.
    fn root_name(&self) -> &str {
        if self.shown.is_empty() { "." } else { &self.shown }
    }

    fn holds(&self, path: &Path) -> bool {
        self.folders.iter().any(|folder| path.starts_with(folder))
    }

    fn outside(&self) -> MediaError {
        let message = format!(
            "the file is outside content_root '{}' and the folders in allowed_roots; move it, or add \
             its folder to allowed_roots",
            self.root_name()
        );
        MediaError::new(MediaErrorKind::OutsideRoot, message)
    }

    fn with_root(&self, path: &str) -> String {
        match self.shown.as_str() {
            "" => path.to_owned(),
            shown if shown.ends_with('/') => format!("{shown}{path}"),
            shown => format!("{shown}/{path}"),
        }
    }

    /// Returns the rest of a path that starts with the root, as Samples write it.
    pub(super) fn below_shown<'a>(&self, written: &'a str) -> Option<&'a str> {
        let root = self.shown.strip_suffix('/').unwrap_or(&self.shown);
        let rest = written.strip_prefix(root)?.strip_prefix('/')?;
        (!self.shown.is_empty() && !rest.starts_with('/')).then_some(rest)
    }
}

fn missing(root: &str) -> MediaError {
    let message = format!("there is no such file; a relative path is taken from content_root '{root}'");
    MediaError::new(MediaErrorKind::Missing, message)
}

/// Resolves every `..` of a path lexically.
fn without_parents(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut folded, component| {
        match component {
            Component::ParentDir => {
                folded.pop();
            }
            Component::CurDir => {}
            other => folded.push(other),
        }
        folded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_inside_and_outside_of_the_roots() {
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path().canonicalize().expect("resolved");
        let content = base.join("content");
        for path in ["content/data", "further", "secret"] {
            std::fs::create_dir_all(base.join(path)).expect("made");
        }
        for path in ["content/a.png", "content/data/b.png", "further/c.png", "secret/d.png"] {
            std::fs::write(base.join(path), "x").expect("written");
        }
        let roots = AllowedRoots::open(&content, "data", &[base.join("further")]).expect("opened");
        let absolute = |path: &str| base.join(path).display().to_string();
        let cases = [
            ("a.png".to_owned(), Ok(("data/a.png".to_owned(), "content/a.png"))),
            ("data/a.png".to_owned(), Ok(("data/a.png".to_owned(), "content/a.png"))),
            // The path could mean `content/data/b.png` or `content/b.png`; in a row it means the first.
            ("data/b.png".to_owned(), Ok(("data/data/b.png".to_owned(), "content/data/b.png"))),
            ("data/../a.png".to_owned(), Ok(("data/data/../a.png".to_owned(), "content/a.png"))),
            (absolute("content/a.png"), Ok((absolute("content/a.png"), "content/a.png"))),
            (absolute("further/c.png"), Ok((absolute("further/c.png"), "further/c.png"))),
            ("../further/c.png".to_owned(), Ok(("data/../further/c.png".to_owned(), "further/c.png"))),
            ("none.png".to_owned(), Err(MediaErrorKind::Missing)),
            ("a.png/x".to_owned(), Err(MediaErrorKind::Missing)),
            ("../secret/d.png".to_owned(), Err(MediaErrorKind::OutsideRoot)),
            ("../secret/none.png".to_owned(), Err(MediaErrorKind::OutsideRoot)),
            ("../../../../../../etc/passwd".to_owned(), Err(MediaErrorKind::OutsideRoot)),
            ("/etc/passwd".to_owned(), Err(MediaErrorKind::OutsideRoot)),
            ("/no/such/file".to_owned(), Err(MediaErrorKind::OutsideRoot)),
            ("x".repeat(5000), Err(MediaErrorKind::Unreadable)),
        ];
        for (written, expected) in cases {
            let found = roots.find(&written, PathOrder::OfRow);
            let expected = expected.map(|(shown, path)| RootMatch { shown, path: base.join(path) });
            assert_eq!(found.map_err(|error| error.kind), expected, "{written}");
        }
        let of_sample = roots.find("data/a.png", PathOrder::OfSample).expect("found");
        assert_eq!(of_sample.shown, "data/a.png");
        let outside = roots.find("/etc/passwd", PathOrder::OfRow).expect_err("outside");
        assert!(outside.message.contains("content_root 'data'") && outside.message.contains("allowed_roots"));
        assert!(AllowedRoots::open(&base.join("content/a.png"), "", &[]).is_err());
        let here = AllowedRoots::open(&content, "", &[]).expect("opened");
        let missing = here.find("none.png", PathOrder::OfRow).expect_err("missing");
        assert!(missing.message.contains("content_root '.'"), "{}", missing.message);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_does_not_lead_out_of_the_roots() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("content")).expect("made");
        std::fs::write(folder.path().join("secret.png"), "x").expect("written");
        let link = |target: &str, name: &str| {
            std::os::unix::fs::symlink(target, folder.path().join("content").join(name)).expect("linked");
        };
        link("../secret.png", "out.png");
        link("..", "up");
        link("real.png", "in.png");
        link("loop.png", "loop.png");
        std::fs::write(folder.path().join("content/real.png"), "x").expect("written");
        let roots = AllowedRoots::open(&folder.path().join("content"), "", &[]).expect("opened");
        let kind = |path: &str| {
            roots.find(path, PathOrder::OfRow).map(|found| found.shown).map_err(|error| error.kind)
        };
        assert_eq!(kind("in.png"), Ok("in.png".to_owned()));
        assert_eq!(kind("out.png"), Err(MediaErrorKind::OutsideRoot));
        assert_eq!(kind("up/secret.png"), Err(MediaErrorKind::OutsideRoot));
        assert_eq!(kind("loop.png"), Err(MediaErrorKind::Unreadable));
    }
}
