//! Confinement of a model process: what keeps a hostile model file from the rest of the machine.

use serde::{Deserialize, Serialize};

/// Confinement that a model process applied to itself before it read a file. A part that the system lacks has the
/// reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confinement {
    /// Privileges and resource limits.
    pub privileges: Result<(), String>,
    /// Version of Landlock that limits the files that it can open.
    pub files: Result<u32, String>,
    /// The seccomp filter, which refuses system calls.
    pub system_calls: Result<(), String>,
    /// True if GPU devices and the files of their drivers are left reachable.
    pub reaches_gpus: bool,
}

/// One part of a confinement, described for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfinementPart {
    /// Name of the part.
    pub name: &'static str,
    /// True if the system enforces it.
    pub is_in_force: bool,
    /// What is enforced, or why nothing is.
    pub description: String,
}

impl Confinement {
    /// Describes each part.
    pub fn parts(&self) -> [ConfinementPart; 3] {
        let files = match self.reaches_gpus {
            true => "only its model files, GPU devices and the files of their drivers can be opened",
            false => "only its model files can be opened, and only to read them",
        };
        let system_calls = match self.reaches_gpus {
            true => "no connections, no programs, no other processes",
            false => "no networks, no programs, no other processes",
        };
        let seccomp = self.system_calls.as_ref().map(|()| format!("{system_calls} (seccomp)"));
        let landlock = self.files.as_ref().map(|version| format!("{files} (Landlock {version})"));
        let privileges = "none can be gained; no core files (no_new_privs, resource limits)".to_owned();
        [
            part("privileges", self.privileges.as_ref().map(|()| privileges)),
            part("files", landlock),
            part("system calls", seccomp),
        ]
    }
}

fn part(name: &'static str, state: Result<String, &String>) -> ConfinementPart {
    let is_in_force = state.is_ok();
    let description = state.unwrap_or_else(|reason| format!("not limited: {reason}"));
    ConfinementPart { name, is_in_force, description }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_lacking_has_its_reason() {
        let confinement = Confinement {
            privileges: Ok(()),
            files: Err("this kernel has no Landlock".to_owned()),
            system_calls: Ok(()),
            reaches_gpus: false,
        };
        let [privileges, files, system_calls] = confinement.parts();
        assert!(privileges.is_in_force && system_calls.is_in_force);
        assert!(!files.is_in_force);
        assert_eq!(files.description, "not limited: this kernel has no Landlock");
    }
}
