use std::fs;

use super::*;
use crate::tests::Scratch;

fn read(root: &Root, path: &str) -> Result<(Vec<u8>, NameManifest), String> {
    read_with(root, path, &|| ())
}

fn read_with(
    root: &Root,
    path: &str,
    progress: &dyn Fn(),
) -> Result<(Vec<u8>, NameManifest), String> {
    let records = Records::default();
    let stop = AtomicBool::new(false);
    let reader = ManifestReader { root, records: &records, disk: None, stop: &stop, progress };
    reader.read(Path::new(path))
}

#[test]
fn whoever_waits_for_a_manifest_is_told_of_each_file_and_block() {
    let scratch = Scratch::new("manifest-progress");
    fs::create_dir_all(scratch.join("d")).unwrap();
    for name in ["a", "b", "c"] {
        fs::write(scratch.join("d").join(name), vec![7; 100_000]).unwrap();
    }
    let root = Root::confined(&scratch.join("")).unwrap();
    let told = std::cell::Cell::new(0);
    let (_, manifest) = read_with(&root, "d", &|| told.set(told.get() + 1)).unwrap();
    let blocks: usize = manifest.files.iter().map(|file| file.digests.len()).sum();
    assert!(told.get() >= manifest.files.len() + blocks, "{}", told.get());
}

#[test]
fn a_manifest_has_all_files_by_their_real_paths() {
    let scratch = Scratch::new("manifest");
    let data = scratch.join("data");
    fs::create_dir_all(data.join("model/inner")).unwrap();
    fs::write(data.join("model/inner/b"), vec![7; 100_000]).unwrap();
    fs::write(data.join("model/a"), "").unwrap();
    std::os::unix::fs::symlink("data", scratch.join("link")).unwrap();
    let root = Root::confined(&scratch.join("")).unwrap();
    let (path, manifest) = read(&root, "/link/model").unwrap();
    assert_eq!(path, b"data/model");
    assert_eq!((manifest.base.as_slice(), manifest.is_tree), (&b"model"[..], true));
    let paths: Vec<_> = manifest.files.iter().map(|file| file.path.as_slice()).collect();
    assert_eq!(paths, [&b"a"[..], b"inner/b"]);
    assert_eq!(manifest.files[1].digests.len(), 2);
    let (bytes, _) = manifest.encode().unwrap();
    assert_eq!(NameManifest::parse(&bytes), Ok(manifest));
    let (path, manifest) = read(&root, "link/model/inner/b").unwrap();
    assert_eq!((path.as_slice(), manifest.is_tree), (&b"data/model/inner/b"[..], false));
    assert_eq!(manifest.length(), 100_000);
}

#[test]
fn what_no_copy_could_repeat_is_refused() {
    let scratch = Scratch::new("manifest-links");
    fs::create_dir_all(scratch.join("d")).unwrap();
    fs::create_dir_all(scratch.join("empty/inner")).unwrap();
    std::os::unix::fs::symlink("nowhere", scratch.join("d/link")).unwrap();
    let root = Root::confined(&scratch.join("")).unwrap();
    assert_eq!(read(&root, "empty").unwrap_err(), "empty has no files in it to publish");
    assert!(read(&root, "d").unwrap_err().starts_with("link is a symbolic link"));
    assert!(read(&root, "/").unwrap_err().contains("d/link is a symbolic link"));
    assert!(read(&root, "none").unwrap_err().starts_with("cannot open none: "));
}
