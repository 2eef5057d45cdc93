//! Random words, so that rows have as much to compress as real ones.

/// Words in a fixed random order.
pub(crate) struct Words(u64);

impl Words {
    /// Starts at the first word.
    pub(crate) fn new() -> Words {
        Words(1)
    }

    /// Returns the next words as one text.
    pub(crate) fn text(&mut self, count: usize) -> String {
        const BEGINS: [&str; 16] = [
            "ba", "cor", "del", "fen", "gar", "hol", "jun", "kel", "lum", "mar", "nor", "pil", "ras", "sen",
            "tor", "vel",
        ];
        const ENDS: [&str; 16] = [
            "an", "ber", "dal", "et", "fin", "gor", "is", "kum", "len", "mas", "nit", "or", "pex", "ral",
            "sum", "ty",
        ];
        let mut next = || {
            // From Knuth, The Art of Computer Programming, volume 2, section 3.3.4.
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0 >> 40
        };
        let mut word = || {
            let number = next() as usize;
            format!("{}{}", BEGINS[number % 16], ENDS[number / 16 % 16])
        };
        (0..count).map(|_| word()).collect::<Vec<_>>().join(" ")
    }
}
