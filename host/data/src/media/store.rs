//! Media store: inspects each medium once and prepares it for sending.

use super::allowed_roots::{AllowedRoots, PathOrder, RootMatch};
use super::data_url;
use super::decode_budget::DecodeBudget;
use super::error::{MediaError, MediaErrorKind};
use super::file::{self, Content};
use super::format::{Claim, Format, agree};
use super::image_cache::{CacheKey, CachedImage, ImageCache};
use super::image_probe::{ImageProbe, examine};
use super::options::{Bounds, MediaOptions};
use super::resize::{format_of, resize, target};
use super::sniff::{HEAD_BYTES, is_lfs_pointer, sniff};
use super::source::Source;
use super::stats::MediaStats;
use super::truncation::missing_wav_bytes;
use gage_core::{ContentPart, Digest, MediaKind, Sample};
use lru::LruCache;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Number of images whose probing result is cached.
const MAX_CACHED_PROBES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(65_535);
/// Maximum bytes of decoded pixels in memory, across all threads. A single image may exceed it.
const PIXEL_BUDGET: u64 = 512 << 20;

/// Media of one dataset. All threads may share it.
pub struct MediaStore {
    pub(super) options: MediaOptions,
    stats: Mutex<MediaStats>,
    bounds: Option<Bounds>,
    roots: AllowedRoots,
    cache: Option<ImageCache>,
    permits: DecodeBudget,
    /// Probing result of each image, by digest. One thread probes while the others wait.
    probes: Mutex<LruCache<Digest, Arc<OnceLock<Result<ImageProbe, MediaError>>>>>,
    /// Half a content digest of each file, by a hash of its path: 16 bytes per file.
    fingerprints: Mutex<HashMap<u64, u64>>,
}

/// An inspected medium.
pub(super) struct Medium {
    /// Path or URL as written in a Sample.
    pub(super) shown: String,
    /// Local file, without symbolic links.
    pub(super) path: Option<PathBuf>,
    /// Properties of the content. `None` for a remote URL.
    pub(super) facts: Option<Facts>,
    /// `data:` URL to send, if requested and different from `shown`.
    pub(super) embedded: Option<String>,
}

/// Properties of a medium's content.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) digest: Digest,
    pub(super) media_type: String,
    pub(super) length: u64,
    /// Width and height as stored.
    pub(super) size: Option<(u32, u32)>,
    /// Size to send, if different.
    pub(super) target: Option<(u32, u32)>,
}

/// Purpose of an inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Check only; nothing of the medium is kept in memory.
    Check(PathOrder),
    /// Check, and encode local files as `data:` URLs. If the second field is set, also re-encode `data:` URLs whose
    /// images are resized or whose spelling differs.
    Embed(PathOrder, bool),
}

impl MediaStore {
    /// Opens the folders.
    ///
    /// # Errors
    /// `media_options`, for a folder that cannot be used or sizes that contradict each other.
    pub fn new(options: MediaOptions) -> Result<MediaStore, MediaError> {
        Ok(MediaStore {
            bounds: options.image.bounds()?,
            roots: AllowedRoots::open(&options.content_root, &options.shown_root, &options.allowed_roots)?,
            cache: options.cache_folder.as_deref().map(ImageCache::open).transpose()?,
            permits: DecodeBudget::new(PIXEL_BUDGET),
            probes: Mutex::new(LruCache::new(MAX_CACHED_PROBES)),
            fingerprints: Mutex::default(),
            stats: Mutex::default(),
            options,
        })
    }

    /// Returns the work done so far.
    #[cfg(test)]
    pub(super) fn stats(&self) -> MediaStats {
        *self.stats.lock()
    }

    /// Inspects a medium, as a row or a Sample writes it.
    pub(super) fn inspect(
        &self,
        kind: MediaKind,
        written: &str,
        purpose: Purpose,
    ) -> Result<Medium, MediaError> {
        self.inspect_unnamed(kind, written, purpose).map_err(|error| error.of(written))
    }

    /// Returns the local file of a row's path, without symbolic links; does not read it.
    pub(super) fn file_at(&self, written: &str) -> Option<PathBuf> {
        match Source::of(written).ok()? {
            Source::Remote | Source::Inline => None,
            Source::Local(path) => self.roots.find(&path, PathOrder::OfRow).ok().map(|found| found.path),
        }
    }

