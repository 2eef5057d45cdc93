//! Packages of projects: in Python from wheels that a test makes, and in JavaScript from an archive of npm.
//!
//! Each function continues with the project `word-recall` of a workspace.

use crate::languages::{cache_folder, run, run_with};
use crate::support::{CommandOutput, Workspace};
use std::path::Path;
use std::process::{Command, Stdio};

/// Writes wheels: a good one with a late import and a data file, and three that must be refused. One leaves its folder, one
/// is for a machine, and one hides a library of a machine.
const MAKE_WHEELS: &str = r#"
import sys, zipfile

def wheel(name, tag, files):
    info = f"{name}-1.0.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(f"{sys.argv[1]}/{name}-1.0-{tag}.whl", "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            # Without the time, the same wheel has the same digest.
            archive.writestr(zipfile.ZipInfo(path), text)

LEXICON = '''
from pathlib import Path

def known():
    from importlib import metadata, resources
    from . import late
    words = resources.files(__name__).joinpath("data/words.txt").read_text()
    again = Path(__file__).with_name("data").joinpath("words.txt").read_text()
    return words.split() + [late.WORD, metadata.version("lexicon"), str(words == again)]
'''
pure = "py3-none-any"
wheel("lexicon", pure, {
    "lexicon/__init__.py": LEXICON,
    "lexicon/late.py": "WORD = 'late'\n",
    "lexicon/data/words.txt": "quick fox\n",
})
wheel("outside", pure, {"outside/__init__.py": "", "../../escaped.txt": "out"})
wheel("machine", "cp311-cp311-manylinux1_x86_64", {"machine/__init__.py": ""})
wheel("hidden", pure, {"hidden/__init__.py": "", "hidden/_fast.so": "elf"})
"#;

fn project_file(name: &str) -> String {
    format!("word-recall/{name}")
}

/// Runs the program in the project, with the wheels as the only index.
fn run_offline(workspace: &Workspace, arguments: &[&str]) -> CommandOutput {
    let wheels = workspace.path("wheels");
    let variables = [("PIP_NO_INDEX", Path::new("1")), ("PIP_FIND_LINKS", wheels.as_path())];
    run_with(&workspace.path("word-recall"), arguments, &variables)
}

/// Locks a package, and lets the metric use it and a file of the project when it scores.
pub(crate) fn python_with_a_package(workspace: &Workspace) {
    let wheels = workspace.path("wheels");
    std::fs::create_dir(&wheels).expect("a folder");
    let made = Command::new("python3").arg("-c").arg(MAKE_WHEELS).arg(&wheels).stdin(Stdio::null()).status();
    assert!(made.expect("python3 runs").success());
    workspace.write(&project_file("requirements.in"), "lexicon\n");
    // This build may install its tool, from the index of this machine.
    let unlocked = run(&workspace.path("word-recall"), &["plugin", "build"]).expect_code(2);
    assert!(unlocked.stderr.contains("run `gage-host plugin lock`"), "{}", unlocked.stderr);
    let locked = run_offline(workspace, &["plugin", "lock"]).expect_code(0);
    assert_eq!(locked.stdout, "./requirements.txt: 1 package\n  lexicon==1.0\n");
    workspace.write(&project_file("tables/more.txt"), "own");
    let settings = workspace.read(&project_file("gage-plugin.toml"));
    workspace.write(&project_file("gage-plugin.toml"), settings + "files = ['tables']\n");
    let plugin = workspace.read(&project_file("plugin.py"));
    let (head, tail) =
        plugin.split_once("    answer, reference = ").expect("the template computes an answer");
    let checks = "    import statistics\n    from pathlib import Path\n\n    \
                  known = lexicon.known() + [Path(__file__).with_name('tables').joinpath('more.txt').read_text()]\n    \
                  if known != ['quick', 'fox', 'late', '1.0', 'True', 'own'] or statistics.mean([1, 3]) != 2:\n        \
                  raise ValueError(known)\n";
    let plugin = format!("{head}{checks}    answer, reference = {tail}");
    // A missing module is found before the component is built.
    workspace.write(&project_file("plugin.py"), format!("import absent\n{plugin}"));
    let refused = run_offline(workspace, &["plugin", "build"]).expect_code(2);
    let missing = "there is no module `absent`, which plugin.py:1 imports";
    assert!(refused.stderr.contains(missing), "{}", refused.stderr);
    assert!(!refused.stderr.contains("building with"), "{}", refused.stderr);
    let plugin = plugin.replacen("from gage_sdk", "import lexicon\nfrom gage_sdk", 1);
    workspace.write(&project_file("plugin.py"), plugin);
    let built = run_offline(workspace, &["plugin", "build"]).expect_code(0);
    assert!(built.stderr.contains(" and 1 package"), "{}", built.stderr);
    let inspected = run_offline(workspace, &["plugin", "inspect", "--static"]).expect_code(0);
    assert!(inspected.stdout.contains("contains    lexicon==1.0\n"), "{}", inspected.stdout);
    // The packages are in the cache, so no wheel is needed any more.
    std::fs::rename(&wheels, workspace.path("gone")).expect("moved");
}

