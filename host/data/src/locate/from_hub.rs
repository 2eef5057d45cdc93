//! Location of a dataset on a hub: the files of its subsets, and those of their examples.

use super::{LocateError, LocateOptions, LocatedFiles, few_shot_of, folder_of, labels_of};
use crate::digests::{joint_digest, of_files, pin_file};
use crate::hub::{self, HubDataset, HubError, HubFormat, HubKind, HubSource, HubTimings, LazyHubFiles};
use crate::row::DataError;
use crate::source::{DataFile, PoolFiles, RowSource, SubsetFiles};
use gage_config::{DatasetSpec, FileFormat, HubSpec, HubSubsets, Permissions, PoolSource};
use gage_record::{DatasetIdentity, FileDigest};
use std::sync::Arc;
use url::Url;

/// The fetched files of one subset.
struct FetchedSubset {
    name: Option<String>,
    rows: HubDataset,
    /// Files with examples.
    pool: Option<HubDataset>,
}

/// Fetches the files of a dataset, and those of its examples.
pub(super) fn fetch(
    spec: &DatasetSpec,
    hub: &HubSpec,
    options: &LocateOptions<'_>,
    permissions: &Permissions,
) -> Result<LocatedFiles, LocateError> {
    let endpoint = Url::parse(&hub.endpoint).map_err(|error| LocateError::Endpoint {
        endpoint: hub.endpoint.clone(),
        message: error.to_string(),
    })?;
    let cache = options.cache_folder.ok_or(LocateError::NoCache)?.to_owned();
    let wanted = HubSource {
        kind: HubKind::Dataset,
        name: hub.hub_id.clone(),
        revision: hub.revision.clone(),
        subset: None,
        split: hub.split.clone(),
        data_files: hub.data_files.clone(),
        endpoint,
        token: hub.token.clone(),
        offline: hub.offline || options.is_offline,
        cache,
        timings: HubTimings::default(),
        permissions: permissions.clone(),
    };
    let subsets = fetch_subsets(spec, hub, &wanted, options)?;
    let mut source = source_of(spec, hub, &subsets, options)?;
    let Some(first) = subsets.first().map(|subset| &subset.rows) else { return Err(no_subset(hub).into()) };
    let mut identity = identity_of(&subsets);
    if let Some(labels) = &mut source.labels {
        identity.labels = Some(pin_file(&mut labels.file)?);
    }
    identity.hub_id = Some(first.name.clone());
    identity.commit = Some(first.commit.clone());
    // Media are next to the file that names them; their path on this machine is not shown.
    let file = first.files.first();
    let shown_folder = match file.and_then(|file| file.path.rsplit_once('/')) {
        Some((folder, _)) => format!("{}/{folder}", first.name),
        None => first.name.clone(),
    };
    let folder = (folder_of(file.map(|file| file.local.as_path())).0, shown_folder);
    let root = file.and_then(|file| file.local.ancestors().nth(file.path.split('/').count()));
    let beside = match root {
        Some(root) => Some((Arc::new(LazyHubFiles::of(&wanted, first)?), root.to_owned())),
        None => None,
    };
    let shown = format!("{} at {}", hub.shown(), first.commit);
    Ok(LocatedFiles { shown, identity, source, folder, beside })
}

/// Fetches the files of each subset. All are of one commit, even if the revision moves meanwhile.
fn fetch_subsets(
    spec: &DatasetSpec,
    hub: &HubSpec,
    wanted: &HubSource,
    options: &LocateOptions<'_>,
) -> Result<Vec<FetchedSubset>, HubError> {
    let pool_split = spec.few_shot.as_ref().and_then(|few_shot| match &few_shot.pool {
        PoolSource::Split(split) => Some(split),
        PoolSource::Files(_) => None,
    });
    let mut revision = wanted.revision.clone();
    let mut fetched = Vec::new();
    for name in hub.subsets.names() {
        let of_split = |split: Option<String>, revision: &str| {
            let (subset, revision) = (name.map(str::to_owned), revision.to_owned());
            let source = HubSource { subset, split, revision, ..wanted.clone() };
            hub::fetch(&source, options.progress, options.is_cancelled)
        };
        let rows = of_split(wanted.split.clone(), &revision)?;
        revision.clone_from(&rows.commit);
        let pool = pool_split.map(|split| of_split(Some(split.clone()), &revision)).transpose()?;
        fetched.push(FetchedSubset { name: name.map(str::to_owned), rows, pool });
    }
    Ok(fetched)
}

