//! Location of a dataset's files: next to the suite, or in the cache of a hub. The files are checked against the
//! digests that the suite states.

mod from_hub;

use crate::filter::Filter;
use crate::hub::{HubError, HubProgress, LazyHubFiles};
use crate::media::{ImageOptions, MediaError, MediaOptions, MediaStore};
use crate::row::DataError;
use crate::rows::{Rows, check_unchanged, open};
use crate::source::{DataFile, FewShotSource, FormatOptions, LabelsFile, PoolFiles, RowSource, files_of};
use gage_config::{DataSource, DatasetSpec, FileFormat, FilesSpec, Permissions, PoolSource};
use gage_record::{DatasetIdentity, FileDigest};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options for locating datasets.
pub struct LocateOptions<'o> {
    /// Folder for fetched and derived files. Without it, nothing can be fetched.
    pub cache_folder: Option<&'o Path>,
    /// True if the network may not be used, regardless of the suite.
    pub is_offline: bool,
    /// True if [`LocatedFiles::identity`] needs digests of local files, which requires reading them in full. Cached
    /// files of a hub are then read again too. Files whose digest the suite states are read in any case.
    pub with_digests: bool,
    /// Receives the progress of downloads.
    pub progress: &'o dyn HubProgress,
    /// Returns whether cancellation was requested.
    pub is_cancelled: &'o (dyn Fn() -> bool + Sync),
}

/// A dataset whose files are on this machine.
#[derive(Clone, Debug)]
pub struct LocatedFiles {
    /// Location shown in messages and in Samples.
    pub shown: String,
    /// Identity in the record of a run: the digest (see [`LocateOptions::with_digests`]) and the size, those of each
    /// file if there are several, and the commit of a hub.
    pub identity: DatasetIdentity,
    source: RowSource,
    /// Default folder of its media, and the folder's spelling in Samples.
    folder: (PathBuf, String),
    /// For a dataset on a hub: its other files, and their target folder.
    beside: Option<(Arc<LazyHubFiles>, PathBuf)>,
}

/// Failure to locate a dataset.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocateError {
    /// A file cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The dataset could not be fetched.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// The address of the hub is invalid.
    #[error("`{endpoint}` is not the address of a hub: {message}")]
    Endpoint {
        /// Address as configured.
        endpoint: String,
        /// Problem with the address.
        message: String,
    },
    /// A file of a hub differs from when it was fetched.
    #[error("{shown} was changed in the cache: its digest is {found}, and was {fetched} when it was fetched")]
    Changed {
        /// Name of the file in messages.
        shown: String,
        /// Local path.
        file: PathBuf,
        /// Digest of its bytes.
        found: String,
        /// Digest that the hub states.
        fetched: String,
    },
    /// There is no folder for fetched files.
    #[error("there is no folder for downloads")]
    NoCache,
    /// The digest differs from the one in the suite.
    #[error("sha256 mismatch for {shown}: expected {wanted}, found {found}")]
    Digest {
        /// Key of the suite that states the digest.
        key: &'static str,
        /// Name of the data in messages.
        shown: String,
        /// Digest of the data.
        found: String,
        /// Digest in the suite.
        wanted: String,
    },
}

impl LocateError {
    /// Returns the key of the dataset that the error is about.
    pub fn key(&self, spec: &DatasetSpec) -> &'static str {
        match self {
            LocateError::Digest { key, .. } => key,
            LocateError::Data(error) => error.key(spec),
            LocateError::Hub(error) => error.key(),
            LocateError::Endpoint { .. } => "endpoint",
            LocateError::Changed { .. } | LocateError::NoCache => match spec.source {
                DataSource::Files(_) => "path",
                DataSource::Hub(_) => "hub_id",
            },
        }
    }

    /// Returns advice on fixing the error.
    pub fn help(&self) -> Option<String> {
        match self {
            LocateError::Digest { .. } => Some(
                "if the data was changed on purpose, write the new digest into the suite; figures of the old \
                 data do not compare"
                    .to_owned(),
            ),
            LocateError::Changed { file, .. } => {
                Some(format!("remove {}; it is then fetched again", file.display()))
            }
            LocateError::NoCache => Some("set GAGE_CACHE_DIR".to_owned()),
            LocateError::Data(_) | LocateError::Hub(_) | LocateError::Endpoint { .. } => None,
        }
    }
}