/// Tries lists and wheels that must not be installed.
pub(crate) fn try_hostile_packages(workspace: &Workspace) {
    std::fs::rename(workspace.path("gone"), workspace.path("wheels")).expect("moved");
    let hash = "0".repeat(64);
    for (line, expected) in [
        ("-r ../other.txt".to_owned(), "requirements.txt:2: '-r' is not allowed here"),
        (
            "--index-url https://example.com".to_owned(),
            "requirements.txt:2: '--index-url' is not allowed here",
        ),
        (format!("lexicon @ file:///lexicon.whl --hash=sha256:{hash}"), "is not the name of a package"),
        ("lexicon==1.0".to_owned(), "requirements.txt:2: 'lexicon==1.0' is not locked"),
        (format!("lexicon==1.0 --hash=sha256:{hash}"), "DO NOT MATCH THE HASHES"),
    ] {
        workspace.write(&project_file("requirements.txt"), format!("# one\n{line}\n"));
        let ended = run_offline(workspace, &["plugin", "build"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{line}\n{}", ended.stderr);
    }
    for (name, command, expected) in [
        (
            "machine",
            "lock",
            "has no wheel in pure Python (py3-none-any), only native ones: machine-1.0-cp311-",
        ),
        ("hidden", "build", "the package hidden-1.0 (py3-none-any) has native code: hidden/_fast.so"),
        ("outside", "build", "outside the target directory"),
    ] {
        workspace.write(&project_file("requirements.in"), format!("{name}\n"));
        if command == "build" {
            run_offline(workspace, &["plugin", "lock"]).expect_code(0);
        }
        let ended = run_offline(workspace, &["plugin", command]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{name}\n{}", ended.stderr);
    }
    let cache = cache_folder();
    for folder in [workspace.path(""), workspace.path("word-recall"), cache.join("python-packages"), cache] {
        assert!(!folder.join("escaped.txt").exists(), "{}", folder.display());
    }
}

/// Packages of npm, with their source and scripts: a good one, and two that cannot be in a component.
const PACKAGES: [(&str, &str, &str); 3] = [
    ("shout", "module.exports.shout = (text) => text.toUpperCase() + '!';", "{}"),
    ("reads-files", "module.exports.shout = () => require('fs').readFileSync('a');", "{}"),
    (
        "addon",
        "module.exports.shout = () => require('./build/addon.node').run();",
        "{\"install\": \"exit 1\"}",
    ),
];

/// Adds the package `shout` to a project, and lets the metric use it.
pub(crate) fn javascript_with_a_package(workspace: &Workspace) {
    for (name, source, scripts) in PACKAGES {
        let marker = workspace.path("a-script-ran");
        let scripts =
            scripts.replace("{}", &format!("{{\"postinstall\": \"touch '{}'\"}}", marker.display()));
        let manifest = format!("{{\"name\": \"{name}\", \"version\": \"1.0.0\", \"scripts\": {scripts}}}");
        workspace.write(&format!("{name}/package.json"), manifest);
        workspace.write(&format!("{name}/index.js"), source);
        let packed = Command::new("npm")
            .args(["pack", "--ignore-scripts", "--silent", "--pack-destination", ".."])
            .current_dir(workspace.path(name))
            .stdin(Stdio::null())
            .output();
        assert!(packed.expect("npm runs").status.success(), "{name}");
    }
    let manifest = workspace.read(&project_file("package.json"));
    let own = "\"gage-sdk\": \"file:gage/sdk/js\"";
    assert!(manifest.contains(own), "{manifest}");
    let others: String =
        PACKAGES.iter().map(|(name, ..)| format!(", \"{name}\": \"file:../{name}-1.0.0.tgz\"")).collect();
    workspace.write(&project_file("package.json"), manifest.replace(own, &format!("{own}{others}")));
    let plugin = workspace.read(&project_file("plugin.js"));
    workspace.write("plugin.js", &plugin);
    use_package(workspace, "shout");
}

/// Lets the metric use a package when it is loaded.
fn use_package(workspace: &Workspace, name: &str) {
    let plugin = workspace.read("plugin.js");
    let checks = "if (shout('a') !== 'A!') throw new Error('shout');";
    workspace.write(
        &project_file("plugin.js"),
        format!("import {{ shout }} from \"{name}\";\n{plugin}\n{checks}\n"),
    );
}

/// Tries packages that need Node or machine code. The packages are installed and locked by now.
pub(crate) fn try_packages_without_javascript(workspace: &Workspace) {
    let project = workspace.path("word-recall");
    let inspected = run(&project, &["plugin", "inspect", "--static"]).expect_code(0);
    assert!(inspected.stdout.contains("contains    shout@1.0.0\n"), "{}", inspected.stdout);
    assert!(project.join("package-lock.json").is_file() && !workspace.path("a-script-ran").exists());
    for (name, expected) in [
        ("reads-files", "the package 'reads-files' imports 'fs', a module of Node"),
        ("addon", "the package 'addon' has the native addon './build/addon.node'"),
    ] {
        use_package(workspace, name);
        let ended = run(&project, &["plugin", "build"]).expect_code(2);
        assert!(ended.stderr.contains(expected), "{name}\n{}", ended.stderr);
    }
    let manifest = workspace.read(&project_file("package.json"));
    let more = "\"dependencies\": {\n    \"other\": \"file:../shout-1.0.0.tgz\",";
    workspace.write(&project_file("package.json"), manifest.replace("\"dependencies\": {", more));
    let ended = run(&project, &["plugin", "build"]).expect_code(2);
    assert!(
        ended.stderr.contains("differs from package-lock.json: Missing: other@1.0.0"),
        "{}",
        ended.stderr
    );
}
