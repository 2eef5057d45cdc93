//! Images: from the bytes of a file to cells of a sequence, through llama.cpp's `mtmd`.
//!
//! Among the tokens of a prompt, each position of an image holds the image's own number, which is negative and so never
//! a valid token. Common prefixes can thus be found by comparing tokens, and prompts with different images never share
//! them.

mod picture;

use crate::captured_log::captured;
use crate::load_error::LoadError;
use crate::runtime::internal;
use gage_core::Digest;
use gage_model_protocol::gguf::Gguf;
use gage_model_protocol::memory_estimate::available;
use gage_model_protocol::{JobError, ModelOptions};
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::mtmd::{
    MtmdBitmap, MtmdContext, MtmdContextParams, MtmdInputChunk, MtmdInputChunkType, MtmdInputChunks,
    MtmdInputText, mtmd_default_marker,
};
use llama_cpp_2::token::LlamaToken;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::Range;
use std::path::Path;

/// Maximum number of images whose numbers are remembered, so that prompts with the same images can share them.
const MAX_CACHED_IMAGES: usize = 1024;

/// Number of the first image. llama.cpp uses -1 for "no token".
const FIRST_NUMBER: i32 = -2;

/// Width and height of the image used to find the maximum number of tokens per image, if that must be known.
const PROBE_SIDE: u32 = 2048;

/// Projectors whose image tokens depend on the position in the prompt, which is unsupported: images are prepared
/// separately.
const BY_PLACE: [&str; 2] = ["deepseek4v", "hunyuanvl"];

/// Facts about an image that has been prepared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageFacts {
    /// Number that represents it among tokens, unique to each image.
    pub number: i32,
    /// Number of positions that it takes.
    pub positions: usize,
    /// Number of cells that it takes; more than positions if its positions are two-dimensional.
    pub tokens: usize,
}

/// An image in a prompt.
pub struct ImageTokens {
    /// Facts about it.
    pub facts: ImageFacts,
    /// Position where it begins.
    pub start: usize,
    /// Contents of the file.
    pub bytes: Vec<u8>,
}

impl ImageTokens {
    /// Returns the positions that it takes.
    pub fn span(&self) -> Range<usize> {
        self.start..self.start + self.facts.positions
    }
}

/// Returns the number of cells that images take beyond their positions.
pub fn further_cells<'i>(images: impl IntoIterator<Item = &'i ImageTokens>) -> usize {
    images.into_iter().map(|image| image.facts.tokens.saturating_sub(image.facts.positions)).sum()
}

/// Locates images in the tokens of a prompt that contains them in this order.
pub fn placed(tokens: &[LlamaToken], facts: Vec<ImageFacts>, files: Vec<Vec<u8>>) -> Vec<ImageTokens> {
    let mut from = 0;
    let mut found = Vec::with_capacity(facts.len());
    for (facts, bytes) in facts.into_iter().zip(files) {
        let start = tokens.iter().skip(from).position(|token| token.0 == facts.number);
        let start = from + start.unwrap_or(0);
        from = start + facts.positions;
        found.push(ImageTokens { facts, start, bytes });
    }
    found
}

/// Turns images into tokens for a model.
pub struct Vision<'m> {
    context: MtmdContext,
    /// Maximum number of tokens of a call.
    most_at_once: usize,
    /// True if the tokens of an image attend to one another, so that they must be computed in one call.
    is_whole: bool,
    known: VecDeque<(Digest, ImageFacts)>,
    next_number: i32,
    /// Image that was prepared last.
    last: Option<(i32, MtmdInputChunks)>,
    /// `mtmd` keeps pointers into the model.
    model: PhantomData<&'m LlamaModel>,
}

