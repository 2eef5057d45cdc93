//! Lists of free small blocks, in front of another allocator.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr::{copy_nonoverlapping, null_mut};

/// Sizes of small blocks are multiples of this, which is also their alignment.
const GRAIN_BYTES: usize = 16;
/// Number of sizes of small blocks.
const SIZES: usize = 16;
/// Size of the chunks that are split into small blocks.
const CHUNK_BYTES: usize = 4 << 10;

/// Layout of a chunk.
const CHUNK: Layout = match Layout::from_size_align(CHUNK_BYTES, GRAIN_BYTES) {
    Ok(layout) => layout,
    Err(_) => panic!("the alignment of a chunk is a power of two"),
};

/// An allocator that keeps freed blocks of up to 256 bytes in lists, one for each size. Taking and freeing such a block
/// takes a few instructions. A freed block keeps its size, and its memory does not return to the other allocator: a component
/// that frees many small blocks, and then takes a large one, needs memory for both.
pub(crate) struct SmallBlocks<A> {
    lists: UnsafeCell<FreeLists>,
    others: A,
}

// SAFETY: a component has one thread.
#[cfg(target_arch = "wasm32")]
unsafe impl<A: Sync> Sync for SmallBlocks<A> {}

struct FreeLists {
    /// The first free block of each size. A free block begins with the address of the next one, or null.
    first: [*mut u8; SIZES],
    /// The rest of the last chunk.
    rest: *mut u8,
    rest_bytes: usize,
}

impl<A> SmallBlocks<A> {
    pub(crate) const fn new(others: A) -> SmallBlocks<A> {
        let lists = FreeLists { first: [null_mut(); SIZES], rest: null_mut(), rest_bytes: 0 };
        SmallBlocks { lists: UnsafeCell::new(lists), others }
    }
}

impl FreeLists {
    /// Takes a block from the list of its size, or from the last chunk. Null if neither has one.
    fn take(&mut self, size: usize) -> *mut u8 {
        let block = self.first[size];
        if !block.is_null() {
            // SAFETY: a free block begins with the address of the next one.
            self.first[size] = unsafe { block.cast::<*mut u8>().read() };
            return block;
        }
        let bytes = (size + 1) * GRAIN_BYTES;
        if bytes > self.rest_bytes {
            return null_mut();
        }
        let block = self.rest;
        self.rest_bytes -= bytes;
        // SAFETY: the rest of the chunk has at least that many bytes.
        self.rest = unsafe { block.add(bytes) };
        block
    }
}

/// Returns the number of the size of a small block. `None` if the block is not small.
fn size_of_small(bytes: usize, align: usize) -> Option<usize> {
    let size = bytes.saturating_sub(1) / GRAIN_BYTES;
    (size < SIZES && align <= GRAIN_BYTES).then_some(size)
}

