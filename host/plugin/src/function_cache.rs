//! Machine code of single functions, for the next compilation of a component that has them too.
//!
//! A component in Python or JavaScript is an interpreter of thousands of functions, with the author's code as data. A
//! rebuilt component has the same functions, so compiling it again takes their code from here. The compiler
//! finds the code by a hash of a function's intermediate form and of all settings.
//!
//! One file per interpreter and engine, `<interpreter>-<engine>-<checksum>.functions`, in the folder of compiled
//! components, and as trusted as those: only this user can write to it, and its checksum is in its name. The key is a hash
//! that the compiler's authors call experimental. So the cache serves only components of the user's own
//! projects, and strangers cannot search for functions that share a key.

use crate::shortage::reported;
use gage_core::foreign_file::{self, FileLimit};
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wasmparser::{Parser, Payload};
use wasmtime::{CacheStore, Engine};

/// Minimum size of the code of a component for which functions are kept, in bytes. Smaller ones compile in less than a
/// second.
const MIN_CODE_BYTES: usize = 1 << 20;

/// Minimum size of the function that names an interpreter, in bytes. Small functions are the same in many programs.
const MIN_NAMING_BYTES: usize = 256;

/// Maximum size of a file, in bytes. Beyond it, functions that the last component does not have are left out.
const MAX_FILE_BYTES: u64 = 512 << 20;

/// Maximum number of files in a folder. The oldest are removed.
const MAX_FILES: usize = 4;

/// End of a file's name.
const SUFFIX: &str = ".functions";

/// Length of the compiler's key, in bytes.
const KEY_BYTES: usize = 32;

type Key = [u8; KEY_BYTES];

/// Code of the functions of one interpreter.
#[derive(Debug)]
pub(crate) struct FunctionCache {
    folder: PathBuf,
    prefix: String,
    /// The file's content.
    bytes: Vec<u8>,
    kept: HashMap<Key, KeptFunction>,
    compiled: Mutex<HashMap<Key, Vec<u8>>>,
}

/// A function in the file.
#[derive(Debug)]
struct KeptFunction {
    /// Place of the code in the file.
    range: Range<usize>,
    /// True if the component has the function.
    is_used: AtomicBool,
}

impl FunctionCache {
    /// Opens the cache for a component and an engine. Returns `None` if the component is small.
    pub(crate) fn open(folder: &Path, engine: &Engine, component: &[u8]) -> Option<Arc<FunctionCache>> {
        let interpreter = interpreter_of(component)?;
        Some(FunctionCache::for_interpreter(folder, engine, &interpreter))
    }

    /// Opens the cache for all components with an interpreter.
    fn for_interpreter(folder: &Path, engine: &Engine, interpreter: &str) -> Arc<FunctionCache> {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        let prefix = format!("{interpreter}-{:016x}-", hasher.finish());
        let bytes = read(folder, &prefix).unwrap_or_default();
        let kept = functions_in(&bytes);
        let folder = folder.to_owned();
        Arc::new(FunctionCache { folder, prefix, bytes, kept, compiled: Mutex::default() })
    }

    /// Writes the functions that were compiled, and removes the files that this one replaces.
    ///
    /// # Errors
    /// If the file cannot be written. Nothing depends on it: the next compilation takes longer.
    pub(crate) fn save(&self) -> std::io::Result<()> {
        let compiled = self.compiled.lock();
        if compiled.is_empty() {
            return Ok(());
        }
        let size = |length: usize| (KEY_BYTES + size_of::<u32>() + length) as u64;
        let new: u64 = compiled.values().map(|code| size(code.len())).sum();
        let is_small = (self.bytes.len() as u64).saturating_add(new) <= MAX_FILE_BYTES;
        let stays = |kept: &KeptFunction| is_small || kept.is_used.load(Ordering::Relaxed);
        let kept = self.kept.iter().filter(|(key, function)| stays(function) && !compiled.contains_key(*key));
        let kept = kept.filter_map(|(key, function)| Some((key, self.bytes.get(function.range.clone())?)));
        let mut functions: Vec<(&Key, &[u8])> =
            kept.chain(compiled.iter().map(|(key, code)| (key, code.as_slice()))).collect();
        // The same functions give the same file.
        functions.sort_unstable_by_key(|(key, _)| *key);
        if functions.iter().map(|(_, code)| size(code.len())).sum::<u64>() > MAX_FILE_BYTES {
            return Ok(());
        }
        self.write(&functions)
    }