impl<'m> Vision<'m> {
    /// Loads the `mmproj` file, if the options name one.
    ///
    /// # Errors
    /// If the file is something else, or made for another model.
    pub fn open(
        model: &'m LlamaModel,
        options: &ModelOptions,
        threads: i32,
    ) -> Result<Option<Vision<'m>>, LoadError> {
        let Some(path) = &options.mmproj else { return Ok(None) };
        check_file(path)?;
        let refused = |reason: String| LoadError::Load { path: path.clone(), reason };
        let name = path.to_str().ok_or_else(|| refused("its path is not UTF-8".to_owned()))?;
        let most = options.image_max_tokens.and_then(|most| i32::try_from(most).ok());
        let params = MtmdContextParams {
            use_gpu: options.gpu_layers.is_some_and(|layers| layers > 0),
            print_timings: false,
            n_threads: threads,
            image_max_tokens: most.unwrap_or(-1),
            ..MtmdContextParams::default()
        };
        let (made, log) = captured(|| MtmdContext::init_from_file(name, model, &params));
        let context = made.map_err(|error| {
            // The last lines only repeat that loading failed.
            let reason = log.into_iter().find(|line| !line.trim().is_empty());
            let reason = reason.unwrap_or_else(|| error.to_string());
            let help = match reason.contains("unknown projector type") {
                true => "this build of llama.cpp is older than the file",
                false => "`mmproj` must be made for this model",
            };
            refused(format!("{reason}; {help}"))
        })?;
        if !context.support_vision() {
            return Err(refused("it does not accept images".to_owned()));
        }
        let mut vision = Vision {
            is_whole: context.decode_use_non_causal(),
            context,
            most_at_once: usize::MAX,
            known: VecDeque::new(),
            next_number: FIRST_NUMBER,
            last: None,
            model: PhantomData,
        };
        if vision.is_whole {
            let pixels = vec![0; picture::rgb_bytes(PROBE_SIDE, PROBE_SIDE)];
            let chunks = vision.chunks(PROBE_SIDE, PROBE_SIDE, &pixels).map_err(refused)?;
            vision.most_at_once = largest(&chunks);
        }
        Ok(Some(vision))
    }

    /// Returns the number of tokens that a call of the model must at least be able to take.
    pub fn needed_call(&self) -> usize {
        if self.is_whole { self.most_at_once } else { 0 }
    }

    /// Sets the number of tokens that a call can take.
    pub fn set_call(&mut self, tokens: usize) {
        self.most_at_once = tokens;
    }

    /// Decodes and prepares an image, unless its facts are already known.
    ///
    /// # Errors
    /// If it cannot be decoded, or has more tokens than can be computed.
    pub fn image_facts(&mut self, bytes: &[u8]) -> Result<ImageFacts, String> {
        let digest = Digest::of_bytes(bytes);
        if let Some((_, facts)) = self.known.iter().find(|(known, _)| *known == digest) {
            return Ok(*facts);
        }
        let chunks = self.prepare(bytes)?;
        let most = largest(&chunks);
        if self.is_whole && most > self.most_at_once {
            return Err(format!(
                "it has {most} tokens, which have to be computed in one call of at most {}; lower \
                 `image_max_tokens`",
                self.most_at_once
            ));
        }
        let facts = ImageFacts {
            number: self.next_number,
            positions: usize::try_from(chunks.total_positions()).unwrap_or(0),
            tokens: chunks.total_tokens(),
        };
        if facts.positions == 0 || facts.tokens == 0 {
            return Err("it has no tokens".to_owned());
        }
        self.next_number = self.next_number.checked_sub(1).ok_or("there were too many images before it")?;
        if self.known.len() >= MAX_CACHED_IMAGES {
            self.known.pop_front();
        }
        self.known.push_back((digest, facts));
        self.last = Some((facts.number, chunks));
        Ok(facts)
    }

    /// Computes an image after the current contents of its sequence.
    ///
    /// # Errors
    /// If `mtmd` or the model fails.
    pub fn compute(
        &mut self,
        image: &ImageTokens,
        context: &mut LlamaContext<'_>,
        sequence: i32,
    ) -> Result<(), JobError> {
        let chunks = match self.last.take() {
            Some((number, chunks)) if number == image.facts.number => chunks,
            _ => self.prepare(&image.bytes).map_err(internal)?,
        };
        let start = i32::try_from(image.start).map_err(|_| internal("a position beyond all contexts"))?;
        let most = i32::try_from(self.most_at_once).unwrap_or(i32::MAX);
        let end = chunks
            .eval_chunks(&mut self.context, context, start, sequence, most, false)
            .map_err(|error| internal(format!("llama.cpp failed to compute an image: {error}")))?;
        if usize::try_from(end) != Ok(image.span().end) {
            return Err(internal(format!(
                "an image ends at the position {end}, not at {}",
                image.span().end
            )));
        }
        self.last = Some((image.facts.number, chunks));
        Ok(())
    }

    fn prepare(&self, bytes: &[u8]) -> Result<MtmdInputChunks, String> {
        let picture = picture::decode(bytes)?;
        self.chunks(picture.width(), picture.height(), picture.as_raw())
    }

    /// Splits an image into chunks to compute, including the tokens that the model requires around it.
    fn chunks(&self, width: u32, height: u32, pixels: &[u8]) -> Result<MtmdInputChunks, String> {
        let bitmap = MtmdBitmap::from_image_data(width, height, pixels).map_err(|error| error.to_string())?;
        let text =
            MtmdInputText { text: mtmd_default_marker().to_owned(), add_special: false, parse_special: true };
        self.context
            .tokenize(text, &[&bitmap])
            .map_err(|error| format!("llama.cpp cannot prepare its {width} x {height} pixels: {error}"))
    }
}

