//! Provenance of a task's prompts, as shown in results.

use super::PlannedTask;
use gage_config::{HookKind, RoleAdapterSpec};
use gage_core::prompt_version;
use gage_plugin::{ConfiguredMember, PluginKind};
use gage_template::PromptRenderer;

/// The name and digest of each prompt or component that writes text for a model.
#[derive(Default)]
struct PromptProvenance<'t> {
    found: Vec<(&'t str, String)>,
    /// The roles whose prompts are already added.
    roles: Vec<&'t str>,
}

impl<'t> PromptProvenance<'t> {
    /// Adds the prompt of a role, each role once. Returns true if the role has one.
    fn add_prompt(&mut self, role: &'t RoleAdapterSpec, prompt: Option<&'t PromptRenderer>) -> bool {
        let Some(prompt) = prompt else { return false };
        if !self.roles.contains(&role.adapter_id.as_str()) {
            self.roles.push(&role.adapter_id);
            self.found.push((prompt.prompt_id(), prompt.digest().to_string()));
        }
        true
    }

    fn add_component<K: PluginKind>(&mut self, component: &'t ConfiguredMember<K>) {
        self.found.push((component.name(), component.digest().to_string()));
    }
}

/// Returns the version of a task's prompts: of the model under test, then its support roles, then its judges. A role's
/// prompt counts if it has one. Otherwise, the component that makes the messages counts: the role's or the judge's, or
/// for the model under test, the dataset's preprocessors with its text hook.
pub(super) fn version_of(task: &PlannedTask) -> String {
    let mut provenance = PromptProvenance::default();
    if !provenance.add_prompt(&task.role, task.prompt.as_deref()) {
        let text_hooks = task.dataset.hooks.iter().filter(|(kind, _)| *kind == HookKind::Text);
        task.dataset.chain.iter().for_each(|link| provenance.add_component(link));
        text_hooks.for_each(|(_, hook)| provenance.add_component(hook));
    }
    for support_role in task.support_roles() {
        if !provenance.add_prompt(&support_role.role, support_role.prompt.as_deref())
            && let Some(adapter) = &support_role.adapter
        {
            provenance.add_component(adapter);
        }
    }
    for judge in task.judges.iter().flat_map(|judges| &judges.judges) {
        if !provenance.add_prompt(&judge.role, judge.prompt.as_deref()) {
            provenance.add_component(&judge.judge);
        }
    }
    prompt_version(provenance.found.iter().map(|(name, digest)| (*name, digest.as_str())))
}