impl LocatedFiles {
    /// Returns the names of its files, as rows refer to them.
    pub fn file_names(&self) -> Vec<String> {
        self.source.files.iter().map(|file| file.shown.clone()).collect()
    }

    /// Checks that no file changed since its digest was computed. Deleted and replaced files pass.
    ///
    /// # Errors
    /// [`DataError::Changed`] for the first one that did.
    pub fn check_unchanged(&self) -> Result<(), DataError> {
        check_unchanged(self.source.files.iter().chain(self.source.files_beside()))
    }

    /// Returns the media store of its Samples.
    ///
    /// # Errors
    /// When a folder does not exist or the bounds are invalid.
    pub fn media(&self, spec: &DatasetSpec, cache_folder: Option<&Path>) -> Result<MediaStore, MediaError> {
        let (root, shown) = match &spec.media.content_root {
            Some(root) => (root.clone(), root.display().to_string()),
            None => self.folder.clone(),
        };
        let media = &spec.media;
        let mut allowed_roots = media.allowed_roots.clone();
        // A folder named by the suite contains the user's own files.
        let beside = self.beside.as_ref().filter(|_| media.content_root.is_none());
        allowed_roots.extend(beside.map(|(_, folder)| folder.clone()));
        let files = beside.map(|(files, _)| Arc::clone(files));
        let is_resizing = media.min_pixels.is_some() || media.max_pixels.is_some() || media.factor.is_some();
        MediaStore::new(MediaOptions {
            allowed_roots,
            files,
            most_bytes: media.most_mib << 20,
            image: ImageOptions {
                min_pixels: media.min_pixels,
                max_pixels: media.max_pixels,
                factor: media.factor,
                most_pixels: media.most_pixels,
            },
            embed_local_media: media.embed_local_media,
            // Only resized images are stored.
            cache_folder: cache_folder.filter(|_| is_resizing).map(Path::to_owned),
            ..MediaOptions::new(root, shown)
        })
    }
}

/// Finds the files of a dataset, fetches remote ones, and compares their digest with that of the suite. Remote files come
/// only from hosts that the suite may connect to.
///
/// # Errors
/// When the files are unavailable or have another digest.
#[tracing::instrument(name = "locate_dataset", skip_all, fields(dataset = %spec.dataset_id))]
pub fn locate(
    spec: &DatasetSpec,
    options: &LocateOptions<'_>,
    permissions: &Permissions,
) -> Result<LocatedFiles, LocateError> {
    let located = match &spec.source {
        DataSource::Files(_) => {
            let mut source = source_of_files(spec);
            let is_stated = spec.sha256.is_some() || spec.labels_sha256.is_some();
            let of_examples = spec.few_shot.as_ref().is_some_and(|few_shot| few_shot.sha256.is_some());
            let are_wanted = options.with_digests || is_stated || of_examples;
            let identity = match are_wanted {
                true => crate::digests::pin(&mut source)?,
                false => crate::digests::sizes(&source)?,
            };
            let folder = folder_of(source.files.first().map(|file| file.path.as_path()));
            LocatedFiles { shown: spec.shown_source(), identity, source, folder, beside: None }
        }
        DataSource::Hub(hub) => from_hub::fetch(spec, hub, options, permissions)?,
    };
    let identity = &located.identity;
    let labels = located.source.labels.as_ref().map(|labels| labels.file.shown.as_str()).unwrap_or_default();
    let hex = |file: FileDigest| file.digest.to_string();
    let (of_labels, of_examples) = (identity.labels.map(hex), identity.few_shot.map(hex));
    let wanted_of_examples = spec.few_shot.as_ref().and_then(|few_shot| few_shot.sha256.as_ref());
    for (key, wanted, found, shown) in [
        ("sha256", spec.sha256.as_ref(), identity.digest.as_deref(), located.shown.as_str()),
        ("labels_sha256", spec.labels_sha256.as_ref(), of_labels.as_deref(), labels),
        ("few_shot", wanted_of_examples, of_examples.as_deref(), "the examples of `few_shot`"),
    ] {
        let Some(wanted) = wanted else { continue };
        let found = found.unwrap_or_default();
        let found = found.strip_prefix("sha256:").unwrap_or(found).to_owned();
        if found != *wanted {
            return Err(LocateError::Digest { key, shown: shown.to_owned(), found, wanted: wanted.clone() });
        }
    }
    Ok(located)
}

