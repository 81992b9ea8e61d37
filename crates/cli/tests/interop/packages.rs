//! The packages that users install, made of the program under test: they install without a network,
//! and copy.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use garland_testkit::{Scratch, chore, random_file};
use serde_json::Value;

/// Runs a command, and returns what it prints.
#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{command:?}: {printed}{said}");
    printed
}

/// Makes a package of the program without its symbols, which would take minutes to pack.
fn packed(kind: &str, scratch: &Scratch) -> PathBuf {
    let program = scratch.path("garland");
    let folder = scratch.path("packages");
    run(Command::new("strip").arg("-o").arg(&program).arg(env!("CARGO_BIN_EXE_garland")));
    let words = [Path::new(kind), "--binary".as_ref(), &program, "--into".as_ref(), &folder];
    let package = chore(&words);
    assert!(package.starts_with(&folder), "{}", package.display());
    run(Command::new("sha256sum").args(["--check", "SHA256SUMS"]).current_dir(&folder));
    package
}

/// Copies a file by a call and again in asyncio, with nothing but the installed package.
const COPY: &str = r#"
import asyncio, garland, sys

options = garland.Options(verify=True, more=["--local-root", "roots"])

async def main():
    async with garland.AsyncCopy("model.bin", "local[3-4]:/x", options) as copy:
        shares = [now.share async for now in copy]
        return shares[-1], await copy.result()

result = garland.copy("model.bin", "local[1-2]:/x", options)
share, other = asyncio.run(main())
print(share, *(f"{node.name}:{node.verified}" for node in result.nodes + other.nodes))
"#;

#[test]
fn a_wheel_installs_the_client_and_the_program_without_a_network() {
    let scratch = Scratch::new("wheel");
    let wheel = packed("wheel", &scratch);
    let bin = scratch.path("venv/bin");
    run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(scratch.path("venv")));
    let pip = || {
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check", "--python"]);
        pip.arg(bin.join("python3"));
        pip
    };
    run(pip().args(["install", "--no-index", "--no-deps"]).arg(&wheel));
    // The environment is not activated: the client finds the program by the Python that runs it.
    let python = |words: &[&str]| {
        let mut python = Command::new(bin.join("python3"));
        python.args(words).current_dir(scratch.folder()).env_clear();
        python.env("PATH", "/usr/bin:/bin").env("HOME", scratch.folder());
        run(python.env("GARLAND_STATE", scratch.state()))
    };
    random_file(&scratch.path("model.bin"), 3_000_000, 1);
    let printed = python(&["-c", COPY]);
    assert_eq!(printed.trim(), "1.0 local1:True local2:True local3:True local4:True");
    for node in ["local1", "local4"] {
        let copied = fs::read(scratch.root(node).join("x")).unwrap();
        assert!(copied == fs::read(scratch.path("model.bin")).unwrap(), "{node}");
    }
    let version = run(Command::new(bin.join("garland")).arg("--version"));
    assert_eq!(python(&["-m", "garland", "--version"]), version);
    // Each installed file is one of RECORD, which pip can therefore remove.
    run(pip().args(["uninstall", "--yes", "garland-client"]));
    assert!(!bin.join("garland").exists());
    scratch.assert_nothing_left();
}

#[test]
fn an_image_has_the_program_which_copies_in_a_container() {
    let scratch = Scratch::new("image");
    let archive = packed("image", &scratch);
    assert_others_read(&archive, &scratch);
    let image = scratch.path("image");
    unpack(&archive, &image);
    let json = |path: &Path| -> Value { serde_json::from_slice(&fs::read(path).unwrap()).unwrap() };
    assert_eq!(json(&image.join("oci-layout"))["imageLayoutVersion"], "1.0.0");
    let mut parts = BTreeMap::new();
    for blob in fs::read_dir(image.join("blobs/sha256")).unwrap() {
        let path = blob.unwrap().path();
        let digest = path.file_name().unwrap().to_str().unwrap();
        let sum = run(Command::new("sha256sum").arg(&path));
        assert!(sum.starts_with(digest), "{sum} is called {digest}");
        parts.insert(format!("sha256:{digest}"), path);
    }
    assert_eq!(parts.len(), 3, "a manifest, a configuration and a layer");
    let part = |descriptor: &Value, kind: &str| {
        assert_eq!(descriptor["mediaType"], format!("application/vnd.oci.image.{kind}"));
        let path = &parts[descriptor["digest"].as_str().unwrap()];
        assert_eq!(descriptor["size"], fs::metadata(path).unwrap().len());
        path.clone()
    };
    let manifest = part(&json(&image.join("index.json"))["manifests"][0], "manifest.v1+json");
    let manifest = json(&manifest);
    let config = json(&part(&manifest["config"], "config.v1+json"));
    let layer = part(&manifest["layers"][0], "layer.v1.tar+gzip");
    let mut sum = Command::new("sh");
    let sum = run(sum.args(["-c", "gzip -dc \"$0\" | sha256sum"]).arg(&layer));
    assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", &sum[..64]));
    let entry = config["config"]["Entrypoint"][0].as_str().unwrap();
    let root = scratch.path("root");
    unpack(&layer, &root);
    // A container has these directories of its runtime, and here a volume with a file.
    for folder in ["dev", "proc", "data"] {
        fs::create_dir(root.join(folder)).unwrap();
    }
    random_file(&root.join("data/model.bin"), 3_000_000, 1);
    let start = "mount --rbind /dev dev && mount -t proc proc proc && exec chroot . \"$@\"";
    let mut container = Command::new("unshare");
    container.args(["--map-root-user", "--mount", "--pid", "--fork", "sh", "-c", start, "sh"]);
    container.args([entry, "cp", "--local-root=/data", "/data/model.bin", "local[1-2]:/"]);
    container.env_clear().current_dir(&root);
    for pair in config["config"]["Env"].as_array().unwrap() {
        let (name, value) = pair.as_str().unwrap().split_once('=').unwrap();
        container.env(name, value);
    }
    // For the shell: the container itself has no other programs.
    run(container.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"));
    for node in ["local1", "local2"] {
        let copied = fs::read(root.join("data").join(node).join("model.bin")).unwrap();
        assert!(copied == fs::read(root.join("data/model.bin")).unwrap(), "{node}");
    }
}

/// Reads the image as podman does, and as Docker does without containerd.
#[track_caller]
fn assert_others_read(archive: &Path, scratch: &Scratch) {
    for kind in ["oci-archive", "docker-archive"] {
        let image = format!("{kind}:{}", archive.display());
        let copied = format!("dir:{}", scratch.path(kind).display());
        let mut skopeo = Command::new("skopeo");
        run(skopeo.args(["--insecure-policy", "copy", "--quiet", &image, &copied]));
        let config = run(Command::new("skopeo").args(["inspect", "--config", &image]));
        let config: Value = serde_json::from_str(&config).unwrap();
        assert_eq!(config["config"]["Entrypoint"][0], "/usr/bin/garland");
    }
}

fn unpack(archive: &Path, folder: &Path) {
    fs::create_dir(folder).unwrap();
    run(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(folder));
}
