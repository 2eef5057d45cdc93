//! Components that are installed beside the program, because they are large. They may be missing.

use crate::registry_error::RegistryError;
use crate::world::World;
use std::path::PathBuf;

/// Folder of the optional components, in a folder of the installation.
const FOLDER: &str = "plugins";

/// A component of this project that is a file of the installation. Suites name it as they name a bundled one.
#[derive(Clone, Copy, Debug)]
pub struct OptionalComponent {
    /// The name, which is also that of its file.
    pub name: &'static str,
    /// The world.
    pub world: World,
    /// Names of its members.
    pub members: &'static [&'static str],
    /// Recorded [`crate::PluginDescription`] as JSON.
    pub description: &'static str,
    /// Purpose of the component, and the way to get it, for the error if it is missing.
    pub remedy: &'static str,
}

impl OptionalComponent {
    /// Returns whether this is its name, or that of a member.
    pub fn has_name(&self, name: &str) -> bool {
        self.name == name || self.members.contains(&name)
    }

    /// Finds its file in the first folder of an installation that has it.
    ///
    /// # Errors
    /// If none has it.
    pub fn locate(&self, installation: &[PathBuf]) -> Result<PathBuf, RegistryError> {
        let searched: Vec<PathBuf> = installation.iter().map(|folder| folder.join(FOLDER)).collect();
        let mut files = searched.iter().map(|folder| folder.join(format!("{}.wasm", self.name)));
        files.find(|file| file.is_file()).ok_or_else(|| RegistryError::NotInstalled {
            name: self.name.to_owned(),
            world: self.world,
            searched: searched.clone(),
            remedy: self.remedy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gage_recorded_messages::RecordedError as _;

    const OPTIONAL: OptionalComponent = OptionalComponent {
        name: "large",
        world: World::Metric,
        members: &["large_metric"],
        description: "null",
        remedy: "build it",
    };

    #[test]
    fn file_beside_the_program_comes_before_an_installed_one() {
        let prefix = tempfile::tempdir().expect("a folder");
        let folders = gage_core::installation_folders_of(&prefix.path().join("bin/gage-host"));
        let error = OPTIONAL.locate(&folders).expect_err("it is missing");
        let expected = format!(
            "the metric 'large' is not installed: there is no large.wasm in {0}/bin/plugins or \
             {0}/lib/gage-host/plugins",
            prefix.path().display()
        );
        assert_eq!((error.recorded("plugins"), error.help()), (expected, Some("build it".to_owned())));
        for folder in ["lib/gage-host/plugins", "bin/plugins"] {
            let file = prefix.path().join(folder).join("large.wasm");
            std::fs::create_dir_all(prefix.path().join(folder)).expect("a folder");
            std::fs::write(&file, "").expect("written");
            assert_eq!(OPTIONAL.locate(&folders).ok(), Some(file));
        }
        assert_eq!(
            ["large", "large_metric", "metric"].map(|name| OPTIONAL.has_name(name)),
            [true, true, false]
        );
    }

    #[test]
    fn program_without_a_folder_has_no_optional_components() {
        let error = OPTIONAL.locate(&[]).expect_err("there is no folder").recorded("plugins");
        assert!(error.ends_with("the folder of this program is unknown"), "{error}");
    }
}
