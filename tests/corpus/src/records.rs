//! The records of `wit/` in their memory layout, with every part free to be wrong.

use crate::image::{Image, Span};

/// Bytes of one `result<score-card, plugin-error>`.
pub(crate) const CARD_RESULT: u32 = 64;
/// Bytes of one `result<outcome, plugin-error>` of a preprocessor.
pub(crate) const OUTCOME_RESULT: u32 = 32;
/// Bytes of one `result<generation, plugin-error>`.
pub(crate) const GENERATION_RESULT: u32 = 56;
/// Bytes of one `result<list<continuation-score>, plugin-error>`.
pub(crate) const SCORES_RESULT: u32 = 32;

/// Bytes of a record, filled in at offsets.
pub(crate) struct Bytes(Vec<u8>);

impl Bytes {
    pub(crate) fn new(size: u32) -> Bytes {
        Bytes(vec![0; size as usize])
    }

    pub(crate) fn put(mut self, offset: usize, bytes: &[u8]) -> Bytes {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    pub(crate) fn span(self, offset: usize, span: Span) -> Bytes {
        self.put(offset, &span.words())
    }

    pub(crate) fn number(self, offset: usize, number: f64) -> Bytes {
        self.put(offset, &number.to_le_bytes())
    }

    pub(crate) fn done(self) -> Vec<u8> {
        self.0
    }
}

/// `result<score-card, plugin-error>` in the case `ok`.
#[derive(Clone, Debug)]
pub(crate) struct Card {
    /// 0 is `ok`.
    pub(crate) case: u8,
    pub(crate) primary_score: (u8, f64),
    pub(crate) pass: (u8, u8),
    pub(crate) sub_scores: Span,
    pub(crate) error_tags: Span,
    pub(crate) explain: (u8, Span),
    pub(crate) detail: Span,
}

impl Card {
    /// Returns a card that scores 1 and has no other content.
    pub(crate) fn good(image: &mut Image) -> Card {
        Card {
            case: 0,
            primary_score: (1, 1.0),
            pass: (1, 1),
            sub_scores: Span::default(),
            error_tags: Span::default(),
            explain: (0, Span::default()),
            detail: image.text("{}"),
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        Bytes::new(CARD_RESULT)
            .put(0, &[self.case])
            .put(8, &[self.primary_score.0])
            .number(16, self.primary_score.1)
            .put(24, &[self.pass.0, self.pass.1])
            .span(28, self.sub_scores)
            .span(36, self.error_tags)
            .put(44, &[self.explain.0])
            .span(48, self.explain.1)
            .span(56, self.detail)
            .done()
    }
}

/// Returns one sub-score.
pub(crate) fn sub_score(image: &mut Image, name: &str, value: f64) -> Vec<u8> {
    Bytes::new(16).span(0, image.text(name)).number(8, value).done()
}

/// A `plugin-error`.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) kind: u8,
    pub(crate) message: Span,
    pub(crate) pointer: (u8, Span),
    pub(crate) retryable: u8,
}

impl Failure {
    pub(crate) fn new(message: Span) -> Failure {
        Failure { kind: 1, message, pointer: (0, Span::default()), retryable: 0 }
    }

    /// Returns the case `err` of a result of this size, whose payload begins at this offset.
    pub(crate) fn result(&self, size: u32, payload: usize) -> Vec<u8> {
        Bytes::new(size)
            .put(0, &[1])
            .put(payload, &[self.kind])
            .span(payload + 4, self.message)
            .put(payload + 12, &[self.pointer.0])
            .span(payload + 16, self.pointer.1)
            .put(payload + 24, &[self.retryable])
            .done()
    }
}

/// A `plugin-info`.
pub(crate) struct Info<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    pub(crate) description: &'a str,
    pub(crate) extra: &'a str,
}

impl Default for Info<'_> {
    fn default() -> Self {
        Info { name: "corpus", version: "1.0.0", description: "A member of the corpus.", extra: "{}" }
    }
}

impl Info<'_> {
    pub(crate) fn put(&self, image: &mut Image) -> u32 {
        let texts = [self.name, self.version, self.description, self.extra];
        let words: Vec<u8> = texts.into_iter().flat_map(|text| image.text(text).words()).collect();
        image.put(&words)
    }
}

/// A `metric-spec` with one input and one value.
pub(crate) struct Spec<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
    pub(crate) schema: &'a str,
    /// Number of times that the one value is listed.
    pub(crate) values: u32,
}

impl Default for Spec<'_> {
    fn default() -> Self {
        Spec { name: "obedient", description: "Does as told.", schema: "{}", values: 1 }
    }
}

impl Spec<'_> {
    pub(crate) fn bytes(&self, image: &mut Image) -> Vec<u8> {
        let path = image.text("model_output.answer").words();
        let paths = image.list(&[path.to_vec()]);
        let input = Bytes::new(28).span(0, image.text("prediction")).span(16, paths).done();
        let value = Bytes::new(48).span(0, image.text("score")).put(8, &[1]).done();
        let inputs = image.list(&[input]);
        let values = Span { length: self.values, ..image.list(&[value]) };
        Bytes::new(56)
            .span(0, image.text(self.name))
            .span(8, image.text(self.description))
            .span(16, image.text("1"))
            .span(24, inputs)
            .span(32, values)
            .span(40, image.text("mean"))
            .span(48, image.text(self.schema))
            .done()
    }
}