    fn write(&self, functions: &[(&Key, &[u8])]) -> std::io::Result<()> {
        let mut content = Vec::new();
        for (key, code) in functions {
            let length = u32::try_from(code.len()).map_err(std::io::Error::other)?;
            content.extend_from_slice(key.as_slice());
            content.extend_from_slice(&length.to_le_bytes());
            content.extend_from_slice(code);
        }
        let name = format!("{}{}{SUFFIX}", self.prefix, blake3::hash(&content).to_hex());
        // tempfile makes it readable and writable only by this user.
        let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(&self.folder)?;
        file.write_all(&content)?;
        file.persist(self.folder.join(&name)).map_err(|error| error.error)?;
        self.remove_others(&name)
    }

    /// Removes earlier files of the same interpreter, and the oldest of others.
    fn remove_others(&self, name: &str) -> std::io::Result<()> {
        let mut others = Vec::new();
        for entry in std::fs::read_dir(&self.folder)? {
            let entry = entry?;
            let Ok(found) = entry.file_name().into_string() else { continue };
            if !found.ends_with(SUFFIX) || found == name {
                continue;
            }
            if found.starts_with(&self.prefix) {
                std::fs::remove_file(entry.path())?;
            } else {
                others.push((entry.metadata()?.modified()?, entry.path()));
            }
        }
        others.sort_unstable();
        let excess = (others.len() + 1).saturating_sub(MAX_FILES);
        others.iter().take(excess).try_for_each(|(_, path)| std::fs::remove_file(path))
    }

    /// Returns how many functions were taken from the file, and how many were compiled.
    #[cfg(test)]
    fn counts(&self) -> (usize, usize) {
        let used = self.kept.values().filter(|function| function.is_used.load(Ordering::Relaxed)).count();
        (used, self.compiled.lock().len())
    }
}

impl CacheStore for FunctionCache {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        let function = self.kept.get(key)?;
        function.is_used.store(true, Ordering::Relaxed);
        self.bytes.get(function.range.clone()).map(Cow::Borrowed)
    }

    fn insert(&self, key: &[u8], value: Vec<u8>) -> bool {
        match Key::try_from(key) {
            Ok(key) => {
                self.compiled.lock().insert(key, value);
                true
            }
            Err(_) => false,
        }
    }
}

/// Compiles a component for which functions are kept, with an engine that uses them.
///
/// # Errors
/// The reason why it does not compile.
pub(crate) fn compile(
    cache: &Arc<FunctionCache>,
    engine: impl FnOnce(Arc<dyn CacheStore>) -> Result<Engine, String>,
    component: &[u8],
) -> Result<Vec<u8>, String> {
    let store: Arc<dyn CacheStore> = Arc::<FunctionCache>::clone(cache);
    let code = engine(store)?
        .precompile_component(component)
        .map_err(|error| format!("it does not compile: {}", reported(&error)))?;
    if let Err(error) = cache.save() {
        tracing::debug!(%error, "functions for the next compilation were not kept");
    }
    Ok(code)
}

/// Returns a name for the interpreter of a component: the smallest hash of a function. Two builds have the same name unless
/// just this function is not the same, though some others may be. Returns `None` if the component has little code.
fn interpreter_of(component: &[u8]) -> Option<String> {
    let mut size = 0_usize;
    let mut smallest: Option<[u8; 32]> = None;
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::CodeSectionEntry(function) = payload.ok()? {
            let code = function.as_bytes();
            size += code.len();
            if code.len() >= MIN_NAMING_BYTES {
                let hash = *blake3::hash(code).as_bytes();
                smallest = Some(smallest.map_or(hash, |smallest| smallest.min(hash)));
            }
        }
    }
    let smallest = smallest.filter(|_| size >= MIN_CODE_BYTES)?;
    Some(blake3::Hash::from_bytes(smallest).to_hex().to_string())
}

/// Reads the file with this prefix, if there is one that is intact.
fn read(folder: &Path, prefix: &str) -> Option<Vec<u8>> {
    std::fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let checksum = name.strip_prefix(prefix)?.strip_suffix(SUFFIX)?;
        let file =
            foreign_file::open_below(folder, &name, FileLimit::new("kept functions", MAX_FILE_BYTES)).ok()?;
        foreign_file::check_private(&file.metadata().ok()?).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).ok()?;
        (blake3::hash(&bytes).to_hex().as_str() == checksum).then_some(bytes)
    })
}