    fn inspect_unnamed(
        &self,
        kind: MediaKind,
        written: &str,
        purpose: Purpose,
    ) -> Result<Medium, MediaError> {
        let order = match purpose {
            Purpose::Check(order) | Purpose::Embed(order, _) => order,
        };
        let found = match Source::of(written)? {
            Source::Remote => {
                let shown = written.to_owned();
                return Ok(Medium { shown, path: None, facts: None, embedded: None });
            }
            Source::Inline => return self.inspect_inline(kind, written, purpose),
            Source::Local(path) => match self.provided(&path)? {
                Some(below) => self.roots.find(&below, PathOrder::OfRow)?,
                None => self.roots.find(&path, order)?,
            },
        };
        let is_embedded = matches!(purpose, Purpose::Embed(..));
        let is_whole = is_embedded || kind == MediaKind::Image;
        let content = self.read_file(&found, is_whole)?;
        self.check_unchanged(&found, content.digest)?;
        let claim = Claim::of_path(&found.shown);
        let (facts, format, picture) = self.facts(kind, &content, claim)?;
        let embedded = match is_embedded {
            true => Some(self.data_url(&content.bytes, format, &facts, picture)?),
            false => None,
        };
        Ok(Medium { shown: found.shown, path: Some(found.path), facts: Some(facts), embedded })
    }

