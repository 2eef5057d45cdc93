//! Which build of the program runs a model: llama.cpp's kernels are compiled for a kind of processor, and a build for a
//! better one may lie beside the program.

use super::process::ModelProgram;
use std::path::{Path, PathBuf};

/// What the name of a build has at its end, best first, and whether this machine can run it.
fn builds() -> Vec<(&'static str, bool)> {
    #[cfg(target_arch = "x86_64")]
    {
        let has_avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512cd")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx512vnni");
        vec![("avx512", has_avx512)]
    }
    #[cfg(not(target_arch = "x86_64"))]
    Vec::new()
}

impl ModelProgram {
    /// The best build that lies beside the program and that this machine can run; else the program itself.
    pub(crate) fn best_build(self) -> ModelProgram {
        let found = builds().into_iter().filter(|(_, runs_here)| *runs_here);
        let mut files = found.map(|(name, _)| build_file(&self.program, name));
        match files.find(|file| file.is_file()) {
            Some(program) => ModelProgram { program, ..self },
            None => self,
        }
    }
}

/// `gage-host-avx512` beside `gage-host`.
fn build_file(program: &Path, name: &str) -> PathBuf {
    let stem = program.file_stem().unwrap_or_default().to_string_lossy();
    let ending =
        program.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    program.with_file_name(format!("{stem}-{name}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_that_runs_here_is_chosen_where_it_lies_beside_the_program() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("gage-host");
        let chosen = || ModelProgram { program: program.clone(), arguments: Vec::new() }.best_build().program;
        assert_eq!(chosen(), program, "there is no other");
        for (name, runs_here) in builds() {
            let file = build_file(&program, name);
            std::fs::write(&file, "").expect("written");
            assert_eq!(chosen(), if runs_here { file } else { program.clone() });
        }
    }

    #[test]
    fn builds_are_named_after_the_program() {
        assert_eq!(build_file(Path::new("/bin/gage-host"), "avx512"), Path::new("/bin/gage-host-avx512"));
        assert_eq!(build_file(Path::new("a/gage-host.exe"), "avx512"), Path::new("a/gage-host-avx512.exe"));
    }
}
