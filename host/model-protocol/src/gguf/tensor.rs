//! Tensors of a file and their storage types.

/// Storage type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorType {
    /// Number of the type in files.
    pub number: u32,
}

/// Number, name, elements per block, bytes per block.
const TYPES: [(u32, &str, u64, u64); 32] = [
    (0, "F32", 1, 4),
    (1, "F16", 1, 2),
    (2, "Q4_0", 32, 18),
    (3, "Q4_1", 32, 20),
    (6, "Q5_0", 32, 22),
    (7, "Q5_1", 32, 24),
    (8, "Q8_0", 32, 34),
    (9, "Q8_1", 32, 36),
    (10, "Q2_K", 256, 84),
    (11, "Q3_K", 256, 110),
    (12, "Q4_K", 256, 144),
    (13, "Q5_K", 256, 176),
    (14, "Q6_K", 256, 210),
    (15, "Q8_K", 256, 292),
    (16, "IQ2_XXS", 256, 66),
    (17, "IQ2_XS", 256, 74),
    (18, "IQ3_XXS", 256, 98),
    (19, "IQ1_S", 256, 50),
    (20, "IQ4_NL", 32, 18),
    (21, "IQ3_S", 256, 110),
    (22, "IQ2_S", 256, 82),
    (23, "IQ4_XS", 256, 136),
    (24, "I8", 1, 1),
    (25, "I16", 1, 2),
    (26, "I32", 1, 4),
    (27, "I64", 1, 8),
    (28, "F64", 1, 8),
    (29, "IQ1_M", 256, 56),
    (30, "BF16", 1, 2),
    (34, "TQ1_0", 256, 54),
    (35, "TQ2_0", 256, 66),
    (39, "MXFP4", 32, 17),
];

impl TensorType {
    fn entry(self) -> Option<(&'static str, u64, u64)> {
        let found = TYPES.iter().find(|(number, ..)| *number == self.number);
        found.map(|(_, name, elements, bytes)| (*name, *elements, *bytes))
    }

    /// Returns the name, such as `Q4_K`.
    pub fn name(self) -> &'static str {
        self.entry().map_or("a newer type", |(name, ..)| name)
    }

    /// Returns the size in bytes of `elements` numbers in rows of `row`, or `None` if the type is unknown.
    pub fn bytes(self, elements: u64, row: u64) -> Option<u64> {
        let (_, block, bytes) = self.entry()?;
        if !row.is_multiple_of(block) {
            return None;
        }
        (elements / block).checked_mul(bytes)
    }
}

/// A tensor's name, shape and location.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Name, such as `blk.0.attn_q.weight`.
    pub name: String,
    /// Lengths of the dimensions, innermost first.
    pub shape: Vec<u64>,
    /// Storage type of the elements.
    pub kind: TensorType,
    /// Start of the data, relative to the end of the tensor descriptions.
    pub offset: u64,
}

impl Tensor {
    /// Returns the number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().fold(1, |product, side| u64::saturating_mul(product, *side))
    }

    /// Returns the size in bytes, or `None` if the type is unknown.
    pub fn bytes(&self) -> Option<u64> {
        self.kind.bytes(self.elements(), self.shape.first().copied().unwrap_or(1))
    }
}