    /// Fetches the missing media of some Samples, several at a time, until stopped.
    pub(crate) fn prefetch<'s>(
        &self,
        samples: impl Iterator<Item = &'s Sample>,
        is_stopped: &dyn Fn() -> bool,
    ) {
        let Some(files) = &self.options.files else { return };
        let mut written = Vec::new();
        for sample in samples {
            let examples = sample.few_shot_examples.iter();
            let answers = examples.clone().flat_map(|example| example.references.first());
            let messages = sample.messages.iter().chain(examples.flat_map(|example| &example.messages));
            let parts = messages.map(|message| &message.content).chain(answers.map(|answer| &answer.answer));
            for part in parts.flatten() {
                if let ContentPart::Media { url, .. } = part {
                    written.extend(self.spellings(url));
                }
            }
        }
        files.prefetch(&written, is_stopped);
    }

    /// Returns the possible meanings of a relative path: as written, or without the leading content root.
    fn spellings<'w>(&self, written: &'w str) -> impl Iterator<Item = &'w str> {
        let is_relative = !written.starts_with('/');
        [Some(written), self.roots.below_shown(written)].into_iter().flatten().filter(move |_| is_relative)
    }

    /// Returns the path of a file in the dataset's repository, fetching it if needed. Tries each spelling of the
    /// path.
    fn provided(&self, written: &str) -> Result<Option<String>, MediaError> {
        let Some(files) = &self.options.files else { return Ok(None) };
        for path in self.spellings(written) {
            let found = files.fetch_named(path);
            let found = found.map_err(|message| MediaError::new(MediaErrorKind::Unreadable, message))?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn inspect_inline(&self, kind: MediaKind, written: &str, purpose: Purpose) -> Result<Medium, MediaError> {
        let url = data_url::decode(written, self.options.most_bytes)?;
        let (declared, is_plain) = (url.declared, url.is_plain);
        if url.bytes.is_empty() {
            return Err(MediaError::new(MediaErrorKind::Truncated, "the data URL is empty"));
        }
        let content = Content {
            digest: Digest::of_bytes(&url.bytes),
            length: url.bytes.len() as u64,
            bytes: url.bytes,
        };
        let (mut facts, format, picture) = self.facts(kind, &content, Claim::of_media_type(declared))?;
        if format == Format::Unknown && !declared.is_empty() {
            declared.clone_into(&mut facts.media_type);
        }
        let is_as_sent = is_plain && declared == facts.media_type && facts.target.is_none();
        let embedded = match purpose {
            Purpose::Embed(_, true) if !is_as_sent => {
                Some(self.data_url(&content.bytes, format, &facts, picture)?)
            }
            _ => None,
        };
        Ok(Medium { shown: written.to_owned(), path: None, facts: Some(facts), embedded })
    }

    /// Checks content. An image must be complete.
    fn facts(
        &self,
        kind: MediaKind,
        content: &Content,
        claim: Option<Claim>,
    ) -> Result<(Facts, Format, Option<ImageProbe>), MediaError> {
        let format = sniff(&content.bytes);
        let media_type = agree(format, kind, claim, is_lfs_pointer(&content.bytes))?.to_owned();
        if let Some(whole) =
            missing_wav_bytes(&content.bytes, content.length).filter(|_| format == Format::Wav)
        {
            let message = format!(
                "the file is cut off: it has {} bytes, and its header tells of {whole}",
                content.length
            );
            return Err(MediaError::new(MediaErrorKind::Truncated, message));
        }
        let picture = match kind {
            MediaKind::Image => Some(self.examine(content, format)?),
            _ => None,
        };
        let target = match (self.bounds, picture) {
            // An image of a format that is not decoded is sent unchanged.
            (Some(bounds), Some(picture)) => match picture.seen_size() {
                Some(size) => target(size, bounds)?,
                None => None,
            },
            _ => None,
        };
        let size = picture.and_then(|picture| picture.size);
        let facts = Facts { digest: content.digest, media_type, length: content.length, size, target };
        Ok((facts, format, picture))
    }

    fn examine(&self, content: &Content, format: Format) -> Result<ImageProbe, MediaError> {
        let probe = Arc::clone(self.probes.lock().get_or_insert(content.digest, Arc::default));
        let probed = probe.get_or_init(|| {
            let picture = examine(&content.bytes, format, self.options.image.most_pixels, &self.permits)?;
            self.stats.lock().images_decoded += u64::from(picture.size.is_some());
            Ok(picture)
        });
        probed.clone()
    }

    /// Returns the bytes to send, as a `data:` URL.
    fn data_url(
        &self,
        bytes: &[u8],
        format: Format,
        facts: &Facts,
        picture: Option<ImageProbe>,
    ) -> Result<String, MediaError> {
        let (Some(size), Some(picture)) = (facts.target, picture) else {
            return Ok(data_url::encode(&facts.media_type, bytes));
        };
        let made = format_of(&picture);
        let resized =
            self.resized(bytes, format, &picture, CacheKey { source: facts.digest, size, format: made })?;
        Ok(data_url::encode(made.media_type(), &resized))
    }

    fn resized(
        &self,
        bytes: &[u8],
        format: Format,
        picture: &ImageProbe,
        key: CacheKey,
    ) -> Result<Vec<u8>, MediaError> {
        match self.cache.as_ref().map(|cache| cache.read(key)) {
            Some(CachedImage::Sound(bytes)) => {
                self.stats.lock().cache_hits += 1;
                return Ok(bytes);
            }
            Some(CachedImage::Damaged) => self.stats.lock().cache_repairs += 1,
            Some(CachedImage::Absent) | None => {}
        }
        let made = resize(bytes, format, picture, key.size, self.options.image.most_pixels, &self.permits)?;
        self.stats.lock().images_resized += 1;
        if let Some(cache) = &self.cache {
            cache.store(key, &made);
        }
        Ok(made)
    }

    fn read_file(&self, found: &RootMatch, is_whole: bool) -> Result<Content, MediaError> {
        let kept = if is_whole { u64::MAX } else { HEAD_BYTES as u64 };
        let content = file::read(&found.path, self.options.most_bytes, kept)?;
        self.stats.lock().files_read += 1;
        Ok(content)
    }

    /// Checks that a file is the same as when it was first read.
    fn check_unchanged(&self, found: &RootMatch, digest: Digest) -> Result<(), MediaError> {
        let hasher = BuildHasherDefault::<DefaultHasher>::default();
        let (path, content) = (hasher.hash_one(&found.path), hasher.hash_one(digest));
        let mut fingerprints = self.fingerprints.lock();
        match *fingerprints.entry(path).or_insert(content) == content {
            true => Ok(()),
            false => Err(changed()),
        }
    }
}

fn changed() -> MediaError {
    MediaError::new(MediaErrorKind::Unreadable, "the file changed while the run was going on")
}
