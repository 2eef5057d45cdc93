//! Names of quantizations: the storage type of most tensors of a file.

/// Names by number (`LLAMA_FTYPE_*`); empty for numbers that llama.cpp has dropped.
const NAMES: [&str; 39] = [
    "F32", "F16", "Q4_0", "Q4_1", "", "", "", "Q8_0", "Q5_0", "Q5_1", "Q2_K", "Q3_K_S", "Q3_K_M", "Q3_K_L",
    "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K", "IQ2_XXS", "IQ2_XS", "Q2_K_S", "IQ3_XS", "IQ3_XXS",
    "IQ1_S", "IQ4_NL", "IQ3_S", "IQ3_M", "IQ2_S", "IQ2_M", "IQ4_XS", "IQ1_M", "BF16", "", "", "", "TQ1_0",
    "TQ2_0", "MXFP4",
];

/// Returns the name of a GGUF `general.file_type`.
pub fn name(number: u64) -> String {
    let name = usize::try_from(number).ok().and_then(|number| NAMES.get(number));
    match name {
        Some(name) if !name.is_empty() => (*name).to_owned(),
        _ => format!("file type {number}"),
    }
}
