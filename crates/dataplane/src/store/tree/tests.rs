//! Malicious streams.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;

use garland_core::tree::{GOOD, Meta, Record, TopName};
use garland_protocol::copy::KeptStatus;
use proptest::prelude::*;

use super::*;
use crate::store::file::{FileStore, Size};
use crate::tests::{Scratch, untraced};

/// A directory with a target in it, and files outside of the target that must not be touched.
fn place(test: &str) -> Scratch {
    let top = Scratch::new(&format!("hostile-{test}"));
    fs::create_dir_all(top.join("target/kept")).unwrap();
    fs::create_dir_all(top.join("beside")).unwrap();
    fs::write(top.join("beside/file"), b"as it was").unwrap();
    symlink("../beside", top.join("target/link")).unwrap();
    symlink("../beside/file", top.join("target/file-link")).unwrap();
    top
}

/// The target, for streams with these limits.
fn target(top: &Path, limits: TreeLimits) -> TreeDestination {
    let path = top.join("target").into_os_string().into_vec();
    TreeDestination {
        path,
        below: None,
        fsync: false,
        verify: false,
        keeps: KeptStatus::default(),
        limits,
    }
}

/// The limits of a copy that asked for `name`.
fn only(name: &[u8]) -> TreeLimits {
    TreeLimits { tops: Some(vec![TopName::Name(name.to_vec())]), ..TreeLimits::default() }
}

/// Extracts a stream of these records, each followed by its bytes.
fn obey(top: &Path, stream: &[(Record, &[u8])]) -> Result<(), String> {
    obey_within(top, TreeLimits::default(), stream)
}

/// Extracts a stream with `limits` into the target.
fn obey_within(top: &Path, limits: TreeLimits, stream: &[(Record, &[u8])]) -> Result<(), String> {
    let store = TreeStore::open(&Root::Free, &target(top, limits), "tag", None).unwrap();
    let mut bytes = Vec::new();
    for (record, behind) in stream {
        bytes.extend(record.to_bytes());
        bytes.extend(*behind);
    }
    store.write_at(0, &bytes).map_err(|error| error.to_string())?;
    let state = store.state.lock();
    state.extractor.troubles()
}

fn enter(name: &[u8]) -> Record {
    Record::Enter { name: name.to_vec(), meta: meta() }
}

fn file(name: &[u8]) -> Record {
    Record::File { name: name.to_vec(), meta: meta(), length: 3, sparse: false, linked: true }
}

fn meta() -> Meta {
    Meta { mode: 0o700, ..Meta::default() }
}

const BYTES: &[u8] = &[1, 2, 3, GOOD];

#[track_caller]
fn assert_untouched(top: &Path) {
    assert_eq!(names(top, "beside"), ["file"]);
    assert_eq!(fs::read(top.join("beside/file")).unwrap(), b"as it was");
    assert_eq!(names(top, "."), ["beside", "target"]);
}

/// The names in a directory below `top`, sorted.
fn names(top: &Path, path: &str) -> Vec<OsString> {
    let entries = fs::read_dir(top.join(path)).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    names.sort();
    names
}

/// The content of the target before a stream.
const THERE: [&str; 3] = ["file-link", "kept", "link"];

