//! Small, valid components that keep a compiler busy for very long.
//!
//! Each takes a size, so that a test can try a small one; [`members`] must be stopped. The exploding module is within a
//! component that is otherwise an obedient metric.

use crate::encode::{graft_bytes, graft_module};
use crate::{End, Member};
use wasm_encoder::{
    BlockType, CodeSection, Function, FunctionSection, InstructionSink, Module, TypeSection, ValType,
};

/// Creates a module of functions with the same body, without parameters, with `locals` of 64 bits.
fn module(functions: u32, locals: u32, body: impl Fn(&mut InstructionSink<'_>)) -> Vec<u8> {
    let (mut types, mut declared, mut code) =
        (TypeSection::new(), FunctionSection::new(), CodeSection::new());
    types.ty().function([], []);
    for _ in 0..functions {
        declared.function(0);
        let mut function = Function::new([(locals, ValType::I64)]);
        let mut instructions = function.instructions();
        body(&mut instructions);
        instructions.end();
        code.function(&function);
    }
    let mut module = Module::new();
    module.section(&types).section(&declared).section(&code);
    module.finish()
}

fn plugin(module: &[u8]) -> Vec<u8> {
    graft_module(&crate::obedient(), module)
}

/// Creates one function with many loops in a row. Each changes one local, while all locals stay alive to the end, so
/// the compiler must track values times blocks.
pub fn live_values(locals: u32, loops: u32) -> Vec<u8> {
    plugin(&module(1, locals, |code| {
        for index in 0..loops {
            let local = index % locals;
            code.loop_(BlockType::Empty);
            for used in [local, (local * 7 + 1) % locals] {
                code.local_get(used).local_get(local).i64_add().local_set(used);
            }
            code.local_get(local).i32_wrap_i64().br_if(0).end();
        }
        for local in 0..locals {
            code.local_get(local).local_get((local + 1) % locals).i64_xor().local_set(local);
        }
    }))
}

/// Creates nested loops. The innermost changes every local, so each loop carries all of them.
pub fn nested_loops(locals: u32, depth: u32) -> Vec<u8> {
    plugin(&module(1, locals, |code| {
        for _ in 0..depth {
            code.loop_(BlockType::Empty);
        }
        for local in 0..locals {
            code.local_get(local).local_get((local + 1) % locals).i64_add().local_set(local);
        }
        for _ in 0..depth {
            code.local_get(0).i32_wrap_i64().br_if(0).end();
        }
    }))
}

/// Creates nested blocks with many jumps to all of them in the innermost.
pub fn tables(blocks: u32, jumps: u32) -> Vec<u8> {
    plugin(&module(1, 1, |code| {
        for _ in 0..blocks {
            code.block(BlockType::Empty);
        }
        let targets: Vec<u32> = (0..blocks).collect();
        for _ in 0..jumps {
            code.block(BlockType::Empty)
                .local_get(0)
                .i32_wrap_i64()
                .br_table(targets.iter().copied(), 0)
                .end();
        }
        for local in 0..blocks {
            code.local_get(0).i64_const(i64::from(local)).i64_add().local_set(0).end();
        }
    }))
}

/// Creates very many small functions.
pub fn functions(count: u32) -> Vec<u8> {
    plugin(&module(count, 0, |code| {
        code.nop();
    }))
}

/// Creates one function as deep as its bytes allow.
pub fn deep(depth: u32) -> Vec<u8> {
    plugin(&module(1, 1, |code| {
        for _ in 0..depth {
            code.local_get(0).i32_wrap_i64().if_(BlockType::Empty);
        }
        for _ in 0..depth {
            code.end();
        }
    }))
}

/// Creates nested components. The compiler's state for each of them grows with its depth.
pub fn nested(levels: usize) -> Vec<u8> {
    graft_bytes(&crate::obedient(), &crate::bytes::nested(levels))
}

/// Returns small members of each kind, which compile and do nothing.
pub fn small() -> Vec<Member> {
    let fine = End::Scores(1.0);
    vec![
        Member::metric("small-live-values", "100 values over 100 loops", live_values(100, 100), fine),
        Member::metric("small-nested-loops", "20 loops that carry 20 values", nested_loops(20, 20), fine),
        Member::metric("small-tables", "20 jumps to 20 blocks", tables(20, 20), fine),
        Member::metric("small-functions", "500 functions", functions(500), fine),
        Member::metric("small-nested", "90 components within components", nested(90), fine),
        Member::metric("small-deep", "200 levels", deep(200), fine),
    ]
}

/// Returns the members that must be stopped, by time or by memory, regardless of the compiler's limits in the host.
pub fn members() -> Vec<Member> {
    let stopped = End::NotCompiled("");
    vec![
        Member::metric(
            "bomb-live-values",
            "10,000 values over 100,000 loops",
            live_values(10_000, 100_000),
            stopped,
        ),
        Member::metric(
            "bomb-nested-loops",
            "5,000 loops that carry 5,000 values",
            nested_loops(5_000, 5_000),
            stopped,
        ),
        Member::metric("bomb-tables", "1,200 jumps to 2,500 blocks", tables(2_500, 1_200), stopped),
        Member::metric("bomb-functions", "900,000 functions", functions(900_000), stopped),
        Member::metric(
            "bomb-nested",
            "60,000 components within components",
            nested(60_000),
            End::Refused("deeper than 100 levels"),
        ),
        Member::metric("bomb-deep", "400,000 levels", deep(400_000), stopped),
    ]
}
