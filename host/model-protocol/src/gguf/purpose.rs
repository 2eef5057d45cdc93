//! Purpose of a model file, by its metadata.
//!
//! llama.cpp loads encoders and diffusion models like any other model, and returns numbers for any request. The lists
//! of architectures come from the llama.cpp sources of the version that the workspace pins
//! ([`BuildInfo::llama_cpp_sys_2`](crate::BuildInfo::llama_cpp_sys_2)). They record which graphs compute no logits, and
//! which set `causal_attn` to false. For all other architectures, the file states whether tokens attend to later ones
//! (`<architecture>.attention.causal`).

use super::Gguf;
use serde_json::Value;
use std::path::Path;
use strum::{EnumMessage, EnumProperty, IntoStaticStr};

/// Pooling type of rerankers: llama.cpp's `LLAMA_POOLING_TYPE_RANK`.
const RANK_POOLING: u64 = 4;

/// Architectures whose graph computes embeddings and no logits.
const ENCODERS: [&str; 11] = [
    "bert",
    "eurobert",
    "gemma-embedding",
    "jina-bert-v2",
    "jina-bert-v3",
    "llama-embed",
    "modern-bert",
    "neo-bert",
    "nomic-bert",
    "nomic-bert-moe",
    "t5encoder",
];

/// Architectures whose tokens attend to later ones regardless of the file, and that fill in text all at once.
const DIFFUSION: [&str; 4] = ["dream", "llada", "llada-moe", "rnd1"];

/// Architectures that only output scores.
const RANKERS: [&str; 1] = ["clef"];

/// Encoder-decoder architectures.
const TWO_HALVES: [&str; 1] = ["t5"];

/// Architectures that predict another model's answer from what that model computes.
const DRAFTERS: [&str; 3] = ["dflash", "eagle3", "gemma4-assistant"];

/// Architectures that generate sound.
const SPEECH: [&str; 3] = ["pockettts", "qwen3tts", "wavtokenizer-dec"];

/// Architecture of projectors, which turn images into tokens.
const PROJECTOR: &str = "clip";

/// All other architectures that llama.cpp knows. They predict the next token from the previous ones, unless the file
/// says otherwise.
const PREDICTORS: &str = "\
    afmoe apertus arcee arctic arwkv7 baichuan bailingmoe bailingmoe2 bailingmoe3 bitnet bloom chameleon \
    chatglm codeshell cogvlm cohere2 cohere2moe command-r dbrx deci deepseek deepseek2 deepseek2-ocr \
    deepseek32 deepseek4 dots1 dots3note ernie4_5 ernie4_5-moe exaone exaone-moe exaone4 falcon falcon-h1 \
    gemma gemma2 gemma3 gemma3n gemma4 glm-dsa glm4 glm4moe glm5-next gpt-oss gpt2 gptj gptneox granite \
    granite_swa granitehybrid granitemoe graniteswitch grok grovemoe hrm_text hunyuan-dense hunyuan-moe \
    hunyuan_vl hy_v3 hy_v4 internlm2 jais jais2 jamba kimi-k3 kimi-linear laguna lfm2 lfm2moe llama llama4 \
    maincoder mamba mamba2 maple mellum mimo2 minicpm minicpm3 minimax-01 minimax-m2 minimax-m3 mistral3 \
    mistral4 mpt muse-glimmer nanbeige nemotron nemotron_h nemotron_h_moe olmo olmo2 olmoe openelm orion \
    paddleocr pangu-embedded phi2 phi3 phimoe plamo plamo2 plamo3 plm qwen qwen2 qwen2moe qwen2vl qwen3 \
    qwen35 qwen35moe qwen3moe qwen3next qwen3vl qwen3vlmoe qwen4exp refact rwkv6 rwkv6qwen2 rwkv7 seed_oss \
    smallthinker smollm3 spark2_5 stablelm starcoder starcoder2 step35 talkie xverse";

