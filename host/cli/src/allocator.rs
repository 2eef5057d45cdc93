//! The allocator of the program. Rust aborts a process without memory; this allocator ends it with a message and an exit code.

use crate::exit_code::ExitCode;
use crate::machine_shortage::RETRY_HELP;
use gage_core::MachineResource;
use std::alloc::{GlobalAlloc, Layout};
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use tikv_jemallocator::Jemalloc;

/// Maximum size of a request that must succeed. A larger one may be due to damaged input, and its caller handles the failure.
const MAX_REQUIRED_BYTES: usize = 1 << 30;

/// Allocator for samples that are allocated and dropped on different threads, which is slow with the system's allocator.
pub(crate) struct Allocator;

#[expect(unsafe_code, reason = "the trait is unsafe; every request is passed on unchanged")]
// SAFETY: jemalloc fulfils the contract of the trait. This type only ends the process if a request fails.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the same contract.
        required(unsafe { Jemalloc.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller fulfils the same contract.
        required(unsafe { Jemalloc.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller fulfils the same contract.
        unsafe { Jemalloc.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: the caller fulfils the same contract.
        required(unsafe { Jemalloc.realloc(pointer, layout, bytes) }, bytes)
    }
}

/// Returns the memory of a request. Ends the process if there is none.
#[inline]
fn required(pointer: *mut u8, bytes: usize) -> *mut u8 {
    if pointer.is_null() && bytes <= MAX_REQUIRED_BYTES {
        end_without_memory();
    }
    pointer
}

/// Ends the process without allocating. The journal of a run has every acknowledged sample.
#[cold]
fn end_without_memory() -> ! {
    static IS_PRINTED: AtomicBool = AtomicBool::new(false);
    if !IS_PRINTED.swap(true, Ordering::Relaxed) {
        let mut stderr = std::io::stderr();
        for part in ["error: ", MachineResource::Memory.sentence(), "\n  help: ", RETRY_HELP, "\n"] {
            let _ = stderr.write_all(part.as_bytes());
        }
    }
    std::process::exit(ExitCode::Internal as i32)
}