// SAFETY: a small block is in use or in the list of its size, never in both. Its layout alone says which list that is, so a
// block is freed where it was taken. All other blocks are those of the other allocator.
unsafe impl<A: GlobalAlloc> GlobalAlloc for SmallBlocks<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(size) = size_of_small(layout.size(), layout.align()) else {
            // SAFETY: as promised by the caller.
            return unsafe { self.others.alloc(layout) };
        };
        // SAFETY: there is one thread, and no other reference while this one lives: the other allocator calls nothing that
        // allocates.
        let lists = unsafe { &mut *self.lists.get() };
        let block = lists.take(size);
        if !block.is_null() {
            return block;
        }
        // SAFETY: a chunk has a size.
        let chunk = unsafe { self.others.alloc(CHUNK) };
        if chunk.is_null() {
            return chunk;
        }
        (lists.rest, lists.rest_bytes) = (chunk, CHUNK_BYTES);
        lists.take(size)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(size) = size_of_small(layout.size(), layout.align()) else {
            // SAFETY: as promised by the caller.
            return unsafe { self.others.dealloc(block, layout) };
        };
        // SAFETY: there is one thread, and no other reference while this one lives.
        let lists = unsafe { &mut *self.lists.get() };
        // SAFETY: a small block has room for an address, and its alignment.
        unsafe { block.cast::<*mut u8>().write(lists.first[size]) };
        lists.first[size] = block;
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        match (size_of_small(layout.size(), layout.align()), size_of_small(bytes, layout.align())) {
            // SAFETY: as promised by the caller.
            (None, None) => unsafe { self.others.realloc(block, layout, bytes) },
            (old, new) if old == new => block,
            _ => {
                // SAFETY: as promised by the caller, the size fits the alignment.
                let wanted = unsafe { Layout::from_size_align_unchecked(bytes, layout.align()) };
                // SAFETY: as promised by the caller, the size is not 0.
                let moved = unsafe { self.alloc(wanted) };
                if !moved.is_null() {
                    // SAFETY: both blocks have that many bytes, and they are different.
                    unsafe { copy_nonoverlapping(block, moved, layout.size().min(bytes)) };
                    // SAFETY: as promised by the caller.
                    unsafe { self.dealloc(block, layout) };
                }
                moved
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::System;

    /// A block with the byte that fills it.
    struct Filled {
        address: *mut u8,
        layout: Layout,
        byte: u8,
    }

    impl Filled {
        fn fill(&self) {
            assert!(!self.address.is_null() && self.address.addr().is_multiple_of(self.layout.align()));
            // SAFETY: the block has that many bytes.
            unsafe { self.address.write_bytes(self.byte, self.layout.size()) };
        }

        /// Checks the first bytes, which no other block may have changed.
        fn check(&self, bytes: usize) {
            // SAFETY: the block has at least that many bytes, all of them written.
            let found = unsafe { core::slice::from_raw_parts(self.address, bytes) };
            assert!(found.iter().all(|byte| *byte == self.byte), "{:?}", self.layout);
        }
    }

    #[test]
    fn blocks_keep_their_bytes_until_they_are_freed() {
        let allocator = SmallBlocks::new(System);
        let mut blocks: Vec<Filled> = Vec::new();
        // A linear congruential generator (Knuth, MMIX).
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        for step in 0..50_000 {
            let (bytes, align) = (1 + random(400), 1 << random(7));
            match random(4) {
                0 | 1 if blocks.len() < 300 => {
                    let layout = Layout::from_size_align(bytes, align).expect("a layout");
                    // SAFETY: the size is not 0.
                    let address = unsafe { allocator.alloc(layout) };
                    blocks.push(Filled { address, layout, byte: step as u8 });
                    blocks.last().expect("a block").fill();
                }
                2 if !blocks.is_empty() => {
                    let place = random(blocks.len());
                    let block = &mut blocks[place];
                    let kept = bytes.min(block.layout.size());
                    // SAFETY: the block has this layout, and the size is not 0.
                    block.address = unsafe { allocator.realloc(block.address, block.layout, bytes) };
                    block.check(kept);
                    block.layout = Layout::from_size_align(bytes, block.layout.align()).expect("a layout");
                    block.fill();
                }
                _ if !blocks.is_empty() => {
                    let block = blocks.swap_remove(random(blocks.len()));
                    block.check(block.layout.size());
                    // SAFETY: the block has this layout, and is not used again.
                    unsafe { allocator.dealloc(block.address, block.layout) };
                }
                _ => {}
            }
        }
        blocks.iter().for_each(|block| block.check(block.layout.size()));
    }

    #[test]
    fn small_sizes_and_alignments() {
        for (bytes, align, expected) in [
            (0, 1, Some(0)),
            (1, 1, Some(0)),
            (16, 16, Some(0)),
            (17, 1, Some(1)),
            (256, 8, Some(15)),
            (257, 1, None),
            (8, 32, None),
        ] {
            assert_eq!(size_of_small(bytes, align), expected, "{bytes} {align}");
        }
    }
}