/// Purpose of a model file.
///
/// The message says what such a file does instead of answering. The remedy says what to do if it is named as a model
/// and cannot be loaded as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumMessage, EnumProperty, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Purpose {
    /// Language model: predicts the next token.
    Model,
    /// Embedding model: turns texts into vectors and predicts no tokens.
    #[strum(message = "is an embedding model, which gives no answers: use it as a helper model for `embed`")]
    Encoder,
    /// Diffusion model: fills in whole texts at once and does not predict the next token.
    #[strum(message = "is a diffusion model, which does not predict the next token")]
    Diffusion,
    /// Reranker: gives texts a rank, and no vectors.
    #[strum(message = "is a reranker: it gives texts a rank, and no vectors")]
    Reranker,
    /// Encoder-decoder model: reads with one half and answers with the other.
    #[strum(
        serialize = "encoder_decoder",
        message = "is an encoder-decoder model",
        props(remedy = "name a decoder-only model, the only kind that this program runs")
    )]
    TwoHalves,
    /// Draft model: guesses what another model will answer.
    #[strum(
        message = "is a draft model, which guesses the answers of another model",
        props(remedy = "name the model that it is made for")
    )]
    Drafter,
    /// Speech model: generates sound.
    #[strum(message = "makes sound, not text", props(remedy = "name a language model"))]
    Speech,
    /// LoRA adapter: applied on top of a model.
    #[strum(
        message = "is a LoRA adapter, not a model",
        props(remedy = "name it as `lora: {path: …}`, and the model that it is made for as `model_path`")
    )]
    Adapter,
    /// Projector: turns images into tokens for a model.
    #[strum(
        message = "is an image projector, not a model",
        props(remedy = "name it as `mmproj`, and the model as `model_path`")
    )]
    Projector,
}

impl Purpose {
    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns what such a file does instead of answering, as the end of a sentence that begins with the file name.
    ///
    /// `None` for a language model.
    pub fn limits(self) -> Option<&'static str> {
        self.get_message()
    }

    /// Returns true if such a file can turn texts into vectors.
    pub fn makes_vectors(self) -> bool {
        matches!(self, Purpose::Model | Purpose::Encoder | Purpose::Diffusion)
    }
}

impl Gguf {
    /// Returns the purpose of the file.
    pub fn purpose(&self) -> Purpose {
        if self.text("general.type") == Some("adapter") {
            return Purpose::Adapter;
        }
        match (self.of_architecture_itself(), self.of_architecture("pooling_type")) {
            (Purpose::Model | Purpose::Encoder, Some(RANK_POOLING)) => Purpose::Reranker,
            (purpose, _) => purpose,
        }
    }

    /// Returns true if the model predicts the next token from the previous ones, so that it can generate and compute
    /// likelihoods.
    pub fn predicts(&self) -> bool {
        self.purpose() != Purpose::Adapter && self.of_architecture_itself() == Purpose::Model
    }

    /// Returns the purpose of the file's architecture, taking into account whether its tokens attend to later ones.
    fn of_architecture_itself(&self) -> Purpose {
        let Some(name) = self.architecture() else { return Purpose::Model };
        let sees_all = self.metadata.get(&format!("{name}.attention.causal")) == Some(&Value::Bool(false));
        match purpose_of(name) {
            None | Some(Purpose::Model) if sees_all => Purpose::Encoder,
            purpose => purpose.unwrap_or(Purpose::Model),
        }
    }

    /// Returns why a file with another purpose cannot be loaded as a model, and what to do instead.
    ///
    /// `path` is the file's name in the message.
    pub fn no_model(&self, path: &Path) -> Option<String> {
        let purpose = self.purpose();
        let remedy = purpose.get_str("remedy")?;
        Some(format!("{} {}; {remedy}", path.display(), purpose.limits().unwrap_or_default()))
    }

    /// Returns why llama.cpp will refuse the file, if it does not know its architecture.
    pub fn unknown_architecture(&self, path: &Path) -> Option<String> {
        let Some(name) = self.architecture() else {
            return Some(format!(
                "the model file {} names no architecture (`general.architecture`); it is not a model, or was \
                 converted incorrectly",
                path.display()
            ));
        };
        purpose_of(name).is_none().then(|| {
            format!(
                "llama.cpp cannot load the model file {}: unknown model architecture: '{name}'; this build of llama.cpp \
                 is older than the model, or the file is not a language model",
                path.display()
            )
        })
    }
}