#[test]
fn names_that_were_not_asked_for_end_the_copy() {
    let top = place("asked");
    fs::write(top.join("target/.bashrc"), b"as it was").unwrap();
    let came = [(enter(b"data"), &b""[..]), (file(b"x"), BYTES), (Record::Leave, b"")];
    let link = Record::Link { name: b".bashrc".to_vec(), meta: meta(), target: b"x".to_vec() };
    let named = Record::Name { name: b".bashrc".to_vec(), first: vec![b"data".to_vec()] };
    for (record, behind) in
        [(file(b".bashrc"), BYTES), (enter(b".bashrc"), b""), (link, b""), (named, b"")]
    {
        let stream = [&came[..], &[(record, behind)]].concat();
        let wanted = "the source sent .bashrc, but only data was requested";
        assert_eq!(obey_within(&top, only(b"data"), &stream), Err(wanted.to_owned()));
        assert_eq!(fs::read(top.join("target/.bashrc")).unwrap(), b"as it was");
    }
    assert_eq!(names(&top, "target"), [".bashrc", "data", "file-link", "kept", "link"]);
    assert_eq!(names(&top, "target/data"), ["x"]);
    // A copy of everything in a directory may bring any name.
    obey(&top, &[(file(b".bashrc"), BYTES)]).unwrap();
    assert_eq!(fs::read(top.join("target/.bashrc")).unwrap(), [1, 2, 3]);
}

#[test]
fn nothing_is_removed_unless_that_was_asked_for() {
    let top = place("sweep");
    let sweep = [(Record::Spare(Vec::new()), &b""[..]), (Record::Sweep, b"")];
    let inside = [(enter(b"kept"), &b""[..]), (Record::Sweep, b""), (Record::Leave, b"")];
    fs::write(top.join("target/kept/x"), b"").unwrap();
    for stream in [&sweep[..], &sweep[1..], &inside, &[&sweep[..1], &inside].concat()] {
        for limits in [only(b"kept"), TreeLimits::default()] {
            let said = obey_within(&top, limits, stream).unwrap_err();
            assert!(said.contains("an order to remove files, which was not requested"), "{said}");
            assert_eq!(names(&top, "target"), THERE);
            assert_eq!(names(&top, "target/kept"), ["x"]);
        }
    }
    let asked = TreeLimits { removes: Some(u64::MAX), ..TreeLimits::default() };
    obey_within(&top, asked, &sweep).unwrap();
    assert_eq!(names(&top, "target"), Vec::<OsString>::new());
    assert_untouched(&top);
}

#[test]
fn a_link_in_the_place_of_a_nodes_folder_is_not_followed() {
    let top = place("own");
    let own = |name: &[u8]| TreeDestination {
        below: Some(name.to_vec()),
        ..target(&top, TreeLimits::default())
    };
    for (name, reason) in [
        (&b"link"[..], "it is a symbolic link, which is not followed"),
        (b"file-link", "it is a symbolic link, which is not followed"),
        (b"..", "it is not a single path component"),
        (b"../beside", "it is not a single path component"),
    ] {
        let said = TreeStore::open(&Root::Free, &own(name), "tag", None).err().unwrap();
        assert!(said.to_string().ends_with(reason), "{said}");
        let file = FileStore::create_below(
            &Root::Free,
            &own(name).path,
            name,
            b"x",
            Size::whole(3),
            "tag",
        );
        let said = file.err().unwrap();
        assert!(said.to_string().ends_with(reason), "{said}");
        assert_untouched(&top);
    }
    let store = TreeStore::open(&Root::Free, &own(b"n1"), "tag", None).unwrap();
    let bytes = [&file(b"x").to_bytes()[..], BYTES].concat();
    store.write_at(0, &bytes).unwrap();
    drop(store);
    assert_eq!(names(&top, "target/n1"), ["x"]);
}

#[test]
fn names_that_lead_out_end_the_copy() {
    let top = place("names");
    let hostile: [&[u8]; 6] = [b"..", b"../beside/x", b"/tmp/x", b".", b"", b"a\0b"];
    for name in hostile {
        for record in [(enter(name), &b""[..]), (file(name), BYTES)] {
            assert_eq!(
                obey(&top, &[record]),
                Err("a record has an invalid file name".to_owned()),
                "{name:?}"
            );
            assert_untouched(&top);
        }
        let link = Record::Name { name: b"ok".to_vec(), first: vec![name.to_vec()] };
        assert_eq!(obey(&top, &[(link, b"")]), Err("a record has an invalid file name".to_owned()));
        let link = Record::Link { name: name.to_vec(), meta: meta(), target: b"x".to_vec() };
        assert_eq!(obey(&top, &[(link, b"")]), Err("a record has an invalid file name".to_owned()));
    }
    let leave = obey(&top, &[(Record::Leave, b"")]).unwrap_err();
    assert_eq!(leave, "`Enter` and `Leave` records do not match");
    assert_untouched(&top);
}

