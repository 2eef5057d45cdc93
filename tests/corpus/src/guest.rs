//! A template of a plugin in WebAssembly text, in which every part can be replaced.

use crate::Kind;
use crate::encode::{WorldModule, encode};
use crate::image::{Image, Span};
use crate::records::{
    Bytes, CARD_RESULT, Card, GENERATION_RESULT, Info, OUTCOME_RESULT, SCORES_RESULT, Spec,
};
use std::fmt::Write as _;

/// The import that writes a log line.
pub(crate) const LOG: &str = r#"(import "gage:plugin/log@0.1.1" "emit" (func $emit (param i32 i32 i32)))"#;

/// Hands out memory, and grows it as far as the host allows.
const REALLOC: &str = "(local $at i32)
    (local.set $at (i32.and (i32.add (global.get $top) (i32.const 15)) (i32.const -16)))
    (global.set $top (i32.add (local.get $at) (local.get $size)))
    (block $enough
      (loop $more
        (br_if $enough (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
        (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable))
        (br $more)))
    (if (local.get $old)
      (then (memory.copy (local.get $at) (local.get $old) (local.get $old_size))))
    (local.get $at)";

/// Makes a list of `$count` copies of a result and returns the address of its two words, which precede the copies.
const ANSWER: &str = "(func $answer (param $count i32) (param $template i32) (param $size i32) (result i32)
    (local $out i32) (local $i i32)
    (local.set $out (call $realloc (i32.const 0) (i32.const 0) (i32.const 8)
      (i32.add (i32.const 8) (i32.mul (local.get $count) (local.get $size)))))
    (i32.store (local.get $out) (i32.add (local.get $out) (i32.const 8)))
    (i32.store offset=4 (local.get $out) (local.get $count))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $i) (local.get $count)))
        (memory.copy
          (i32.add (i32.add (local.get $out) (i32.const 8)) (i32.mul (local.get $i) (local.get $size)))
          (local.get $template) (local.get $size))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $next)))
    (local.get $out))";

/// An export.
pub(crate) struct Function {
    interface: &'static str,
    name: &'static str,
    params: usize,
    body: String,
}

/// A plugin in the making.
pub(crate) struct Guest {
    pub(crate) image: Image,
    /// The memory that is exported; its first pages hold the image.
    pub(crate) pages: u32,
    /// Core imports, in text.
    pub(crate) imports: String,
    /// Further fields of the module, in text.
    pub(crate) fields: String,
    pub(crate) realloc: String,
    /// The version of `gage:plugin` that it is built against.
    pub(crate) version: &'static str,
    /// Imports of its world other than the log, in WIT.
    pub(crate) world_imports: String,
    /// Packages that these imports need, in WIT, each after those that it needs itself.
    pub(crate) packages: Vec<String>,
    pub(crate) functions: Vec<Function>,
}

impl Guest {
    fn empty() -> Guest {
        Guest {
            image: Image::default(),
            pages: 4,
            imports: String::new(),
            fields: String::new(),
            realloc: REALLOC.to_owned(),
            version: "0.1.1",
            world_imports: String::new(),
            packages: Vec::new(),
            functions: Vec::new(),
        }
    }

    /// Returns a plugin that behaves.
    pub(crate) fn new(kind: Kind) -> Guest {
        match kind {
            Kind::Metric => Guest::metric(),
            Kind::Preprocessor => Guest::preprocessor(),
            Kind::Backend => Guest::backend(),
        }
    }

    /// Returns a metric that scores 1.
    pub(crate) fn metric() -> Guest {
        let mut guest = Guest::empty();
        guest.add_metric();
        guest
    }

    fn add_metric(&mut self) {
        let image = &mut self.image;
        let info = Info::default().put(image);
        let spec = Spec::default().bytes(image);
        let specs = image.list(&[spec]).words();
        let specs = image.put(&specs);
        let ok = image.put(&[0; 32]);
        let card = Card::good(image).bytes();
        let card = image.put(&card);
        self.add("metric", "describe", 0, constant(info));
        self.add("metric", "metrics", 0, constant(specs));
        self.add("metric", "check", 4, constant(ok));
        self.add("metric", "score", 6, copies(5, card, CARD_RESULT));
    }

    /// Returns a preprocessor whose Samples have only an id.
    pub(crate) fn preprocessor() -> Guest {
        let mut guest = Guest::empty();
        guest.add_preprocessor();
        guest
    }

