//! Status that a copy does not keep: modes and times.

use super::*;

/// What a copy without modes and times keeps.
const NEITHER: KeptStatus = KeptStatus { modes: false, times: false, owners: true };

#[test]
fn what_is_not_kept_is_as_mkdir_and_cp_leave_it() {
    let dir = Scratch::new("tree-unkept");
    fs::create_dir(dir.join("old")).unwrap();
    fs::write(dir.join("old/f"), "old").unwrap();
    for (path, mode) in [("old", 0o500), ("old/f", 0o606)] {
        fs::set_permissions(dir.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let mut extractor = extractor_in(&dir).keeping(NEITHER);
    let link = Record::Link { name: b"l".to_vec(), meta: meta_with(0o777), target: b"f".to_vec() };
    let record = |mode| Record::Enter { name: b"new".to_vec(), meta: meta_with(mode) };
    apply_all(&mut extractor, [enter(b"old")]);
    bring(&mut extractor, b"f", false);
    apply_all(&mut extractor, [Record::Leave, record(0o2777)]);
    let mut wide = file(b"f", false);
    if let Record::File { meta, .. } = &mut wide {
        meta.mode = 0o4777;
    }
    apply_all(&mut extractor, [wide]);
    extractor.write(b"new").unwrap();
    extractor.finish(true).unwrap();
    apply_all(&mut extractor, [Record::Leave, link]);
    assert_eq!(extractor.troubles(), Ok(()));
    let stat = |path: &str| fs::symlink_metadata(dir.join(path)).unwrap();
    let modes = ["old", "old/f", "new", "new/f"].map(|path| stat(path).mode() & 0o7777);
    let new = 0o777 & !process::umask();
    assert_eq!(modes, [0o500, 0o606, new, new]);
    let has_time = |path: &&str| stat(path).mtime() == 1_000_000_000;
    assert!(!["old", "old/f", "new", "new/f", "l"].iter().any(has_time));
    assert_eq!(fs::read(dir.join("old/f")).unwrap(), b"new");
}

#[test]
fn what_is_not_kept_cannot_be_refused() {
    for modes in [Modes::FixedAndRefused, Modes::FixedAndIgnored] {
        for (keeps, has) in [(KeptStatus::default(), false), (NEITHER, true)] {
            let dir = Scratch::new("tree-unrefused");
            let odd = Oddities { modes, refuses_times: true, ..Oddities::default() };
            let disk = HangingDisk::mount_odd(&dir, odd);
            let mut extractor = extractor_in(&dir).keeping(keeps);
            apply_all(&mut extractor, [enter(b"d")]);
            bring(&mut extractor, b"f", false);
            apply_all(&mut extractor, [Record::Leave]);
            assert_eq!(extractor.troubles().is_ok(), has, "{:?}", extractor.troubles());
            assert_eq!(fs::read(dir.join("d/f")).unwrap(), b"new");
            drop((extractor, disk));
        }
    }
}

#[test]
fn a_new_directory_without_modes_inherits_the_group_as_mkdir_does() {
    let dir = Scratch::new("tree-inherited-group");
    fs::create_dir(dir.join("shared")).unwrap();
    fs::set_permissions(dir.join("shared"), fs::Permissions::from_mode(0o2775)).unwrap();
    let mut extractor = extractor_in(&dir).keeping(NEITHER);
    apply_all(&mut extractor, [enter(b"shared"), enter(b"new"), enter(b"below")]);
    apply_all(&mut extractor, [Record::Leave, Record::Leave, Record::Leave]);
    let mode = |path: &str| fs::metadata(dir.join(path)).unwrap().mode() & 0o7777;
    let new = 0o2000 | 0o755 & !process::umask();
    assert_eq!(["shared", "shared/new", "shared/new/below"].map(mode), [0o2775, new, new]);
}

#[test]
fn a_file_whose_owner_is_not_kept_belongs_to_the_agent_and_runs_as_no_other_user() {
    for modes in [true, false] {
        let dir = Scratch::new("tree-unowned");
        let keeps = KeptStatus { modes, times: true, owners: false };
        let mut extractor = extractor_in(&dir).keeping(keeps);
        let mut foreign = file(b"f", false);
        if let Record::File { meta, .. } = &mut foreign {
            meta.mode = 0o6755;
            meta.owner = (65_534, 65_534);
        }
        apply_all(&mut extractor, [foreign]);
        extractor.write(b"new").unwrap();
        extractor.finish(true).unwrap();
        assert_eq!(extractor.troubles(), Ok(()));
        let stat = fs::metadata(dir.join("f")).unwrap();
        let wanted = if modes { 0o755 } else { 0o755 & !process::umask() };
        assert_eq!((stat.uid(), stat.mode() & 0o7777), (process::user_id(), wanted));
    }
}

#[test]
fn names_that_a_file_system_does_not_take_are_told_as_that() {
    let dir = Scratch::new("tree-names-refused");
    let odd = Oddities { refuses_colons: true, ..Oddities::default() };
    let disk = HangingDisk::mount_odd(&dir, odd);
    let mut extractor = extractor_in(&dir);
    bring(&mut extractor, b"a:b", true);
    apply_all(&mut extractor, [enter(b"d:e"), Record::Leave]);
    let link =
        Record::Link { name: b"l:m".to_vec(), meta: meta_with(0o777), target: b"f".to_vec() };
    apply_all(&mut extractor, [link]);
    bring(&mut extractor, b"f", true);
    apply_all(&mut extractor, [hard_link(b"g:h", &[b"f"])]);
    let not_taken = "the file system does not take this name";
    let parts = &extractor.absence().parts;
    let told: Vec<_> = parts.iter().map(|part| (&*part.path, &*part.reason)).collect();
    let wanted = [&b"a:b"[..], b"d:e", b"l:m", b"g:h"].map(|path| (path, not_taken));
    assert_eq!(told, wanted);
    assert_eq!(fs::read(dir.join("f")).unwrap(), b"new");
    drop(disk);
}
