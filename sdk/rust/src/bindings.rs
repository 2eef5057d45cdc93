//! The generated bindings, one module per world. All worlds share the types and imports of the backend world,
//! which imports everything.

pub mod backend {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "backend-plugin",
        pub_export_macro: true,
        additional_derives: [Clone, PartialEq],
        generate_all,
    });
}

pub use backend::gage::plugin::{http, llm, log, media, types};

macro_rules! world {
    ($module:ident, $world:tt $(, $name:tt: $shared:path)*) => {
        pub mod $module {
            wit_bindgen::generate!({
                path: "../../wit",
                world: $world,
                pub_export_macro: true,
                additional_derives: [Clone, PartialEq],
                with: {
                    "gage:plugin/types@0.1.1": crate::bindings::types,
                    "gage:plugin/log@0.1.1": crate::bindings::log,
                    $($name: $shared,)*
                },
            });
        }
    };
}

world!(metric, "metric-plugin", "gage:plugin/media@0.1.1": crate::bindings::media);
world!(preprocessor, "preprocessor-plugin", "gage:plugin/media@0.1.1": crate::bindings::media);
world!(doc_hook, "doc-hooks-plugin", "gage:plugin/media@0.1.1": crate::bindings::media);
world!(aggregator, "aggregator-plugin");
world!(judge, "judge-plugin", "gage:plugin/media@0.1.1": crate::bindings::media);
world!(extractor, "extractor-plugin");
world!(role_adapter, "role-adapter-plugin", "gage:plugin/media@0.1.1": crate::bindings::media);
