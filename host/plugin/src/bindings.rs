//! The generated bindings, one module a world; the types they share are those of the first.

#![expect(missing_docs, reason = "generated from wit/, which documents them")]

pub mod metric_world {
    wasmtime::component::bindgen!({ path: "../../wit", world: "metric-plugin" });
}

pub mod preprocessor_world {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "preprocessor-plugin",
        with: {
            "gage:plugin/types@0.1.0": super::types,
            "gage:plugin/log@0.1.0": super::log,
        },
    });
}

pub mod backend_world {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "backend-plugin",
        with: {
            "gage:plugin/types@0.1.0": super::types,
            "gage:plugin/log@0.1.0": super::log,
        },
    });
}

pub use backend_world::exports::gage::plugin::backend as backend_exports;
pub use metric_world::exports::gage::plugin::metric as metric_exports;
pub use metric_world::gage::plugin::{log, types};
pub use preprocessor_world::exports::gage::plugin::preprocessor as preprocessor_exports;