#[test]
fn no_link_is_a_way_out_wherever_it_came_from() {
    let top = place("links");
    let link = |target: &[u8]| Record::Link {
        name: b"new".to_vec(),
        meta: meta(),
        target: target.to_vec(),
    };
    let out = top.join("beside");
    let named = |first: &[&[u8]]| Record::Name {
        name: b"hard".to_vec(),
        first: first.iter().map(|name| name.to_vec()).collect(),
    };
    let streams: [&[(Record, &[u8])]; 5] = [
        // An existing link.
        &[(enter(b"link"), b""), (file(b"file"), BYTES), (Record::Leave, b"")],
        // A link which the stream itself creates, absolute and relative.
        &[
            (link(out.as_os_str().as_bytes()), b""),
            (enter(b"new"), b""),
            (file(b"file"), BYTES),
            (Record::Leave, b""),
        ],
        &[(link(b"../beside"), b""), (enter(b"new"), b""), (Record::Leave, b"")],
        // A hard link to an outside file, by a link among the directories.
        &[(named(&[b"link", b"file"]), b"")],
        // Times, modes and owners through a link.
        &[(enter(b"file-link"), b""), (Record::Leave, b"")],
    ];
    for stream in streams {
        assert!(obey(&top, stream).is_err(), "{stream:?}");
        assert_untouched(&top);
    }
    // A file replaces a link of its name and is not written through it.
    obey(&top, &[(file(b"file-link"), BYTES)]).unwrap();
    assert_eq!(fs::read(top.join("target/file-link")).unwrap(), [1, 2, 3]);
    assert_untouched(&top);
}

#[test]
fn entries_are_named_as_absent_only_if_all_others_are_in_place() {
    let top = place("absent");
    let committed = |records: &[Record]| {
        let to = target(&top, TreeLimits::default());
        let store = TreeStore::open(&Root::Free, &to, "tag", None).unwrap();
        // A directory has the name of the file.
        store.write_at(0, &[file(b"kept").to_bytes(), BYTES.to_vec()].concat()).unwrap();
        records.iter().for_each(|record| store.write_at(0, &record.to_bytes()).unwrap());
        let told = store.commit(&untraced()).unwrap_err().to_string();
        (told, store.absence().map(|absence| absence.missed))
    };
    let early = "the stream of the tree ended early".to_owned();
    assert_eq!(committed(&[]), (early, None));
    let whole = committed(&[Record::End]);
    assert_eq!(whole.1, Some(1), "{}", whole.0);
}

#[test]
fn a_hole_costs_nothing_however_long_it_is() {
    const LENGTH: u64 = 1 << 40;
    const BLOCK: usize = 1 << 30;
    let top = place("hole");
    let store =
        TreeStore::open(&Root::Free, &target(&top, TreeLimits::default()), "tag", None).unwrap();
    let name = b"sparse".to_vec();
    let record = Record::File { name, meta: meta(), length: LENGTH, sparse: true, linked: false };
    store.write_at(0, &[&record.to_bytes()[..], b"x"].concat()).unwrap();
    for block in 0..LENGTH / BLOCK as u64 {
        store.leave_hole(block, BLOCK - usize::from(block == 0)).unwrap();
    }
    store.write_at(0, &[GOOD]).unwrap();
    let stat = fs::metadata(top.join("target/sparse")).unwrap();
    assert_eq!(stat.len(), LENGTH);
    assert!(stat.blocks() < 64, "{} blocks", stat.blocks());
}