/// Finds the functions in the content of a file.
fn functions_in(bytes: &[u8]) -> HashMap<Key, KeptFunction> {
    let mut functions = HashMap::new();
    let mut rest = bytes;
    while let Some((key, after)) = rest.split_first_chunk::<KEY_BYTES>()
        && let Some((length, after)) = after.split_first_chunk::<{ size_of::<u32>() }>()
        && let Ok(length) = usize::try_from(u32::from_le_bytes(*length))
        && let Some((_, after)) = after.split_at_checked(length)
    {
        let end = bytes.len() - after.len();
        let function = KeptFunction { range: end - length..end, is_used: AtomicBool::new(false) };
        functions.insert(*key, function);
        rest = after;
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::compiling_engine;
    use gage_test_guests::{BARE_WORD_RECALL, HOSTILE};

    fn engine() -> Engine {
        compiling_engine(false, None).unwrap()
    }

    /// Compiles, and returns the code and how many functions were reused and compiled.
    fn compiled(folder: &Path, component: &[u8]) -> (Vec<u8>, (usize, usize)) {
        // Components of tests are small, so the cache is opened by hand.
        let cache = FunctionCache::for_interpreter(folder, &engine(), "one");
        let code = compile(&cache, |store| compiling_engine(false, Some(store)), component).unwrap();
        (code, cache.counts())
    }

    /// Returns the component with another last byte of its data.
    fn with_other_data(component: &[u8]) -> Vec<u8> {
        let mut end = 0;
        for payload in Parser::new(0).parse_all(component) {
            if let Payload::DataSection(section) = payload.unwrap() {
                end = section.into_iter().last().unwrap().unwrap().range.end;
            }
        }
        let mut changed = component.to_vec();
        changed[end - 1] ^= 1;
        changed
    }

    #[test]
    fn a_component_with_other_data_reuses_its_functions() {
        let folder = tempfile::tempdir().unwrap();
        let (first, (reused, before)) = compiled(folder.path(), HOSTILE);
        assert!(reused == 0 && before > 100, "{reused} reused, {before} compiled");
        // The compiler takes some functions from no cache.
        let (_, (reused, uncached)) = compiled(folder.path(), HOSTILE);
        assert!(reused > 150 && uncached < 20, "{reused} reused, {uncached} compiled");
        let changed = with_other_data(HOSTILE);
        let (second, (reused, again)) = compiled(folder.path(), &changed);
        assert!(reused > 150, "{reused} reused, {again} compiled");
        assert!(
            again <= uncached + 1,
            "only the code that copies the data is new: {again} compiled, not {uncached}"
        );
        assert_ne!(first, second, "the data differ");
        // Reused code is the code that a compilation without a cache gives.
        assert_eq!(second, engine().precompile_component(&changed).unwrap());
    }

    #[test]
    fn functions_of_other_components_stay_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        compiled(folder.path(), HOSTILE);
        compiled(folder.path(), BARE_WORD_RECALL);
        for component in [HOSTILE, BARE_WORD_RECALL] {
            let (_, (reused, again)) = compiled(folder.path(), component);
            assert!(reused > again * 10, "{reused} reused, {again} compiled");
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "one file replaces another");
    }

    #[test]
    fn a_damaged_file_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let (first, (_, before)) = compiled(folder.path(), HOSTILE);
        let path = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        assert_eq!(compiled(folder.path(), HOSTILE), (first, (0, before)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_can_write_is_not_used() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        compiled(folder.path(), BARE_WORD_RECALL);
        let path = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666)).unwrap();
        let (_, (reused, again)) = compiled(folder.path(), BARE_WORD_RECALL);
        assert!(reused == 0 && again > 0, "{reused} reused, {again} compiled");
    }

    #[test]
    fn only_the_newest_files_stay() {
        let folder = tempfile::tempdir().unwrap();
        for interpreter in 0..MAX_FILES + 2 {
            let name = format!("interpreter{interpreter}");
            let cache = FunctionCache::for_interpreter(folder.path(), &engine(), &name);
            assert!(cache.insert(&[0; KEY_BYTES], vec![1, 2, 3]) && !cache.insert(b"short", Vec::new()));
            cache.save().unwrap();
            let again = FunctionCache::for_interpreter(folder.path(), &engine(), &name);
            assert_eq!(again.get(&[0; KEY_BYTES]).as_deref(), Some([1, 2, 3].as_slice()));
            assert!(again.get(&[1; KEY_BYTES]).is_none());
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), MAX_FILES);
    }

    #[test]
    fn small_components_have_no_cache() {
        let folder = tempfile::tempdir().unwrap();
        assert!(FunctionCache::open(folder.path(), &engine(), HOSTILE).is_none());
        assert!(FunctionCache::open(folder.path(), &engine(), b"no component").is_none());
    }
}
