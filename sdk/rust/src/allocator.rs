//! The memory of a component. Allocating is much of what a short item costs, and this allocator takes about half of
//! the instructions of the one that comes with Rust.

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
static ALLOCATOR: TalcSyncCell<Memory, WasmBinning> =
    TalcSyncCell::new_wasm(Memory { is_begun: false, end: None });

const PAGE: usize = 64 << 10;
/// More than the ends of a heap take.
const ENDS: usize = 256;

/// What suffices for most batches.
const FIRST_BYTES: usize = 8 * PAGE;

/// There from the beginning, and nothing but an address until it is written to. A host starts a component for
/// each batch, and memory that grows has to be taken from it again each time, which holds up all threads of
/// the host.
static mut FIRST: [MaybeUninit<u8>; FIRST_BYTES] = [MaybeUninit::uninit(); FIRST_BYTES];

/// Where memory comes from: first what is there from the beginning, then what the host gives.
#[derive(Debug)]
struct Memory {
    is_begun: bool,
    /// Where the memory ends that the host gave.
    end: Option<NonNull<u8>>,
}

// SAFETY: what is acquired is told to `talc` alone, and nothing is allocated meanwhile.
unsafe impl Source for Memory {
    fn acquire<B: Binning>(talc: &mut Talc<Memory, B>, layout: Layout) -> Result<(), ()> {
        if !talc.source.is_begun {
            talc.source.is_begun = true;
            // SAFETY: nothing else uses it.
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
            // SAFETY: the memory in between is new, and nobody else's.
            Some(known) if known.as_ptr() == base => Some(unsafe { talc.extend(known, end) }),
            // SAFETY: all of it is new, and nobody else's.
            _ => unsafe { talc.claim(base, pages * PAGE) },
        };
        talc.source.end.map(|_| ()).ok_or(())
    }
}
