//! Files that are not, or no longer, components.

use crate::encode::{graft, graft_bytes};
use crate::random::Random;
use crate::{End, Member};
use arbitrary::{Arbitrary as _, Unstructured};
use wasm_encoder::{ComponentSectionId, Encode as _};

/// The first bytes of every component.
pub const MAGIC: [u8; 8] = *b"\0asm\x0d\0\x01\0";

/// Returns every proper prefix of these bytes, the shortest first.
pub fn truncations(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    (0..bytes.len()).map(move |length| &bytes[..length])
}

/// Returns endless copies of these bytes, each with one to four bits flipped.
pub fn flips(bytes: &[u8], seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random::new(seed);
    let bytes = bytes.to_vec();
    std::iter::repeat_with(move || {
        let mut flipped = bytes.clone();
        for _ in 0..=random.below(4) {
            let (at, bit) = (random.below(flipped.len()), random.below(8));
            if let Some(byte) = flipped.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        flipped
    })
}

/// Returns endless files of random bytes after the magic number.
pub fn noise(seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || {
        let count = random.below(512);
        [MAGIC.to_vec(), random.bytes(count)].concat()
    })
}

/// Returns endless valid random components. None is a plugin.
pub fn smith(seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let mut random = Random::new(seed);
    std::iter::repeat_with(move || random.bytes(2048)).filter_map(|bytes| {
        Some(wasm_smith::Component::arbitrary(&mut Unstructured::new(&bytes)).ok()?.to_bytes())
    })
}

/// Returns endless plugins that contain a random component, which is compiled with the rest.
pub fn grafted_smith(seed: u64) -> impl Iterator<Item = Vec<u8>> {
    let obedient = crate::obedient();
    smith(seed).map(move |component| graft_bytes(&obedient, &component))
}

/// Returns nested components: this many levels around an empty one.
pub(crate) fn nested(levels: usize) -> Vec<u8> {
    let mut length = MAGIC.len();
    // From the innermost to the outermost.
    let mut beginnings = vec![MAGIC.to_vec()];
    for _ in 0..levels {
        let mut beginning = [MAGIC.as_slice(), &[ComponentSectionId::Component.into()]].concat();
        length.encode(&mut beginning);
        length += beginning.len();
        beginnings.push(beginning);
    }
    beginnings.reverse();
    beginnings.concat()
}

/// Returns a component with a function that takes lists nested this deep.
fn deep_type(levels: usize) -> String {
    let lists: String = (0..levels).map(|level| format!("(type (list {level}))")).collect();
    format!(
        r#"(component (type u8) {lists}
        (core module $m (memory (export "memory") 1)
          (func (export "realloc") (param i32 i32 i32 i32) (result i32) (unreachable))
          (func (export "f") (param i32 i32)))
        (core instance $m (instantiate $m))
        (type $f (func (param "a" {levels})))
        (func $f (type $f) (canon lift (core func $m "f") (memory (core memory $m "memory"))
          (realloc (core func $m "realloc"))))
        (export "f" (func $f)))"#
    )
}

/// Returns the beginning of a machine code file as written by the engine: an ELF header for an engine, and the section
/// name by which it recognizes its own files.
fn precompiled() -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\xc8\x02\0\0\0\0\0\0\0\x03\0\x3e\0\x01\0\0\0".to_vec();
    file.resize(64, 0);
    file.extend_from_slice(b".wasmtime.engine\0.wasmtime.bti\0");
    file.resize(4096, 0xcc);
    file
}

/// Returns the members of this group.
#[expect(clippy::too_many_lines, reason = "a table of components, one entry after the other")]
pub fn members() -> Vec<Member> {
    let obedient = crate::obedient();
    let source = b"(component (export \"a\" (func 0)))".to_vec();
    let module = b"\0asm\x01\0\0\0".to_vec();
    let later = b"\0asm\x0e\0\x01\0".to_vec();
    let zeros = vec![0; 1 << 20];
    let twice = [obedient.clone(), obedient.clone()].concat();
    let tail = [obedient.clone(), b"and more".to_vec()].concat();
    let long = [MAGIC.to_vec(), vec![0x04, 0xff, 0xff, 0xff, 0xff, 0x0f]].concat();
    let many = |field: &str| graft(&obedient, &format!("(component {})", field.repeat(10_000)));
    let types = format!("(component (type $t u8) {})", "(type (list $t))".repeat(10_000));
    let chain: String = (1..200).map(|index| format!("(type (tuple {} {}))", index - 1, index - 1)).collect();
    [
        ("empty", "a file without a byte", Vec::new(), End::Refused("it is empty")),
        ("text", "WebAssembly in text", source, End::Refused("it does not begin like")),
        (
            "html",
            "a page that a server sent in place of a component",
            b"<!doctype html><title>404</title>".to_vec(),
            End::Refused("it does not begin like"),
        ),
        ("module", "a core module", module, End::Refused("it is a core WebAssembly module")),
        (
            "precompiled",
            "machine code that the engine might take for its own",
            precompiled(),
            End::Refused("machine code"),
        ),
        ("magic", "the magic number and nothing else", MAGIC.to_vec(), End::Refused("it exports nothing")),
        (
            "later-format",
            "a component of a later binary format",
            later,
            End::Refused("unknown binary version"),
        ),
        ("zeros", "a mebibyte of zeros", zeros, End::Refused("it does not begin like")),
        ("twice", "a component, and once more behind it", twice, End::Refused("damaged")),
        ("tail", "a component with text behind it", tail, End::Refused("WebAssembly file")),
        ("section-of-4-gib", "a section that claims 4 GiB", long, End::Refused("section is too large")),
        (
            "nested-10,000",
            "10,000 components, each within the one before",
            nested(10_000),
            End::Refused("nests components deeper than 100 levels"),
        ),
        (
            "nested-50",
            "50 components, each within the one before",
            graft_bytes(&obedient, &nested(50)),
            End::Scores(1.0),
        ),
        (
            "nested-900",
            "900 components, each within the one before",
            graft_bytes(&obedient, &nested(900)),
            End::Refused("nests components deeper than 100 levels"),
        ),
        (
            "type-of-5,000-levels",
            "a function that takes a list of lists of lists, and so on",
            graft(&obedient, &deep_type(5_000)),
            End::NotCompiled(""),
        ),
        (
            "type-of-90-levels",
            "the same with fewer levels",
            graft(&obedient, &deep_type(90)),
            End::Scores(1.0),
        ),
        (
            "modules-10,000",
            "10,000 core modules",
            many("(core module)"),
            End::NotCompiled("modules count exceeds limit"),
        ),
        (
            "components-10,000",
            "10,000 components side by side",
            many("(component)"),
            End::NotCompiled("components count exceeds limit"),
        ),
        ("types-10,000", "10,000 types", graft(&obedient, &types), End::Scores(1.0)),
        (
            "type-of-2^200",
            "a type that is twice as large with each of 200 steps",
            graft(&obedient, &format!("(component (type u8) {chain})")),
            End::NotCompiled("effective type size exceeds the limit"),
        ),
    ]
    .into_iter()
    .map(|(name, about, bytes, end)| Member::metric(name, about, bytes, end))
    .collect()
}
