//! Media formats, their names, and the kinds of parts that may hold them.

use super::error::{MediaError, MediaErrorKind};
use gage_core::MediaKind;

/// Format detected from the first bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Format {
    Png,
    Jpeg,
    Gif,
    WebP,
    Bmp,
    Tiff,
    Avif,
    Heic,
    Wav,
    Mp3,
    Aac,
    Flac,
    Ogg,
    M4a,
    Mp4,
    Mov,
    WebM,
    Mkv,
    Avi,
    Pdf,
    Zip,
    Text,
    Unknown,
}

use Format::*;

impl Format {
    /// Returns the media type, as far as the content alone decides it.
    pub(super) fn media_type(self) -> &'static str {
        match self {
            Png => "image/png",
            Jpeg => "image/jpeg",
            Gif => "image/gif",
            WebP => "image/webp",
            Bmp => "image/bmp",
            Tiff => "image/tiff",
            Avif => "image/avif",
            Heic => "image/heic",
            Wav => "audio/wav",
            Mp3 => "audio/mpeg",
            Aac => "audio/aac",
            Flac => "audio/flac",
            Ogg => "audio/ogg",
            M4a => "audio/mp4",
            Mp4 => "video/mp4",
            Mov => "video/quicktime",
            WebM => "video/webm",
            Mkv => "video/x-matroska",
            Avi => "video/x-msvideo",
            Pdf => "application/pdf",
            Zip => "application/zip",
            Text => "text/plain",
            Unknown => "application/octet-stream",
        }
    }

    /// Returns the usual extension of a file's name.
    pub(super) fn extension(self) -> &'static str {
        let own = |claim: &&Claim| claim.formats.contains(&self) && claim.media_type == self.media_type();
        CLAIMS.iter().find(own).map_or("bin", |claim| claim.extension)
    }

    /// Returns the codec that decodes it, if there is one.
    pub(super) fn codec(self) -> Option<image::ImageFormat> {
        image::ImageFormat::from_mime_type(self.media_type()).filter(image::ImageFormat::reading_enabled)
    }

    /// Returns whether a part of this kind may hold it. Content of unknown type may be anything but an image.
    fn fits(self, kind: MediaKind) -> bool {
        match kind {
            MediaKind::Image => matches!(self, Png | Jpeg | Gif | WebP | Bmp | Tiff | Avif | Heic),
            MediaKind::Audio => {
                matches!(self, Wav | Mp3 | Aac | Flac | Ogg | M4a | Mp4 | WebM | Mkv | Unknown)
            }
            MediaKind::Video => matches!(self, Mp4 | Mov | WebM | Mkv | Avi | Ogg | Gif | Unknown),
            MediaKind::File => true,
        }
    }

    fn described(self) -> &'static str {
        match self {
            Unknown => "of no known type",
            Text => "text",
            known => known.media_type(),
        }
    }
}

/// Content type claimed by a name or a `data:` URL.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Claim {
    /// `png`
    extension: &'static str,
    /// `image/png`
    pub(super) media_type: &'static str,
    formats: &'static [Format],
}

const fn claim(extension: &'static str, media_type: &'static str, formats: &'static [Format]) -> Claim {
    Claim { extension, media_type, formats }
}

const MP4_LIKE: &[Format] = &[Mp4, M4a, Mov];
const MATROSKA: &[Format] = &[WebM, Mkv];
/// Text in an encoding other than UTF-8 has no known type.
const TEXT: &[Format] = &[Text, Unknown];

