use super::*;

fn project(files: &[(&str, &str)]) -> (TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("gage-plugin.toml"), "name = 'a'\nkind = 'metric'\nlanguage = 'python'\n")
        .unwrap();
    for (path, text) in files {
        let file = folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let project = Project::read(folder.path()).unwrap();
    (folder, project)
}

fn installed(files: &[(&str, &str)]) -> Result<Option<Vec<String>>, ToolError> {
    let (_folder, project) = project(files);
    let options = BuildOptions { cache_folder: None, say: &|_| {} };
    install(&project, &options).map(|packages| packages.map(|packages| packages.names))
}

#[test]
fn lists_and_folders_that_need_no_installation() {
    let info = ("packages/lex-1.dist-info/WHEEL", "Tag: py3-none-any\n");
    assert_eq!(installed(&[]), Ok(None));
    assert_eq!(installed(&[("requirements.txt", "# nothing\n")]), Ok(None));
    assert_eq!(installed(&[("packages/lex/__init__.py", ""), info]), Ok(Some(vec!["lex==1".to_owned()])));
    let error = installed(&[("requirements.in", "six\n")]).unwrap_err();
    assert!(error.message.contains("no requirements.txt") && error.help.unwrap().contains("plugin lock"));
    let error = installed(&[("requirements.txt", ""), info]).unwrap_err();
    assert_eq!(error.message, "there are both requirements.txt and the folder packages");
    let error = installed(&[("requirements.txt", "\nsix==1.17.0\n")]).unwrap_err();
    assert!(error.message.contains("requirements.txt:2: 'six==1.17.0' is not locked"), "{error}");
}

#[test]
fn native_code_is_refused_with_its_package_and_tag() {
    let library = "packages/fast/deep/_fast.cpython-314-x86_64-linux-gnu.so";
    let error = installed(&[
        (library, ""),
        ("packages/fast-2.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp314-cp314-linux_x86_64\n"),
        (
            "packages/fast-2.0.dist-info/RECORD",
            "fast/deep/_fast.cpython-314-x86_64-linux-gnu.so,sha256=x,1\n",
        ),
    ])
    .unwrap_err();
    assert_eq!(
        error.message,
        "the package fast-2.0 (cp314-cp314-linux_x86_64) has native code: \
         fast/deep/_fast.cpython-314-x86_64-linux-gnu.so"
    );
    assert_eq!(error.help.as_deref(), Some(PURE_ONLY));
    let error = installed(&[(library, "")]).unwrap_err();
    assert!(error.message.starts_with("a package has native code: fast/deep/"), "{error}");
    for (name, expected) in [
        ("a.so", true),
        ("liba.so.1", true),
        ("a.pyd", true),
        ("a.dylib", true),
        ("a.cpython-314-wasm32-wasi.so", false),
        ("a.py", false),
        ("also.txt", false),
    ] {
        assert_eq!(is_library(name), expected, "{name}");
    }
}

#[test]
fn a_package_without_a_pure_wheel_is_explained() {
    let said = "ERROR: Could not find a version that satisfies the requirement re_gex==2.0 (from a) (from versions: none)\n\
                ERROR: No matching distribution found for re_gex==2.0 (from a)";
    let skipped = |file: &str| {
        format!(
            "2026   Skipping link: none of the wheel's tags (x) are compatible (run pip debug --verbose to show \
             compatible tags): https://files.example.com/aa/{file} (from https://example.com/re-gex/)\n"
        )
    };
    let wheels = [
        "re_gex-1.0-cp39-cp39-win32.whl",
        "re_gex-2.0-cp39-cp39-win32.whl",
        "re_gex-2.0-cp310-cp310-linux.whl",
    ];
    let log: String = wheels.map(skipped).concat();
    let error = explain(said, &log).unwrap();
    assert_eq!(
        error.message,
        "re_gex==2.0 has no wheel in pure Python (py3-none-any), only native ones: \
         re_gex-2.0-cp310-cp310-linux.whl, re_gex-2.0-cp39-cp39-win32.whl"
    );
    assert_eq!(error.help.as_deref(), Some(PURE_ONLY));
    let log = "2026   Skipping link: No sources permitted for re-gex: https://example.com/re_gex-2.0.tar.gz (from x)\n";
    assert_eq!(explain(said, log).unwrap().message, "re_gex==2.0 has no wheel, only source code");
    assert_eq!(explain(said, ""), None);
    assert_eq!(explain("ERROR: something else", log), None);
}

#[test]
fn wheels_are_listed_by_normal_names() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["b_B.c-2.0-py3-none-any.whl", "a-1-py2.py3-none-any.whl"] {
        fs::write(folder.path().join(name), "wheel").unwrap();
    }
    let digest = Digest::of_bytes(b"wheel");
    let expected = [("a==1".to_owned(), digest), ("b-b-c==2.0".to_owned(), digest)];
    assert_eq!(digests_of(folder.path()).unwrap(), expected);
}

#[test]
fn packages_are_locked_in_python_only() {
    let options = BuildOptions { cache_folder: None, say: &|_| {} };
    let (folder, _) = project(&[]);
    let error = lock_packages(folder.path(), &options).unwrap_err();
    assert!(error.message.ends_with("requirements.in"), "{error}");
    fs::write(folder.path().join(WANTED), "# none\n").unwrap();
    let locked = lock_packages(folder.path(), &options).unwrap();
    assert_eq!((locked.path.as_path(), locked.packages.len()), (folder.path().join(LOCKED).as_path(), 0));
    assert_eq!(requirements::read(&locked.path, ListKind::Locked).unwrap(), Some(Vec::new()));
    fs::write(folder.path().join("gage-plugin.toml"), "name = 'a'\nkind = 'metric'\nlanguage = 'js'\n")
        .unwrap();
    let error = lock_packages(folder.path(), &options).unwrap_err();
    assert!(error.message.starts_with("this plugin is in js"), "{error}");
}
