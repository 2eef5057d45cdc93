//! Provenance of a task's prompts, as results name it.

use super::PlannedTask;
use gage_config::{HookKind, RoleAdapterSpec};
use gage_core::prompt_version;
use gage_plugin::{ConfiguredMember, PluginKind};
use gage_template::PromptRenderer;

/// The name and the digest of each prompt or component that writes something for a model.
#[derive(Default)]
struct PromptProvenance<'t> {
    found: Vec<(&'t str, String)>,
    /// The roles whose prompts are among them.
    roles: Vec<&'t str>,
}

impl<'t> PromptProvenance<'t> {
    /// Adds the prompt of a role, each role once, and tells whether it has one.
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

/// The version of what writes the prompts of a task: of the model under test, then of the roles that support it, then of
/// its judges. Where a role has a prompt it is that. Otherwise it is the component that makes the messages: that of the
/// judge or of the role, and for the model under test the preprocessors of the dataset with its text hook.
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
