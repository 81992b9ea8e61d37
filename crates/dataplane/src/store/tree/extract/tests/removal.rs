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
        let mut extractor = extractor_in(&dir).removing_at_most(removes_max);
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
    let mut extractor = extractor_in(&dir).removing_at_most(0);
    apply_all(&mut extractor, [Record::Spare(Vec::new()), Record::Sweep, Record::End]);
    assert_eq!(fs::metadata(dir.join("closed")).unwrap().mode() & 0o7777, 0o500);
    let told = extractor.troubles().unwrap_err();
    assert!(told.ends_with("1 entry: closed: not removed: --max-delete 0 is reached"), "{told}");
}

#[test]
fn a_directory_that_is_emptied_and_stays_keeps_its_mode() {
    let dir = Scratch::new("tree-emptied");
    fs::create_dir(dir.join("closed")).unwrap();
    fs::write(dir.join("closed/only"), "surplus").unwrap();
    fs::set_permissions(dir.join("closed"), fs::Permissions::from_mode(0o500)).unwrap();
    let mut extractor = extractor_in(&dir).removing_at_most(1);
    apply_all(&mut extractor, [Record::Spare(Vec::new()), Record::Sweep, Record::End]);
    assert!(extractor.troubles().is_err(), "the directory would be the second one");
    assert_eq!(fs::read_dir(dir.join("closed")).unwrap().count(), 0);
    assert_eq!(fs::metadata(dir.join("closed")).unwrap().mode() & 0o7777, 0o500);
}

#[test]
fn what_a_file_system_lists_under_another_name_is_not_removed() {
    let [all, dots]: [Fold; 2] = [folds_all, strips_dots];
    for (fold, lists_folded, names, surplus) in [
        (Some(all), true, &["README", "Dir", "III"][..], &["old"][..]),
        (Some(lowers as Fold), true, &["Caf\u{c9}", "x"], &["old", "y"]),
        (Some(dots), true, &["end.", "x"], &["old"]),
        // What is not one there goes, however similar it is.
        (Some(all), false, &["README", "Dir"], &["readme.", "old"]),
        (
            None,
            false,
            &["README", "Dir", "end.", "III"],
            &["readme", "Readme", "dir", "end", "END.", "iii"],
        ),
    ] {
        let dir = Scratch::new("tree-removes-folded");
        let oddities = Oddities { folds: fold, lists_folded, ..Oddities::default() };
        let disk = HangingDisk::mount_odd(&dir, oddities);
        for name in surplus {
            fs::write(dir.join(name), "surplus").unwrap();
        }
        for _ in 0..2 {
            let mut extractor = extractor_in(&dir);
            apply_all(&mut extractor, [Record::Spare(Vec::new())]);
            for name in names {
                extractor.keep(name.as_bytes());
                if !dir.join(name).exists() {
                    bring(&mut extractor, name.as_bytes(), false);
                }
            }
            apply_all(&mut extractor, [Record::Sweep, Record::End]);
            assert_eq!(extractor.troubles(), Ok(()), "{names:?}");
            assert!(names.iter().all(|name| dir.join(name).exists()), "{names:?}");
            assert_eq!(fs::read_dir(&dir).unwrap().count(), names.len(), "{names:?}");
        }
        drop(disk);
    }
}

#[test]
fn what_two_names_of_the_tree_may_stand_for_keeps_the_first_ones_bytes() {
    let dir = Scratch::new("tree-folds-twice");
    let odd = Oddities { folds: Some(lowers), lists_folded: true, ..Oddities::default() };
    let disk = HangingDisk::mount_odd(&dir, odd);
    for (names, are_folders) in [(["Read", "read"], false), (["Dir", "dir"], true)] {
        for round in 0..3 {
            let mut extractor = extractor_in(&dir);
            for (name, bytes) in names.into_iter().zip([b"one", b"two"]) {
                if are_folders {
                    apply_all(&mut extractor, [enter(name.as_bytes())]);
                    bring_bytes(&mut extractor, b"f", bytes);
                    apply_all(&mut extractor, [Record::Leave]);
                } else {
                    bring_bytes(&mut extractor, name.as_bytes(), bytes);
                }
            }
            let path = if are_folders { "dir/f" } else { "read" };
            assert_eq!(fs::read(dir.join(path)).unwrap(), b"one", "{path} in round {round}");
            assert!(extractor.troubles().is_err(), "{path} in round {round}");
        }
    }
    drop(disk);
}