    /// Makes it a preprocessor in addition to its own kind.
    pub(crate) fn add_preprocessor(&mut self) {
        let image = &mut self.image;
        let info = Info::default().put(image);
        let texts = ["obedient", "Does as told.", "1", "{}"];
        let member: Vec<u8> = texts.into_iter().flat_map(|text| image.text(text).words()).collect();
        let members = image.list(&[member]).words();
        let members = image.put(&members);
        let ok = image.put(&[0; 32]);
        let sample = Bytes::new(OUTCOME_RESULT).span(8, image.text(r#"{"id": "1"}"#)).done();
        let sample = image.put(&sample);
        self.add("preprocessor", "describe", 0, constant(info));
        self.add("preprocessor", "preprocessors", 0, constant(members));
        self.add("preprocessor", "check", 4, constant(ok));
        self.add("preprocessor", "convert", 6, copies(5, sample, OUTCOME_RESULT));
    }

    /// Returns a backend that answers `yes`, and scores one continuation.
    pub(crate) fn backend() -> Guest {
        let mut guest = Guest::empty();
        let image = &mut guest.image;
        let info = Info::default().put(image);
        let spec = Bytes::new(24)
            .span(0, image.text("1"))
            .put(8, &8_u32.to_le_bytes())
            .put(12, &[1, 1])
            .span(16, image.text("{}"))
            .done();
        let spec = image.put(&spec);
        let ok = image.put(&[0; 32]);
        let (answer, extra) = (image.text("yes"), image.text("{}"));
        let generation = image.put(&generation(answer, extra));
        let scores = image.list(&[continuation_score(-1.0)]);
        let scores = image.put(&Bytes::new(SCORES_RESULT).span(4, scores).done());
        guest.add("backend", "describe", 0, constant(info));
        guest.add("backend", "spec", 0, constant(spec));
        guest.add("backend", "check", 2, constant(ok));
        guest.add("backend", "generate", 4, copies(3, generation, GENERATION_RESULT));
        guest.add("backend", "loglikelihood", 4, copies(3, scores, SCORES_RESULT));
        guest
    }

    fn add(&mut self, interface: &'static str, name: &'static str, params: usize, body: String) {
        self.functions.push(Function { interface, name, params, body });
    }

    /// Replaces the body of an export.
    pub(crate) fn body(mut self, name: &str, body: impl Into<String>) -> Guest {
        let found = self.functions.iter_mut().find(|function| function.name == name);
        found.expect("the template has the function").body = body.into();
        self
    }

    /// Makes `score` return copies of this result for every item.
    pub(crate) fn result(self, bytes: &[u8]) -> Guest {
        let mut guest = self;
        let at = guest.image.put(bytes);
        guest.body("score", copies(5, at, CARD_RESULT))
    }

    /// Makes `score` return this card for every item.
    pub(crate) fn card(mut self, change: impl FnOnce(&mut Image, &mut Card)) -> Guest {
        let mut card = Card::good(&mut self.image);
        change(&mut self.image, &mut card);
        self.result(&card.bytes())
    }

    /// Makes `score` return a good card whose primary score is a number that is computed.
    pub(crate) fn scoring(mut self, statements: &str, number: &str) -> Guest {
        let card = Card::good(&mut self.image).bytes();
        let card = self.image.put(&card);
        let answer = copies(5, card, CARD_RESULT);
        self.body(
            "score",
            format!(
                "(local $out i32) (local $a i32) (local $b i32)
                 {statements}
                 (local.set $out {answer})
                 (f64.store offset=24 (local.get $out) {number})
                 (local.get $out)"
            ),
        )
    }

    /// Adds a core import.
    pub(crate) fn import(mut self, import: &str) -> Guest {
        self.imports.push_str(import);
        self.imports.push('\n');
        self
    }

    /// Adds fields to the module.
    pub(crate) fn field(mut self, field: &str) -> Guest {
        self.fields.push_str(field);
        self.fields.push('\n');
        self
    }

    /// Adds a post-return function to an export, which is called with the address of the result.
    pub(crate) fn post_return(self, name: &str, body: &str) -> Guest {
        let found = self.functions.iter().find(|function| function.name == name);
        let interface = found.expect("the template has the function").interface;
        let version = self.version;
        let field = format!(
            "(func (export \"cabi_post_gage:plugin/{interface}@{version}#{name}\") (param i32) {body})"
        );
        self.field(&field)
    }

    /// Imports an interface in the world too, with the packages that it needs.
    pub(crate) fn interface(mut self, name: &str, packages: &[&str]) -> Guest {
        let _ = writeln!(self.world_imports, "import {name};");
        for package in packages {
            if !self.packages.iter().any(|known| known == package) {
                self.packages.push((*package).to_owned());
            }
        }
        self
    }

    /// Returns the core module in text.
    pub(crate) fn text(&self) -> String {
        let Guest { imports, fields, realloc, version, .. } = self;
        let pages = self.pages.max(self.image.end() / 65_536 + 2);
        let segment = self.image.segment();
        let top = self.image.end();
        let mut text = format!(
            "(module {imports}
             (memory (export \"memory\") {pages}) {segment}
             (global $top (mut i32) (i32.const {top}))
             (func $realloc (export \"cabi_realloc\")
               (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
               {realloc})
             {ANSWER}\n"
        );
        for Function { interface, name, params, body } in &self.functions {
            let params = " i32".repeat(*params);
            let _ = writeln!(
                text,
                "(func (export \"gage:plugin/{interface}@{version}#{name}\") (param{params}) (result i32)\n{body})"
            );
        }
        text + fields + ")"
    }

    /// Returns the interfaces that it exports.
    pub(crate) fn interfaces(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = self.functions.iter().map(|one| one.interface).collect();
        names.dedup();
        names
    }

    /// Returns the core module.
    pub(crate) fn module(&self) -> Vec<u8> {
        wat::parse_str(self.text()).expect("the text of a member is a module")
    }

    /// Returns the component.
    pub(crate) fn component(&self) -> Vec<u8> {
        encode(WorldModule {
            module: self.module(),
            version: self.version,
            world_imports: &self.world_imports,
            packages: &self.packages,
            interfaces: self.interfaces(),
        })
    }
}

/// Returns a body that returns a constant.
pub(crate) fn constant(at: u32) -> String {
    format!("(i32.const {at})")
}

/// Returns a body that returns as many copies of a result as a parameter requests.
pub(crate) fn copies(count: usize, at: u32, size: u32) -> String {
    format!("(call $answer (local.get {count}) (i32.const {at}) (i32.const {size}))")
}

/// `result<generation, plugin-error>` in the case `ok`.
pub(crate) fn generation(answer: Span, extra: Span) -> Vec<u8> {
    Bytes::new(GENERATION_RESULT).span(8, answer).span(48, extra).done()
}

/// Returns a `continuation-score` of one token.
pub(crate) fn continuation_score(logprob: f64) -> Vec<u8> {
    Bytes::new(16).number(0, logprob).put(8, &1_u32.to_le_bytes()).done()
}
