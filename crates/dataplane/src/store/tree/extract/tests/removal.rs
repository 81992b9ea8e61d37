//! At most so many entries are removed that the source does not have.

use super::*;

#[test]
fn at_most_the_maximum_is_removed_and_the_rest_is_named() {
    for (removes_max, left) in [(0, 4), (1, 3), (2, 2), (4, 0), (u64::MAX, 0)] {
        let dir = Scratch::new("tree-removes-max");
        fs::create_dir(dir.join("d")).unwrap();
        for path in ["a", "b", "d/c"] {
            fs::write(dir.join(path), "surplus").unwrap();
        }
        let mut extractor = extractor(&dir).removing_at_most(removes_max);
        apply_all(&mut extractor, [Record::Spare(Vec::new())]);
        bring(&mut extractor, b"f", false);
        apply_all(&mut extractor, [Record::Sweep, Record::End]);
        let there = ["a", "b", "d", "d/c"].iter().filter(|path| dir.join(path).exists()).count();
        assert_eq!(there, left, "{removes_max}");
        let told = extractor.troubles();
        assert_eq!(told.is_ok(), left == 0, "{told:?}");
        if let Err(told) = told {
            let why = format!(": not removed: --max-delete {removes_max} is reached");
            assert!(told.contains(&why), "{told}");
        }
        assert_eq!(fs::read(dir.join("f")).unwrap(), b"new");
    }
}

#[test]
fn beyond_the_maximum_directories_are_not_even_opened_for_removal() {
    let dir = Scratch::new("tree-removes-none");
    fs::create_dir(dir.join("closed")).unwrap();
    fs::write(dir.join("closed/f"), "surplus").unwrap();
    fs::set_permissions(dir.join("closed"), fs::Permissions::from_mode(0o500)).unwrap();
    let mut extractor = extractor(&dir).removing_at_most(0);
    apply_all(&mut extractor, [Record::Spare(Vec::new()), Record::Sweep, Record::End]);
    assert_eq!(fs::metadata(dir.join("closed")).unwrap().mode() & 0o7777, 0o500);
    let told = extractor.troubles().unwrap_err();
    assert!(told.ends_with("1 entry: closed: not removed: --max-delete 0 is reached"), "{told}");
}