/// Returns the source of the rows of all subsets, in order.
fn source_of(
    spec: &DatasetSpec,
    hub: &HubSpec,
    subsets: &[FetchedSubset],
    options: &LocateOptions<'_>,
) -> Result<RowSource, LocateError> {
    let Some(first) = subsets.first() else { return Err(no_subset(hub).into()) };
    let format = format_of(&first.rows, hub)?;
    let is_pinned = options.with_digests || spec.sha256.is_some();
    let (mut files, mut named, mut pools) = (Vec::new(), Vec::new(), Vec::new());
    for FetchedSubset { name, rows, pool } in subsets {
        if format_of(rows, hub)? != format {
            let shown = name.as_deref().unwrap_or_default();
            let message = format!(
                "the files of the subset '{shown}' are {}, and those before are {}; read them as two datasets",
                rows.format.name(),
                first.rows.format.name()
            );
            return Err(HubError::Choice { key: "subset", message }.into());
        }
        let of_rows = data_files(rows, is_pinned)?;
        if let (HubSubsets::List(_), Some(name)) = (&hub.subsets, name) {
            named.push(SubsetFiles { name: name.clone(), files: of_rows.len() });
        }
        files.extend(of_rows);
        if let Some(pool) = pool {
            let of_pool = spec.few_shot.as_ref().is_some_and(|few_shot| few_shot.sha256.is_some());
            pools.push(PoolFiles {
                files: data_files(pool, is_pinned || of_pool)?,
                format: format_of(pool, hub)?,
                is_of_rows: pool.files == rows.files,
            });
        }
    }
    let few_shot = few_shot_of(spec, pools);
    Ok(RowSource { labels: labels_of(spec), subsets: named, few_shot, ..RowSource::new(format, files) })
}

/// Returns the identity of the rows and the examples of all subsets.
fn identity_of(subsets: &[FetchedSubset]) -> DatasetIdentity {
    let rows: Vec<&hub::HubFile> = subsets.iter().flat_map(|subset| &subset.rows.files).collect();
    let identity = of_files(rows.iter().map(|file| (file.path.as_str(), file.digest, file.bytes)));
    let pools = subsets.iter().filter_map(|subset| subset.pool.as_ref()).flat_map(|pool| &pool.files);
    let digests: Vec<FileDigest> =
        pools.map(|file| FileDigest { digest: file.digest, bytes: file.bytes }).collect();
    let few_shot = (!digests.is_empty()).then(|| joint_digest(digests));
    DatasetIdentity { few_shot, ..identity }
}

/// Returns the files of a dataset, pinned to their content if that is wanted. They still have the digests then that they
/// were fetched with. The cache itself compares only size and time.
fn data_files(fetched: &HubDataset, is_pinned: bool) -> Result<Vec<DataFile>, LocateError> {
    let file = |file: &hub::HubFile| {
        let shown = format!("{}/{}", fetched.name, file.path);
        let mut local = DataFile::shown_as(file.local.clone(), shown);
        if is_pinned {
            let (found, _) = local.pin().map_err(|error| DataError::unreadable(&local, error))?;
            if found != file.digest {
                return Err(LocateError::Changed {
                    shown: local.shown.clone(),
                    file: local.path.clone(),
                    found: found.to_string(),
                    fetched: file.digest.to_string(),
                });
            }
        }
        Ok(local)
    };
    fetched.files.iter().map(file).collect()
}

fn format_of(fetched: &HubDataset, hub: &HubSpec) -> Result<FileFormat, HubError> {
    match fetched.format {
        HubFormat::Jsonl => Ok(FileFormat::Jsonl),
        HubFormat::Json => Ok(FileFormat::Json),
        HubFormat::Csv => Ok(FileFormat::Csv),
        HubFormat::Tsv => Ok(FileFormat::Tsv),
        HubFormat::Parquet => Ok(FileFormat::Parquet),
        HubFormat::Gguf => {
            let message = format!("'{}' has models, and no rows", hub.hub_id);
            Err(HubError::Choice { key: "hub_id", message })
        }
    }
}

fn no_subset(hub: &HubSpec) -> HubError {
    HubError::Choice { key: "subset", message: format!("no subset of '{}' is named", hub.hub_id) }
}
