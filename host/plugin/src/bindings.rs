//! The generated bindings, one module per world. Host interfaces and shared types come from the backend
//! world, which imports all of them.

#![expect(missing_docs, reason = "generated from wit/, which documents them")]

pub mod backend_world {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "backend-plugin",
        imports: { default: trappable },
        exports: { default: async },
    });
}

/// Generates the bindings of a world that shares everything but its exports.
macro_rules! world {
    ($module:ident, $world:literal $(, $media:literal)?) => {
        pub mod $module {
            wasmtime::component::bindgen!({
                path: "../../wit",
                world: $world,
                imports: { default: trappable },
                exports: { default: async },
                with: {
                    "gage:plugin/types@0.1.1": super::types,
                    "gage:plugin/log@0.1.1": super::log,
                    $($media: super::media,)?
                },
            });
        }
    };
}

world!(metric_world, "metric-plugin", "gage:plugin/media@0.1.1");
world!(preprocessor_world, "preprocessor-plugin", "gage:plugin/media@0.1.1");
world!(doc_hooks_world, "doc-hooks-plugin", "gage:plugin/media@0.1.1");
world!(aggregator_world, "aggregator-plugin");
world!(judge_world, "judge-plugin", "gage:plugin/media@0.1.1");
world!(extractor_world, "extractor-plugin");
world!(role_adapter_world, "role-adapter-plugin", "gage:plugin/media@0.1.1");

pub use aggregator_world::exports::gage::plugin::aggregator as aggregator_exports;
pub use backend_world::exports::gage::plugin::backend as backend_exports;
pub use backend_world::gage::plugin::{http, llm, log, media, types};
pub use doc_hooks_world::exports::gage::plugin::doc_hooks as doc_hooks_exports;
pub use extractor_world::exports::gage::plugin::answer_extractor as extractor_exports;
pub use judge_world::exports::gage::plugin::judge as judge_exports;
pub use metric_world::exports::gage::plugin::metric as metric_exports;
pub use preprocessor_world::exports::gage::plugin::preprocessor as preprocessor_exports;
pub use role_adapter_world::exports::gage::plugin::role_adapter as role_adapter_exports;
