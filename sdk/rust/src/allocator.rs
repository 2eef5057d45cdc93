//! The allocator of a component. Allocation is much of the cost of a short item. Small blocks come from lists of free
//! blocks, and all others from `talc`, which takes about half as many instructions as Rust's default allocator.

use crate::small_blocks::SmallBlocks;
use core::alloc::Layout;
use core::arch::wasm32::memory_grow;
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use talc::base::Talc;
use talc::base::binning::Binning;
use talc::cell::TalcSyncCell;
use talc::source::Source;
use talc::wasm::WasmBinning;

#[global_allocator]
static ALLOCATOR: SmallBlocks<TalcSyncCell<Memory, WasmBinning>> =
    SmallBlocks::new(TalcSyncCell::new_wasm(Memory { is_begun: false, end: None }));

const PAGE: usize = 64 << 10;
/// Upper bound of the bytes used by the ends of a heap.
const ENDS: usize = 256;

/// Size of the initial memory, which suffices for most batches.
const FIRST_BYTES: usize = 8 * PAGE;

/// Initial memory, which is only reserved address space until written. A host starts a component for each
/// batch. Memory that grows must be requested from the host again each time, which blocks all its threads.
static mut FIRST: [MaybeUninit<u8>; FIRST_BYTES] = [MaybeUninit::uninit(); FIRST_BYTES];

/// Source of memory: first the initial memory, then memory from the host.
#[derive(Debug)]
struct Memory {
    is_begun: bool,
    /// End of the memory from the host.
    end: Option<NonNull<u8>>,
}

// SAFETY: acquired memory is passed only to `talc`, and nothing is allocated in the meantime.
unsafe impl Source for Memory {
    fn acquire<B: Binning>(talc: &mut Talc<Memory, B>, layout: Layout) -> Result<(), ()> {
        if !talc.source.is_begun {
            talc.source.is_begun = true;
            // SAFETY: `FIRST` is not used elsewhere.
            return unsafe { talc.claim((&raw mut FIRST).cast(), FIRST_BYTES) }.map(|_| ()).ok_or(());
        }
        let bytes = layout.size().checked_add(layout.align() + ENDS).ok_or(())?;
        let pages = bytes.div_ceil(PAGE);
        let before = match memory_grow::<0>(pages) {
            usize::MAX => return Err(()),
            before => before,
        };
        let base = (before * PAGE) as *mut u8;
        let end = (before * PAGE).saturating_add(pages * PAGE) as *mut u8;
        talc.source.end = match talc.source.end.take() {
            // SAFETY: the memory in between is new and unused.
            Some(known) if known.as_ptr() == base => Some(unsafe { talc.extend(known, end) }),
            // SAFETY: all of the memory is new and unused.
            _ => unsafe { talc.claim(base, pages * PAGE) },
        };
        talc.source.end.map(|_| ()).ok_or(())
    }
}
