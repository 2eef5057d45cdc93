//! The policy file of a user or a team: what suites may reach on their machines.
//!
//! ```yaml
//! untrusted: true                      # every suite is a stranger's
//! allow_env: [OPENAI_API_KEY]
//! allow_read: [/data/evals, ~/models]
//! allow_net: [api.openai.com, 127.0.0.1:8000]
//! ```

use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::permissions::{AllowedHost, AllowedResources};
use crate::pipeline::parse_document;
use crate::problems::Problems;
use crate::source::expand_home;
use std::path::PathBuf;

/// A policy of a user or a team. The command line takes precedence over it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// True if every suite is a stranger's; default false.
    pub is_untrusted: bool,
    /// What the suites of strangers may reach.
    pub allowed: AllowedResources,
}

/// Reads a policy. `name` identifies the text in messages. Returns `None` if the text has errors.
pub fn load_policy(name: &str, text: &str) -> (Option<Policy>, Problems) {
    let mut problems = Problems::default();
    let root = parse_document(name, text, None, &mut problems);
    let policy = root.and_then(|root| read(&root, &mut problems));
    (policy.filter(|_| !problems.has_errors()), problems)
}

fn read(root: &Node, problems: &mut Problems) -> Option<Policy> {
    let mut table = MappingReader::open(root, "", problems)?;
    let is_untrusted = table.boolean("untrusted", problems).unwrap_or(false);
    let env = table.texts("allow_env", problems).unwrap_or_default();
    let folders = table.texts("allow_read", problems).unwrap_or_default();
    let read: Vec<PathBuf> = folders.iter().map(|folder| expand_home(folder)).collect();
    if let Some(relative) = read.iter().find(|folder| !folder.is_absolute()) {
        let message = format!("`allow_read` has the folder `{}`, which is not absolute", relative.display());
        table.error("allow_read", message, problems).help("write it like /data/evals or ~/models");
    }
    let hosts = table.texts("allow_net", problems).unwrap_or_default();
    let mut net = Vec::with_capacity(hosts.len());
    for host in &hosts {
        match host.parse::<AllowedHost>() {
            Ok(host) => net.push(host),
            Err(message) => {
                let help = "write a host, or host:port: `api.example.com`, `127.0.0.1:8000`";
                table.error("allow_net", message, problems).help(help);
            }
        }
    }
    table.finish(problems);
    Some(Policy { is_untrusted, allowed: AllowedResources { env, read, net } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_policy_is_read() {
        let text = "untrusted: true\nallow_env: [A, B]\nallow_read: /data\nallow_net: ['127.0.0.1:8000']\n";
        let (policy, problems) = load_policy("policy.yaml", text);
        assert!(!problems.has_errors(), "{}", problems.render(false));
        let policy = policy.expect("a policy");
        assert!(policy.is_untrusted);
        assert_eq!(policy.allowed.env, ["A", "B"]);
        assert_eq!(policy.allowed.read, [PathBuf::from("/data")]);
        assert_eq!(
            policy.allowed.net.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["127.0.0.1:8000"]
        );
    }

    #[test]
    fn wrong_values_of_a_policy_have_a_position() {
        for (text, expected) in [
            ("untrusted: perhaps\n", "`untrusted` must be true or false"),
            ("allow_read: [data]\n", "`allow_read` has the folder `data`, which is not absolute"),
            ("allow_net: ['*.example.com']\n", "is a pattern; each host is granted by its name"),
            ("allow_nets: [a]\n", "did you mean `allow_net`?"),
        ] {
            let (policy, problems) = load_policy("policy.yaml", text);
            let shown = problems.render(false);
            assert_eq!(policy, None, "{text}");
            assert!(shown.contains(expected) && shown.contains("policy.yaml:1:"), "{text}\n{shown}");
        }
    }
}
