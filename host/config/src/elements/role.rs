//! `role_adapters[]`: the participants of a run, and their backends.

use crate::elements::backend::BackendSpec;
use crate::elements::plugin_call::PluginCall;
use crate::elements::{refuse_python, sampling};
use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::problems::Problems;
use crate::source::Span;
use gage_core::SamplingParams;
use strum::{IntoStaticStr, VariantArray};

/// Type of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum RoleType {
    /// The model under test.
    DutModel,
    /// Judges answers.
    JudgeModel,
    /// Assists other steps.
    HelperModel,
    /// Finds context for the model.
    ContextProvider,
    /// Answers the model's tool calls.
    ToolProvider,
}

impl RoleType {
    /// Returns true if such a role may have an adapter component.
    pub fn takes_adapter(self) -> bool {
        matches!(self, RoleType::ContextProvider | RoleType::ToolProvider | RoleType::HelperModel)
    }

    /// Returns the name in a configuration.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A role.
#[derive(Clone, Debug)]
pub struct RoleAdapterSpec {
    /// The name within the configuration.
    pub adapter_id: String,
    /// The type.
    pub role_type: RoleType,
    /// The component that converts requests and replies of the backend, or that answers itself.
    pub adapter: Option<PluginCall>,
    /// The backend, by id; a backend defined inside a role adapter has the adapter's id. Empty if there is none,
    /// which only a role with an `adapter` allows.
    pub backend_id: String,
    /// The prompt that renders its requests; by default the sample's own messages are sent.
    pub prompt_id: Option<String>,
    /// Values for the prompt's `params`.
    pub prompt_params: gage_core::Object,
    /// Sampling parameters, which override those of the backend.
    pub sampling_params: SamplingParams,
    /// Maximum number of requests in flight of this role; default: the backend's limit.
    pub pool_size: Option<usize>,
    /// Spans of the entry, its backend's id and its prompt's id.
    pub spans: RoleSpans,
}

/// Spans of the parts of a role.
#[derive(Clone, Copy, Debug)]
pub struct RoleSpans {
    /// The whole entry.
    pub entry: Span,
    /// The backend's id.
    pub backend_id: Span,
    /// The prompt's id.
    pub prompt_id: Span,
}

impl RoleAdapterSpec {
    /// Reads an entry, and the backend defined in it.
    pub(crate) fn read(
        node: &Node,
        path: String,
        problems: &mut Problems,
    ) -> Option<(RoleAdapterSpec, Option<BackendSpec>)> {
        let mut table = MappingReader::open(node, path, problems)?;
        let adapter_id = table.required_id("adapter_id", problems).unwrap_or_default();
        table.required("role_type", problems);
        let role_type = table.variant("role_type", problems);
        if let Some(node) = table.refused("class_path") {
            // A model and a judge have no adapter: the backend answers, and the judge writes its prompts.
            let kind = match role_type {
                Some(RoleType::DutModel) => "backend",
                Some(RoleType::JudgeModel) => "judge",
                _ => "role-adapter",
            };
            refuse_python(node.span, &table.path_of("class_path"), "`class_path`", kind, problems);
        }
        // The backend determines its own capabilities; the key is accepted as a note.
        table.texts("capabilities", problems);
        let backend_id = table.text("backend_id", problems);
        let adapter = read_adapter(&mut table, role_type, problems);
        let inline_path = table.path_of("backend");
        let inline = table.get("backend");
        let spans = RoleSpans {
            entry: node.span,
            backend_id: table.get("backend_id").map_or(node.span, |node| node.span),
            prompt_id: table.get("prompt_id").map_or(node.span, |node| node.span),
        };
        match (inline, &backend_id) {
            (Some(node), Some(_)) => {
                problems
                    .warning(
                        node.span,
                        &inline_path,
                        "both `backend` and `backend_id` are given; `backend` is used",
                    )
                    .help("remove one of them");
            }
            (None, None) if table.get("adapter").is_none() => {
                problems
                    .error(node.span, &table.path, "a role adapter needs a `backend_id` or a `backend`")
                    .help("`backend_id` names an entry of `backends`");
            }
            _ => {}
        }
        let inline =
            inline.and_then(|node| BackendSpec::read_inline(node, &adapter_id, inline_path, problems));
        let pool_size = read_pool_size(&mut table, problems);
        let prompt_params = table.free_map("prompt_params", problems).map(Node::to_json);
        let spec = RoleAdapterSpec {
            role_type: role_type.unwrap_or(RoleType::DutModel),
            adapter,
            backend_id: if inline.is_some() { adapter_id.clone() } else { backend_id.unwrap_or_default() },
            adapter_id,
            prompt_id: table.text("prompt_id", problems),
            prompt_params: match prompt_params {
                Some(serde_json::Value::Object(object)) => object,
                _ => gage_core::Object::new(),
            },
            sampling_params: sampling::read(&mut table, "sampling_params", problems),
            pool_size,
            spans,
        };
        table.finish(problems);
        Some((spec, inline))
    }
}

/// Reads the component of a role. Not every role may have one.
fn read_adapter(
    table: &mut MappingReader<'_>,
    role_type: Option<RoleType>,
    problems: &mut Problems,
) -> Option<PluginCall> {
    let path = table.path_of("adapter");
    let node = table.get("adapter")?;
    if let Some(role_type) = role_type.filter(|role_type| !role_type.takes_adapter()) {
        let message = format!("a role of the type `{}` has no `adapter`", role_type.name());
        let allowed = RoleType::VARIANTS.iter().filter(|kind| kind.takes_adapter());
        let allowed: Vec<&str> = allowed.map(|kind| kind.name()).collect();
        problems.error(node.span, &path, message).help(format!(
            "it is for roles of the type {}; to change the model under test use a backend of the type \
             custom_script, and for a judge's prompt `judge`",
            allowed.join(", ")
        ));
    }
    if table.get("prompt_id").is_some() {
        let message = "`adapter` writes its own messages, so `prompt_id` has no effect";
        problems.error(node.span, &path, message).help("remove one of them");
    }
    PluginCall::read(node, &path, "role-adapter", problems)
}

fn read_pool_size(table: &mut MappingReader<'_>, problems: &mut Problems) -> Option<usize> {
    let node = table.free_map("resource_requirement", problems)?;
    let mut inner = MappingReader::open(node, table.path_of("resource_requirement"), problems)?;
    let size = inner.integer("pool_size", 1..=100_000, problems);
    inner.finish(problems);
    size.and_then(|size| usize::try_from(size).ok())
}
