//! The policy file of a user or a team: what suites may reach on their machines, and which plugins may score.
//!
//! ```yaml
//! untrusted: true                      # every suite is a stranger's
//! allow_env: [OPENAI_API_KEY]
//! allow_read: [/data/evals, ~/models]
//! allow_net: [api.openai.com, 127.0.0.1:8000]
//! trust: {registry.example/metrics: {keys: [team.pub], require: signature}}
//! ```

use crate::mapping_reader::MappingReader;
use crate::node::Node;
use crate::permissions::{AllowedHost, AllowedResources};
use crate::pipeline::parse_document;
use crate::problems::Problems;
use crate::source::expand_home;
use crate::trust_policy::TrustPolicy;
use std::path::{Path, PathBuf};

/// A policy of a user or a team. The command line takes precedence over it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// True if every suite is a stranger's; default false.
    pub is_untrusted: bool,
    /// What the suites of strangers may reach.
    pub allowed: AllowedResources,
    /// Which plugins may score; `None` if all may.
    pub trust: Option<TrustPolicy>,
}

/// Reads the text of a policy file. Returns `None` if the text has errors.
pub fn load_policy(path: &Path, text: &str) -> (Option<Policy>, Problems) {
    let mut problems = Problems::default();
    let root = parse_document(&path.display().to_string(), text, None, &mut problems);
    let folder = path.parent().unwrap_or(Path::new(""));
    let policy = root.and_then(|root| read(&root, folder, &mut problems));
    (policy.filter(|_| !problems.has_errors()), problems)
}

fn read(root: &Node, folder: &Path, problems: &mut Problems) -> Option<Policy> {
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
    let trust = TrustPolicy::read(&mut table, folder, problems);
    table.finish(problems);
    Some(Policy { is_untrusted, allowed: AllowedResources { env, read, net }, trust })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust_policy::{TrustRequirement, TrustRule, TrustScope};

    #[test]
    fn every_key_of_a_policy_is_read() {
        let text = "untrusted: true\nallow_env: [A, B]\nallow_read: /data\nallow_net: ['127.0.0.1:8000']\n";
        let (policy, problems) = load_policy(Path::new("policy.yaml"), text);
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
            ("trust: [a]\n", "`trust` must be a mapping"),
            ("trust: {registry.example: {require: signature}}\n", "`require: signature` needs `keys`"),
            ("trust:\n", "`trust` has no value"),
            ("trust: null\n", "write `trust: {}` to refuse every registry"),
            ("trust: {registry.example: null}\n", "expected a mapping, found nothing"),
            ("trust: {registry.example: {keys: []}}\n", "`keys` is empty"),
            ("trust: {registry.example: {keys: [], require: digest}}\n", "list the files of public keys"),
            ("trust: {files: {keys: [], require: signature}}\n", "`keys` is empty"),
            ("trust: {files: {keys: null}}\n", "`keys` has no value"),
            ("trust: {files: {keys: a.pub, require: null}}\n", "`require` has no value"),
            ("trust: {registry.example: {require: sign}}\n", "`sign` is not a known value of `require`"),
            ("trust: {registry.example: {key: a}}\n", "did you mean `keys`?"),
            ("trust: {registry.example: signature}\n", "expected a mapping, found a string"),
            ("trust: {files: {keys: [{}]}}\n", "`keys` must be a string"),
            ("trust: {a.example: {}, a.example: {}}\n", "the key `a.example` occurs twice"),
        ] {
            let (policy, problems) = load_policy(Path::new("policy.yaml"), text);
            let shown = problems.render(false);
            assert_eq!(policy, None, "{text}");
            assert!(shown.contains(expected) && shown.contains("policy.yaml:1:"), "{text}\n{shown}");
        }
    }

    #[test]
    fn rules_of_trust_have_scopes_keys_and_requirements() {
        let text = "trust:\n  registry.example/metrics: {keys: [keys/team.pub, /etc/keys/other.pub, ~/own.pub]}\n  \
                    localhost:5000: {require: digest}\n  a.example: {}\n  files: {keys: team.pub, require: nothing}\n";
        let (policy, problems) = load_policy(Path::new("/etc/gage/policy.yaml"), text);
        assert!(!problems.has_errors(), "{}", problems.render(false));
        let home = std::env::home_dir().expect("a home folder");
        let rule = |scope, keys: &[&str], requirement| TrustRule {
            scope,
            keys: keys.iter().map(PathBuf::from).collect(),
            requirement,
        };
        let registry = |path: &str| TrustScope::Registry(path.to_owned());
        let own = home.join("own.pub").display().to_string();
        let expected = [
            rule(
                registry("registry.example/metrics"),
                &["/etc/gage/keys/team.pub", "/etc/keys/other.pub", own.as_str()],
                TrustRequirement::Signature,
            ),
            rule(registry("localhost:5000"), &[], TrustRequirement::Digest),
            rule(registry("a.example"), &[], TrustRequirement::Nothing),
            rule(TrustScope::Files, &["/etc/gage/team.pub"], TrustRequirement::Nothing),
        ];
        assert_eq!(policy.expect("a policy").trust.expect("rules").rules, expected);
        let (policy, _) = load_policy(Path::new("policy.yaml"), "trust: {}\n");
        assert_eq!(policy.expect("a policy").trust, Some(TrustPolicy::default()));
    }

    #[test]
    fn other_names_are_no_scope() {
        for name in [
            "oci://registry.example/metrics",
            "registry.example/metrics/",
            "registry.example/metrics:0.1.0",
            "registry.example/*",
            "registry.example/Metrics",
            "/metrics",
            "registry.example/../metrics",
            "Registry.example",
            "file",
        ] {
            let text = format!("trust: {{\"{name}\": {{}}}}\n");
            let (policy, problems) = load_policy(Path::new("policy.yaml"), &text);
            let shown = problems.render(false);
            assert_eq!(policy, None, "{name}");
            let expected =
                format!("`{name}` in `trust` is neither a registry nor the beginning of a repository");
            assert!(shown.contains(&expected) && shown.contains("registry.example/metrics or"), "{shown}");
        }
        let keys: Vec<String> = (0..65).map(|number| format!("{number}.pub")).collect();
        let text = format!("trust: {{files: {{keys: [{}]}}}}\n", keys.join(", "));
        let (_, problems) = load_policy(Path::new("policy.yaml"), &text);
        assert!(problems.render(false).contains("`keys` has 65 entries; at most 64 are allowed"));
    }
}
