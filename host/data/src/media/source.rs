//! Source of media: the meaning of a URL or path in a content part.

use super::error::{MediaError, MediaErrorKind};
use gage_core::Digest;
use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// Location of a medium.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Source<'a> {
    /// `http:` or `https:`; fetched by the model.
    Remote,
    /// `data:`
    Inline,
    /// A path, relative or absolute.
    Local(Cow<'a, str>),
}

impl<'a> Source<'a> {
    /// Returns whether a text is the digest of a medium, as `sha256:…`.
    pub(super) fn is_digest(written: &str) -> bool {
        written.parse::<Digest>().is_ok()
    }

    /// Classifies a source.
    ///
    /// # Errors
    /// `media_url`, for a text that is neither a path nor a supported URL.
    pub(super) fn of(written: &'a str) -> Result<Source<'a>, MediaError> {
        let refuse = |message: &str| Err(MediaError::new(MediaErrorKind::Url, message));
        if written.trim().is_empty() {
            return refuse("the URL is empty");
        }
        if is_windows(written) {
            return refuse(
                "this is a Windows path; write a path below content_root, with '/' between folders",
            );
        }
        let Some((scheme, rest)) = scheme_of(written) else { return local(Cow::Borrowed(written)) };
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" if rest.starts_with("//") && rest.len() > 2 => Ok(Source::Remote),
            "http" | "https" => refuse("the URL names no host"),
            "data" => Ok(Source::Inline),
            "sha256" => refuse("a digest names no file; write the path or the URL of the medium"),
            "file" => file_url(rest),
            other => Err(MediaError::new(
                MediaErrorKind::Url,
                format!(
                    "the scheme '{other}:' is not known; allowed are http, https, data, file, and paths (a \
                     file with a colon in its name is written with './' in front)"
                ),
            )),
        }
    }
}

fn local(path: Cow<'_, str>) -> Result<Source<'_>, MediaError> {
    match path.contains('\0') {
        true => Err(MediaError::new(MediaErrorKind::Url, "the path contains a NUL character")),
        false => Ok(Source::Local(path)),
    }
}

/// Returns the local path of a `file:` URL.
fn file_url(rest: &str) -> Result<Source<'static>, MediaError> {
    let path = rest.strip_prefix("//").and_then(|rest| {
        let path = rest.strip_prefix("localhost").filter(|path| path.starts_with('/')).unwrap_or(rest);
        path.starts_with('/').then_some(path)
    });
    let refuse = |message| Err(MediaError::new(MediaErrorKind::Url, message));
    let Some(path) = path else {
        return refuse("a file URL needs an absolute path on this machine: file:///folder/name");
    };
    let Ok(path) = percent_decode_str(path).decode_utf8() else {
        return refuse("the path of the file URL is not UTF-8");
    };
    if is_windows(&path) || is_windows(path.trim_start_matches('/')) {
        return refuse("this is a Windows path; write a path below content_root");
    }
    local(Cow::Owned(path.into_owned()))
}

/// Returns the scheme, if there is one: two or more letters before a colon, so a drive letter does not count.
fn scheme_of(written: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = written.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|character| character.is_ascii_alphanumeric() || "+-.".contains(character));
    is_scheme.then_some((scheme, rest))
}

/// Returns whether a path begins with a drive or a server, as on Windows.
fn is_windows(written: &str) -> bool {
    let is_drive = matches!(written.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    is_drive || written.starts_with("\\\\") || written.starts_with("//")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_and_what_is_refused() {
        let local = |path: &str| Some(Source::Local(Cow::Owned(path.to_owned())));
        let digest = Digest::of_bytes(b"x");
        let cases = [
            ("a/b.png", local("a/b.png")),
            ("/a/b.png", local("/a/b.png")),
            ("./fig:1.png", local("./fig:1.png")),
            ("100%.png", local("100%.png")),
            ("file:///a/b%20c.png", local("/a/b c.png")),
            ("FILE://localhost/a", local("/a")),
            ("https://host/a.png", Some(Source::Remote)),
            ("HTTP://host/a.png", Some(Source::Remote)),
            ("data:,x", Some(Source::Inline)),
            (&digest.to_string(), None),
            ("https:", None),
            ("https://", None),
            ("file://server/a", None),
            ("file:a", None),
            ("file:///C:/a", None),
            ("file:////server/a", None),
            ("file:///%ff", None),
            ("file:///a%00b", None),
            ("C:\\a.png", None),
            ("c:/a.png", None),
            ("c:a.png", None),
            ("\\\\server\\share", None),
            ("//server/share", None),
            ("s3://bucket/a.png", None),
            ("fig:1.png", None),
            ("javascript:alert(1)", None),
            ("sha256:12", None),
            ("a\0b", None),
            (" ", None),
            ("", None),
        ];
        for (written, expected) in cases {
            let found = Source::of(written);
            if let Err(error) = &found {
                assert_eq!(error.kind, MediaErrorKind::Url);
            }
            assert_eq!(found.ok(), expected, "{written}");
        }
    }
}
