//! The memory of a component. Allocating is much of what a short item costs, and this allocator takes about half of
//! the instructions of the one that comes with Rust.

use talc::wasm::{WasmDynamicTalc, new_wasm_dynamic_allocator};

#[global_allocator]
static ALLOCATOR: WasmDynamicTalc = new_wasm_dynamic_allocator();
