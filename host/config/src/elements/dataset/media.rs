//! How media of Samples are found and made ready.

use super::chain::PreprocessSpec;
use super::source::{expand_home, read_path};
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use std::path::PathBuf;

/// Where media lie, and how they are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MediaSpec {
    /// The folder that relative paths begin at, and that none may leave; default the folder of the
    /// dataset's file.
    pub content_root: Option<PathBuf>,
    /// Further folders that media may be read from.
    pub allowed_roots: Vec<PathBuf>,
    /// Whether Samples hold local media as `data:` URLs, rather than their paths; requests hold them
    /// either way. Default no.
    pub embed_local_media: bool,
    /// Images of fewer pixels are made larger; default: they are sent as they are.
    pub min_pixels: Option<u64>,
    /// Images of more pixels are made smaller; default: they are sent as they are.
    pub max_pixels: Option<u64>,
    /// Heights and widths are made multiples of this; default: they stay as they are.
    pub factor: Option<u32>,
    /// Images of more pixels are refused, unseen; default 64 × 2^20.
    pub most_pixels: u64,
    /// Larger files are refused, in MiB; default 64.
    pub most_mib: u64,
}

/// The content root among the parameters of the preprocessors, of which the last counts.
pub(super) fn root_of(preprocess: &[PreprocessSpec]) -> Option<&Node> {
    preprocess.iter().rev().find_map(|link| link.kwargs.as_ref()?.get("content_root"))
}

impl MediaSpec {
    /// Reads the keys of a dataset. `content_root` may also stand among the parameters of a
    /// preprocessor.
    pub(super) fn read(
        table: &mut MappingReader<'_>,
        preprocess: &[PreprocessSpec],
        problems: &mut Problems,
    ) -> MediaSpec {
        let of_kwargs = || root_of(preprocess).and_then(Node::as_text).map(expand_home);
        let content_root = read_path(table, "content_root", problems).or_else(of_kwargs);
        let mut spec = MediaSpec {
            content_root,
            allowed_roots: Vec::new(),
            embed_local_media: table.boolean("embed_local_media", problems).unwrap_or(false),
            min_pixels: None,
            max_pixels: None,
            factor: None,
            most_pixels: 64 << 20,
            most_mib: 64,
        };
        let Some(node) = table.free_map("media", problems) else { return spec };
        let Some(mut media) = MappingReader::open(node, table.path_of("media"), problems) else {
            return spec;
        };
        let roots = media.texts("allowed_roots", problems).unwrap_or_default();
        spec.allowed_roots = roots.iter().map(|root| expand_home(root)).collect();
        spec.min_pixels = media.integer("min_pixels", 1..=1 << 30, problems);
        spec.max_pixels = media.integer("max_pixels", 1..=1 << 30, problems);
        spec.factor =
            media.integer("factor", 1..=1024, problems).and_then(|factor| u32::try_from(factor).ok());
        spec.most_pixels = media.integer("most_pixels", 1..=1 << 30, problems).unwrap_or(spec.most_pixels);
        spec.most_mib = media.integer("most_mib", 1..=1 << 20, problems).unwrap_or(spec.most_mib);
        if let (Some(least), Some(most)) = (spec.min_pixels, spec.max_pixels)
            && least > most
        {
            let message = format!("`min_pixels` ({least}) is above `max_pixels` ({most})");
            let span = media.get("min_pixels").map_or(node.span, |node| node.span);
            problems.error(span, &media.path_of("min_pixels"), message);
        }
        media.finish(problems);
        spec
    }
}
