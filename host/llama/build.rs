//! Lets a build with `dynamic-backends` find its shared libraries in the folder of the program.

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux");
    // llama-cpp-sys-2 has built its kernels as modules in this folder, and its libraries beside it.
    let Some(modules) = std::env::var_os("DEP_LLAMA_BACKENDS_DIR").filter(|_| is_linux) else { return };
    let modules = PathBuf::from(modules);
    // `gage-model.d` then names this folder, and `tools/model-program.sh` takes the kernels and libraries from there.
    println!("cargo:rerun-if-changed={}", modules.display());
    // RPATH is searched before LD_LIBRARY_PATH, and RUNPATH, the default of linkers, after it.
    println!("cargo:rustc-link-arg-bins=-Wl,--disable-new-dtags,-rpath,$ORIGIN");
    // The program loads every library itself, also those that only another library or a kernel module needs: these have
    // no path of their own to search.
    println!("cargo:rustc-link-arg-bins=-Wl,--no-as-needed");
    for library in libraries(&modules) {
        println!("cargo:rustc-link-arg-bins={}", library.display());
    }
    println!("cargo:rustc-link-arg-bins=-lgomp");
    println!("cargo:rustc-link-arg-bins=-Wl,--as-needed");
}

/// Returns the shared libraries of llama.cpp.
fn libraries(modules: &Path) -> Vec<PathBuf> {
    let folders = ["lib", "lib64"].map(|name| modules.with_file_name(name));
    let entries = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let is_library = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "so");
    let mut libraries: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_library).collect();
    libraries.sort();
    libraries
}