/// Returns the purpose of an architecture, or `None` if llama.cpp does not know it.
fn purpose_of(architecture: &str) -> Option<Purpose> {
    let kinds: [(&[&str], Purpose); 7] = [
        (&ENCODERS, Purpose::Encoder),
        (&DIFFUSION, Purpose::Diffusion),
        (&RANKERS, Purpose::Reranker),
        (&TWO_HALVES, Purpose::TwoHalves),
        (&DRAFTERS, Purpose::Drafter),
        (&SPEECH, Purpose::Speech),
        (&[PROJECTOR], Purpose::Projector),
    ];
    let listed = kinds.iter().find(|(names, _)| names.contains(&architecture)).map(|(_, purpose)| *purpose);
    let predicts = || PREDICTORS.split_whitespace().any(|name| name == architecture);
    listed.or_else(|| predicts().then_some(Purpose::Model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn file(architecture: &str, keys: &[(&str, Value)]) -> Gguf {
        let mut metadata = BTreeMap::from([("general.architecture".to_owned(), json!(architecture))]);
        for (key, value) in keys {
            metadata.insert(key.replace('*', architecture), value.clone());
        }
        Gguf { version: 3, file_bytes: 0, metadata, tensors: Vec::new() }
    }

    #[test]
    fn only_models_that_predict_tokens_give_likelihoods() {
        let causal = |flag: bool| ("*.attention.causal", json!(flag));
        let ranks = || ("*.pooling_type", json!(4));
        for (architecture, keys, purpose, predicts, vectors) in [
            ("llama", vec![], Purpose::Model, true, true),
            ("llama", vec![causal(true)], Purpose::Model, true, true),
            ("llama", vec![causal(false)], Purpose::Encoder, false, true),
            ("qwen3", vec![ranks()], Purpose::Reranker, true, false),
            ("qwen3", vec![ranks(), causal(false)], Purpose::Reranker, false, false),
            ("bert", vec![], Purpose::Encoder, false, true),
            // Metadata cannot give an encoder logits.
            ("bert", vec![causal(true)], Purpose::Encoder, false, true),
            ("gemma-embedding", vec![], Purpose::Encoder, false, true),
            ("llama-embed", vec![], Purpose::Encoder, false, true),
            ("bert", vec![ranks()], Purpose::Reranker, false, false),
            ("llada", vec![causal(true)], Purpose::Diffusion, false, true),
            ("llada-moe", vec![], Purpose::Diffusion, false, true),
            ("dream", vec![], Purpose::Diffusion, false, true),
            ("rnd1", vec![], Purpose::Diffusion, false, true),
            ("clef", vec![], Purpose::Reranker, false, false),
            ("t5", vec![], Purpose::TwoHalves, false, false),
            ("eagle3", vec![], Purpose::Drafter, false, false),
            ("qwen3tts", vec![], Purpose::Speech, false, false),
            ("clip", vec![], Purpose::Projector, false, false),
            ("llama", vec![("general.type", json!("adapter"))], Purpose::Adapter, false, false),
        ] {
            let gguf = file(architecture, &keys);
            let found = (gguf.purpose(), gguf.predicts(), gguf.purpose().makes_vectors());
            assert_eq!(found, (purpose, predicts, vectors), "{architecture} {keys:?}");
        }
    }

    #[test]
    fn what_is_no_model_is_told_with_what_to_do() {
        let path = Path::new("x.gguf");
        for (architecture, keys, expected) in [
            ("llama", vec![("general.type", json!("adapter"))], "name it as `lora: {path: …}`"),
            ("clip", vec![], "name it as `mmproj`, and the model as `model_path`"),
            ("t5", vec![], "an encoder-decoder model"),
            ("dflash", vec![], "name the model that it is made for"),
            ("pockettts", vec![], "makes sound, not text"),
        ] {
            let told = file(architecture, &keys).no_model(path).expect("no model");
            assert!(told.starts_with("x.gguf ") && told.contains(expected), "{told}");
        }
        for architecture in ["llama", "bert", "llada", "clef"] {
            assert_eq!(file(architecture, &[]).no_model(path), None, "{architecture}");
        }
    }

    #[test]
    fn what_llama_cpp_does_not_know_is_told_before_it_is_asked() {
        let path = Path::new("x.gguf");
        for known in ["llama", "gemma3", "qwen3vl", "bert", "dream", "clip"] {
            assert_eq!(file(known, &[]).unknown_architecture(path), None, "{known}");
        }
        let told = file("lhama", &[]).unknown_architecture(path).expect("unknown");
        assert!(told.contains("unknown model architecture: 'lhama'"), "{told}");
        // Non-causal attention does not make an unknown architecture known.
        assert!(file("lhama", &[("*.attention.causal", json!(false))]).unknown_architecture(path).is_some());
        let told = file("", &[]).unknown_architecture(path).expect("none");
        assert!(told.contains("names no architecture"), "{told}");
    }
}