/// Opens a located dataset; returns at most `most` rows, and no more than its own limit.
///
/// # Errors
/// When a file cannot be read or has no rows.
pub fn open_located(
    spec: &DatasetSpec,
    located: &LocatedFiles,
    most: Option<u64>,
) -> Result<Rows, DataError> {
    let source = RowSource {
        filter: Filter { include: spec.filter.clone(), exclude: spec.exclude.clone() },
        shuffle: spec.shuffle.then_some(spec.seed),
        limit: spec.limit,
        ..located.source.clone()
    };
    open(&source, most)
}

/// Checks that the files of a dataset can be opened and contain a row. Those on a hub are not checked.
///
/// # Errors
/// When they cannot.
pub fn check(spec: &DatasetSpec) -> Result<(), DataError> {
    match &spec.source {
        DataSource::Hub(_) => Ok(()),
        DataSource::Files(_) => open(&source_of_files(spec), Some(1)).map(drop),
    }
}

/// Returns the digest and size of files with examples. For several files, returns the digest of the lines of their digests,
/// and the sum of the bytes.
///
/// # Errors
/// When a file cannot be read.
pub fn few_shot_digest(files: &FilesSpec) -> Result<FileDigest, DataError> {
    let mut files = files_of(files);
    let digests = files.iter_mut().map(crate::digests::pin_file).collect::<Result<Vec<_>, DataError>>()?;
    Ok(crate::digests::joint_digest(digests))
}

fn source_of_files(spec: &DatasetSpec) -> RowSource {
    let DataSource::Files(files) = &spec.source else { return RowSource::new(FileFormat::Jsonl, Vec::new()) };
    let options = FormatOptions { columns: files.columns.clone(), records: files.records.clone() };
    let pool = spec.few_shot.as_ref().and_then(|few_shot| match &few_shot.pool {
        PoolSource::Files(pool) => Some(PoolFiles {
            files: files_of(pool),
            format: pool.format,
            is_of_rows: pool.paths == files.paths,
        }),
        PoolSource::Split(_) => None,
    });
    let few_shot = few_shot_of(spec, pool.into_iter().collect());
    RowSource { options, labels: labels_of(spec), few_shot, ..RowSource::new(files.format, files_of(files)) }
}

/// Returns how the examples of a dataset are picked from its pools.
fn few_shot_of(spec: &DatasetSpec, pools: Vec<PoolFiles>) -> Option<FewShotSource> {
    spec.few_shot.as_ref().map(|few_shot| FewShotSource {
        pools,
        count: few_shot.count,
        by: few_shot.by.clone(),
        pick: few_shot.pick,
        seed: few_shot.seed,
    })
}

fn labels_of(spec: &DatasetSpec) -> Option<LabelsFile> {
    let path = spec.labels_path.as_ref()?;
    Some(LabelsFile { file: DataFile::new(path), field: spec.label_field.clone() })
}

/// Returns the folder of a file, and its spelling: empty for the working folder.
fn folder_of(file: Option<&Path>) -> (PathBuf, String) {
    let folder = file.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) => (folder.to_owned(), folder.display().to_string()),
        None => (PathBuf::from("."), String::new()),
    }
}