const CLAIMS: &[Claim] = &[
    claim("png", "image/png", &[Png]),
    claim("jpg", "image/jpeg", &[Jpeg]),
    claim("jpeg", "image/jpg", &[Jpeg]),
    claim("jpe", "image/pjpeg", &[Jpeg]),
    claim("jfif", "image/jpeg", &[Jpeg]),
    claim("gif", "image/gif", &[Gif]),
    claim("webp", "image/webp", &[WebP]),
    claim("bmp", "image/bmp", &[Bmp]),
    claim("dib", "image/x-ms-bmp", &[Bmp]),
    claim("tif", "image/tiff", &[Tiff]),
    claim("tiff", "image/tiff", &[Tiff]),
    claim("avif", "image/avif", &[Avif, Heic]),
    claim("heic", "image/heic", &[Heic]),
    claim("heif", "image/heif", &[Heic, Avif]),
    claim("wav", "audio/wav", &[Wav]),
    claim("wave", "audio/x-wav", &[Wav]),
    claim("mp3", "audio/mpeg", &[Mp3]),
    claim("mpga", "audio/mp3", &[Mp3]),
    claim("aac", "audio/aac", &[Aac, M4a, Mp4]),
    claim("flac", "audio/flac", &[Flac]),
    claim("ogg", "audio/ogg", &[Ogg]),
    claim("oga", "audio/ogg", &[Ogg]),
    claim("opus", "audio/opus", &[Ogg]),
    claim("ogv", "video/ogg", &[Ogg]),
    claim("m4a", "audio/mp4", MP4_LIKE),
    claim("m4b", "audio/x-m4a", MP4_LIKE),
    claim("mp4", "video/mp4", MP4_LIKE),
    claim("m4v", "video/x-m4v", MP4_LIKE),
    claim("mov", "video/quicktime", MP4_LIKE),
    claim("webm", "video/webm", MATROSKA),
    claim("weba", "audio/webm", MATROSKA),
    claim("mkv", "video/x-matroska", MATROSKA),
    claim("mka", "audio/x-matroska", MATROSKA),
    claim("avi", "video/x-msvideo", &[Avi]),
    claim("pdf", "application/pdf", &[Pdf]),
    claim("zip", "application/zip", &[Zip]),
    claim("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", &[Zip]),
    claim("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", &[Zip]),
    claim("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation", &[Zip]),
    claim("odt", "application/vnd.oasis.opendocument.text", &[Zip]),
    claim("epub", "application/epub+zip", &[Zip]),
    claim("txt", "text/plain", TEXT),
    claim("md", "text/markdown", TEXT),
    claim("csv", "text/csv", TEXT),
    claim("tsv", "text/tab-separated-values", TEXT),
    claim("html", "text/html", TEXT),
    claim("htm", "text/html", TEXT),
    claim("xml", "application/xml", TEXT),
    claim("json", "application/json", TEXT),
    claim("jsonl", "application/jsonl", TEXT),
];

impl Claim {
    /// Returns the claim of a path's extension, if known.
    pub(super) fn of_path(path: &str) -> Option<Claim> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (_, extension) = name.rsplit_once('.')?;
        CLAIMS.iter().find(|claim| claim.extension.eq_ignore_ascii_case(extension)).copied()
    }

    /// Returns the claim of a media type, if known.
    pub(super) fn of_media_type(media_type: &str) -> Option<Claim> {
        CLAIMS.iter().find(|claim| claim.media_type.eq_ignore_ascii_case(media_type)).copied()
    }
}

/// Returns the media type of content, if its claim and the kind of its part agree with it.
///
/// # Errors
/// `media_type`, with both sides.
pub(super) fn agree(
    format: Format,
    kind: MediaKind,
    claim: Option<Claim>,
    is_pointer: bool,
) -> Result<&'static str, MediaError> {
    let hint = match is_pointer {
        true => "; it is a Git LFS pointer, so fetch the files that it refers to",
        false => "",
    };
    if let Some(claim) = claim
        && !claim.formats.contains(&format)
    {
        let message =
            format!("it is named {}, but its content is {}{hint}", claim.media_type, format.described());
        return Err(MediaError::new(MediaErrorKind::Type, message));
    }
    if !format.fits(kind) || is_pointer {
        let message = format!(
            "it is in a part '{}', but its content is {}{hint}",
            kind.type_name(),
            format.described()
        );
        return Err(MediaError::new(MediaErrorKind::Type, message));
    }
    // A container is less specific than the name of its content.
    let is_vague = matches!(format, Zip | Text | Unknown);
    Ok(claim.filter(|_| is_vague).map_or(format.media_type(), |claim| claim.media_type))
}
