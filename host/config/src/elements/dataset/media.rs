//! Settings of the media of Samples.

use super::chain::PreprocessSpec;
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::resources::ResourceKind;
use crate::source::expand_home;
use std::path::PathBuf;

/// Location of media, and how they are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSpec {
    /// Base folder of relative paths, which media must not leave; default the folder of the dataset's file.
    pub content_root: Option<PathBuf>,
    /// Additional folders that media may be read from.
    pub allowed_roots: Vec<PathBuf>,
    /// True if Samples hold local media as `data:` URLs, rather than as paths; default false. Requests always hold
    /// them as such URLs.
    pub embed_local_media: bool,
    /// Images of fewer pixels are enlarged; default: they are sent as they are.
    pub min_pixels: Option<u64>,
    /// Images of more pixels are shrunk; default: they are sent as they are.
    pub max_pixels: Option<u64>,
    /// Heights and widths are rounded to multiples of this; default: they stay as they are.
    pub factor: Option<u32>,
    /// Images of more pixels are rejected without decoding them; default 64 × 2^20.
    pub most_pixels: u64,
    /// Larger files are rejected, in MiB; default 64.
    pub most_mib: u64,
}

/// Returns the content root from the preprocessors' parameters; the last one wins.
pub(super) fn root_of(preprocess: &[PreprocessSpec]) -> Option<&Node> {
    preprocess.iter().rev().find_map(|link| link.kwargs.as_ref()?.get("content_root"))
}

impl MediaSpec {
    /// Reads the keys of a dataset. `content_root` may also be a parameter of a preprocessor.
    pub(super) fn read(
        table: &mut MappingReader<'_>,
        content_root: Option<PathBuf>,
        preprocess: &[PreprocessSpec],
        problems: &mut Problems,
    ) -> MediaSpec {
        let content_root = content_root.or_else(|| {
            let node = root_of(preprocess)?;
            let root = expand_home(node.as_text()?);
            let kind = ResourceKind::File(root.clone());
            problems.add_resource(node.span, &table.path_of("content_root"), kind);
            Some(root)
        });
        let embed_local_media = table.boolean("embed_local_media", problems).unwrap_or(false);
        let node = table.free_map("media", problems);
        let mut media = table.section(node, "media", problems);
        let roots = media.texts("allowed_roots", problems).unwrap_or_default();
        let allowed_roots: Vec<PathBuf> = roots.iter().map(|root| expand_home(root)).collect();
        allowed_roots.iter().for_each(|root| media.uses_file("allowed_roots", root, problems));
        let spec = MediaSpec {
            content_root,
            allowed_roots,
            embed_local_media,
            min_pixels: media.integer("min_pixels", 1..=1 << 30, problems),
            max_pixels: media.integer("max_pixels", 1..=1 << 30, problems),
            factor: media.number("factor", 1..=1024, problems),
            most_pixels: media.integer("most_pixels", 1..=1 << 30, problems).unwrap_or(64 << 20),
            most_mib: media.integer("most_mib", 1..=1 << 20, problems).unwrap_or(64),
        };
        if let (Some(least), Some(most)) = (spec.min_pixels, spec.max_pixels)
            && least > most
        {
            let message = format!("`min_pixels` ({least}) is above `max_pixels` ({most})");
            media.error("min_pixels", message, problems);
        }
        media.finish(problems);
        spec
    }
}
