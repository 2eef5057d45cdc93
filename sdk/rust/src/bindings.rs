//! The generated bindings, one module a world; the types they share are those of the first.

pub mod metric_world {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "metric-plugin",
        pub_export_macro: true,
        default_bindings_module: "gage_sdk::bindings::metric_world",
        additional_derives: [Clone, PartialEq],
        generate_all,
    });
}

pub mod preprocessor_world {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "preprocessor-plugin",
        pub_export_macro: true,
        default_bindings_module: "gage_sdk::bindings::preprocessor_world",
        additional_derives: [Clone, PartialEq],
        with: {
            "gage:plugin/types@0.1.0": super::types,
            "gage:plugin/log@0.1.0": super::log,
        },
    });
}

pub mod backend_world {
    wit_bindgen::generate!({
        path: "../../wit",
        world: "backend-plugin",
        pub_export_macro: true,
        default_bindings_module: "gage_sdk::bindings::backend_world",
        additional_derives: [Clone, PartialEq],
        with: {
            "gage:plugin/types@0.1.0": super::types,
            "gage:plugin/log@0.1.0": super::log,
        },
    });
}

pub use metric_world::gage::plugin::{log, types};