/// Returns the number of tokens in the largest part of an image that is computed at once.
fn largest(chunks: &MtmdInputChunks) -> usize {
    let parts = (0..chunks.len()).filter_map(|index| chunks.get(index));
    let images = parts.filter(|part| part.chunk_type() != MtmdInputChunkType::Text);
    images.map(|part: MtmdInputChunk<'_>| part.n_tokens()).max().unwrap_or(0)
}

/// Returns the name of the projector given by its file.
///
/// # Errors
/// If the file cannot be read.
pub fn projector_of(path: &Path) -> Result<String, LoadError> {
    let gguf = Gguf::read(path)?;
    Ok(kind_of(&gguf).unwrap_or("not said").to_owned())
}

fn kind_of(gguf: &Gguf) -> Option<&str> {
    gguf.text("clip.projector_type").or_else(|| gguf.text("clip.vision.projector_type"))
}

/// Checks that a file can be a projector, as far as its metadata shows.
fn check_file(path: &Path) -> Result<(), LoadError> {
    let gguf = Gguf::read(path)?;
    let wrong = |message: String| LoadError::Setting(format!("mmproj: {} {message}", path.display()));
    if gguf.architecture() != Some("clip") {
        let found = gguf.architecture().unwrap_or("nothing");
        let help = "name the file that was published with the model, often called mmproj-….gguf";
        return Err(wrong(format!(
            "says that it is `{found}`, not `clip`, so it is not an image projector; {help}"
        )));
    }
    if gguf.metadata.get("clip.has_vision_encoder").and_then(serde_json::Value::as_bool) != Some(true) {
        return Err(wrong("has no `clip.has_vision_encoder`: it does not accept images".to_owned()));
    }
    if let Some(kind) = kind_of(&gguf).filter(|kind| BY_PLACE.contains(kind)) {
        let reason = "its image tokens depend on their position in the prompt, which is not supported";
        return Err(wrong(format!("is of the kind `{kind}`: {reason}; use a server")));
    }
    match available() {
        Some(available) if gguf.tensor_bytes() > available => Err(LoadError::Memory(format!(
            "{} needs {} MiB and {} MiB are free",
            path.display(),
            gguf.tensor_bytes() >> 20,
            available >> 20
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_found_where_their_numbers_stand() {
        let one = ImageFacts { number: -2, positions: 2, tokens: 6 };
        let two = ImageFacts { number: -3, positions: 1, tokens: 1 };
        let tokens: Vec<LlamaToken> = [5, -2, -2, -2, -2, -3, 7].map(LlamaToken::new).to_vec();
        let placed = placed(&tokens, vec![one, one, two], vec![Vec::new(); 3]);
        let spans: Vec<Range<usize>> = placed.iter().map(ImageTokens::span).collect();
        assert_eq!(spans, [1..3, 3..5, 5..6]);
        assert_eq!(further_cells(&placed), 8);
    }
}