/// Any record, with names that exist here or lead out of the target.
fn any_record() -> impl Strategy<Value = (Record, &'static [u8])> {
    let name = || {
        let names: [&[u8]; 7] =
            [b"link", b"file-link", b"new", b"kept", b"file", b"..", b"../beside/file"];
        proptest::sample::select(names.map(<[u8]>::to_vec).to_vec())
    };
    let targets: [&[u8]; 4] = [b"../beside", b"../beside/file", b"/", b"new"];
    let target = proptest::sample::select(targets.map(<[u8]>::to_vec).to_vec());
    let first = proptest::collection::vec(name(), 1..4);
    prop_oneof![
        name().prop_map(|name| (enter(&name), &b""[..])),
        name().prop_map(|name| (file(&name), BYTES)),
        (name(), target)
            .prop_map(|(name, target)| { (Record::Link { name, meta: meta(), target }, &b""[..]) }),
        (name(), first).prop_map(|(name, first)| (Record::Name { name, first }, &b""[..])),
        Just((Record::Leave, &b""[..])),
        Just((Record::Top(meta()), &b""[..])),
        Just((Record::Spare(Vec::new()), &b""[..])),
        Just((Record::Sweep, &b""[..])),
    ]
}

proptest! {
    #[test]
    fn no_stream_reaches_what_lies_beside(stream in proptest::collection::vec(any_record(), 0..12), changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 0..3)) {
        let top = place("any");
        let mut bytes: Vec<u8> = Vec::new();
        for (record, behind) in &stream {
            bytes.extend(record.to_bytes());
            bytes.extend(*behind);
        }
        for (at, byte) in changes {
            let at = usize::from(at) % bytes.len().max(1);
            bytes.get_mut(at).into_iter().for_each(|place| *place = byte);
        }
        // With one requested name, and with any name: nothing is removed.
        for limits in [only(b"new"), TreeLimits::default()] {
            let store = TreeStore::open(&Root::Free, &target(&top, limits.clone()), "tag", None).unwrap();
            let _ = store.write_at(0, &bytes);
            drop(store);
            assert_untouched(&top);
            let there = names(&top, "target");
            assert!(THERE.iter().all(|name| there.contains(&(*name).into())), "{there:?}");
            if limits.tops.is_some() {
                assert!(there.iter().all(|name| name == "new" || THERE.iter().any(|it| name == it)), "{there:?}");
                assert!(fs::symlink_metadata(top.join("target/link")).unwrap().is_symlink());
                assert_eq!(names(&top, "target/kept"), Vec::<OsString>::new());
            }
        }
    }
}

#[test]
fn a_file_that_takes_the_name_of_a_new_link_gets_neither_its_owner_nor_its_time() {
    let top = Scratch::new("link-swapped");
    let folder = std::os::fd::OwnedFd::from(fs::File::open(&top).unwrap());
    let wanted = Meta { modified: (1_000_000_000, 0), owner: (12_345, 12_345), ..meta() };
    let keeps = KeptStatus::default();
    let apply = |name: &str| metadata::apply_to_link(&folder, OsStr::new(name), &wanted, keeps);
    let status = |name: &str| {
        let stat = fs::symlink_metadata(top.join(name)).unwrap();
        (stat.mtime(), stat.uid(), stat.gid())
    };
    fs::write(top.join("file"), b"of another user").unwrap();
    symlink("nowhere", top.join("link")).unwrap();
    fs::hard_link(top.join("link"), top.join("second")).unwrap();
    for name in ["file", "second"] {
        let before = status(name);
        assert!(apply(name).is_err(), "{name}");
        assert_eq!(status(name), before, "{name}");
    }
    fs::remove_file(top.join("second")).unwrap();
    // Only root may give it the owner; the time can be set in any case.
    let _ = apply("link").unwrap();
    assert_eq!(status("link").0, 1_000_000_000);
}
