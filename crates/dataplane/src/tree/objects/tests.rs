//! Tests of trees of objects.

use garland_core::tree::Pattern;
use garland_sys::confine::Root;

use super::super::place::record_of;
use super::*;

fn files(paths: &[(&'static str, u64)]) -> Vec<ObjectFile<'static>> {
    let file = |(path, length): &(&'static str, u64)| ObjectFile {
        path: path.as_bytes(),
        is_readable: !path.contains('\n'),
        length: *length,
        mode: 0o644,
        modified: (7, 0),
    };
    paths.iter().map(file).collect()
}

/// The records as a line: names, `<` for the end of a directory, `-` for its sweep.
fn line(scan: &Scan) -> String {
    let word = |number| match record_of(&scan.index, number).expect("it is sound") {
        Record::Leave => "<".to_owned(),
        Record::Sweep => "-".to_owned(),
        Record::Enter { name, .. } => format!("{}/", String::from_utf8_lossy(&name)),
        Record::File { name, length, .. } => {
            let Body::File(stamp) = scan.index.body(number) else { panic!("it has a body") };
            format!("{}:{length}#{}", String::from_utf8_lossy(&name), stamp.object())
        }
        _ => String::new(),
    };
    (0..scan.index.len()).map(word).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn tree(paths: &[(&'static str, u64)], top: &str, excludes: &[&str], sweep: bool) -> Scan {
    let excludes = excludes.iter().map(|text| Pattern::parse(text.as_bytes()).expect("a pattern"));
    let options = ScanOptions {
        excludes: excludes.collect(),
        attributes: false,
        sweep,
        one_file_system: false,
        root: &Root::Free,
        stop: &|| false,
    };
    tree_of(files(paths).into_iter(), top.as_bytes(), (0, 0), &options)
}

#[test]
fn keys_become_directories_and_files_with_their_numbers() {
    let paths = [("a-b", 1), ("a/x", 2), ("a/y/z", 3), ("a/y/zz", 0), ("b/x", 4)];
    let plain = tree(&paths, "", &[], false);
    assert_eq!(line(&plain), "a-b:1#0 a/ x:2#1 y/ z:3#2 zz:0#3 < < b/ x:4#4 <");
    assert_eq!((plain.tally.files, plain.tally.folders), (5, 3));
    let named = tree(&paths, "top", &["y/", "/top/b/x"], true);
    assert_eq!(line(&named), "top/ a-b:1#0 a/ x:2#1 - < - <");
}

#[test]
fn objects_that_stand_for_directories_are_none_and_those_with_bytes_are_told() {
    let paths = [("a", 0), ("a!", 5), ("a/x", 2), ("b", 9), ("b/x", 1)];
    let made = tree(&paths, "", &[], true);
    // Nothing is removed where not everything is copied.
    assert_eq!(line(&made), "a!:5#1 a/ x:2#2 < b/ x:1#4 <");
    assert_eq!((made.left_out.len(), made.unswept.len()), (1, 3));
    assert!(made.left_out[0].failed && made.left_out[0].path.ends_with("b"));
}

#[test]
fn keys_of_objects_imply_a_bounded_number_of_directories() {
    let deep = files(&[("1/a/b/c/d/e/f/x", 1), ("2/a/b/c/d/e/f/x", 1), ("3/a/b/c/d/e/f/x", 1)]);
    let listed = |most| directories_of(deep.iter().copied(), most).objects;
    // Seven for each key, of which four are always allowed.
    assert_eq!([0, 2, 3, 5, 6].map(listed), [1, 1, 2, 2, usize::MAX]);
    let flat: Vec<(&str, u64)> = vec![("a/b/c/d/x", 1), ("e/f/g/h/x", 1), ("i/j/k/l/x", 1)];
    assert_eq!(directories_of(files(&flat).into_iter(), 4).objects, usize::MAX);
}

#[test]
fn keys_that_are_no_paths_are_told() {
    let made = tree(&[("../x", 1), ("a/./b", 1), ("a//b", 1), ("ok", 1)], "", &[], false);
    assert_eq!(line(&made), "ok:1#3");
    assert_eq!(made.left_out.len(), 3);
    // No directory is made for them, whose name another object has.
    let made = tree(&[("a", 1), ("a//b", 1), ("c\nd", 1), ("e/", 2)], "", &[], false);
    assert_eq!(line(&made), "a:1#0");
    assert_eq!(made.left_out.len(), 3);
}

#[test]
fn empty_objects_with_a_slash_are_directories() {
    let paths = [("a/", 0), ("b/", 0), ("b/c/", 0), ("b/c/x", 1), ("d", 1), ("d/", 0), ("e/f/", 0)];
    let made = tree(&paths, "", &[], true);
    // `d` cannot be a file and a directory.
    assert_eq!(line(&made), "a/ - < b/ c/ x:1#3 < < d/ < e/ f/ < <");
    assert_eq!(made.left_out.len(), 1);
    // In whatever order they come, none is made twice, and patterns hold.
    let mixed = tree(&[("b/c/x", 1), ("q", 1), ("b/", 0), ("z/", 0)], "top", &["z/"], false);
    assert_eq!(line(&mixed), "top/ b/ c/ x:1#0 < < q:1#1 <");
    assert_eq!((mixed.tally.files, mixed.tally.folders), (2, 3));
}
