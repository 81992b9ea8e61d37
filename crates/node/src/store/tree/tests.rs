//! Streams that no honest side sends.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use garland_core::tree::{GOOD, Meta, Record};
use proptest::prelude::*;

use super::*;

/// A folder with a target in it, and something beside it that nobody may touch.
fn place(test: &str) -> PathBuf {
    let top = std::env::temp_dir().join(format!("garland-hostile-{test}-{}", std::process::id()));
    fs::create_dir_all(top.join("target/kept")).unwrap();
    fs::create_dir_all(top.join("beside")).unwrap();
    fs::write(top.join("beside/file"), b"as it was").unwrap();
    symlink("../beside", top.join("target/link")).unwrap();
    symlink("../beside/file", top.join("target/file-link")).unwrap();
    top
}

/// What becomes of a stream of these records, each with bytes behind it.
fn obey(top: &Path, stream: &[(Record, &[u8])]) -> Result<(), String> {
    let target = top.join("target");
    let path = target.as_os_str().as_bytes();
    let store = TreeStore::open(&Root::Free, path, (false, false), "tag", None).unwrap();
    let mut bytes = Vec::new();
    for (record, behind) in stream {
        bytes.extend(record.to_bytes());
        bytes.extend(*behind);
    }
    store.write_at(0, &bytes).map_err(|error| error.to_string())?;
    let state = store.state();
    state.settler.troubles()
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
    let names = |path: &str| {
        let entries = fs::read_dir(top.join(path)).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names("beside"), ["file"]);
    assert_eq!(fs::read(top.join("beside/file")).unwrap(), b"as it was");
    assert_eq!(names("."), ["beside", "target"]);
}

#[test]
fn names_that_lead_out_end_the_copy() {
    let top = place("names");
    let hostile: [&[u8]; 6] = [b"..", b"../beside/x", b"/tmp/x", b".", b"", b"a\0b"];
    for name in hostile {
        for record in [(enter(name), &b""[..]), (file(name), BYTES)] {
            assert_eq!(obey(&top, &[record]), Err("a name that can't be".to_owned()), "{name:?}");
            assert_untouched(&top);
        }
        let link = Record::Name { name: b"ok".to_vec(), first: vec![name.to_vec()] };
        assert_eq!(obey(&top, &[(link, b"")]), Err("a name that can't be".to_owned()));
        let link = Record::Link { name: name.to_vec(), meta: meta(), target: b"x".to_vec() };
        assert_eq!(obey(&top, &[(link, b"")]), Err("a name that can't be".to_owned()));
    }
    let leave = obey(&top, &[(Record::Leave, b"")]).unwrap_err();
    assert_eq!(leave, "a folder is left that wasn't entered");
    assert_untouched(&top);
    fs::remove_dir_all(top).unwrap();
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
        // A link that lay there.
        &[(enter(b"link"), b""), (file(b"file"), BYTES), (Record::Leave, b"")],
        // One that the stream itself brings, absolute and relative.
        &[
            (link(out.as_os_str().as_bytes()), b""),
            (enter(b"new"), b""),
            (file(b"file"), BYTES),
            (Record::Leave, b""),
        ],
        &[(link(b"../beside"), b""), (enter(b"new"), b""), (Record::Leave, b"")],
        // A hard link to what lies beside, by a link among the folders.
        &[(named(&[b"link", b"file"]), b"")],
        // Times, modes and owners through a link.
        &[(enter(b"file-link"), b""), (Record::Leave, b"")],
    ];
    for stream in streams {
        assert!(obey(&top, stream).is_err(), "{stream:?}");
        assert_untouched(&top);
    }
    // A file in a link's place replaces the link and goes nowhere else.
    obey(&top, &[(file(b"file-link"), BYTES)]).unwrap();
    assert_eq!(fs::read(top.join("target/file-link")).unwrap(), [1, 2, 3]);
    assert_untouched(&top);
    fs::remove_dir_all(top).unwrap();
}

/// Any record, of names that lead somewhere here or should lead nowhere.
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
        let target = top.join("target");
        let path = target.as_os_str().as_bytes();
        let store = TreeStore::open(&Root::Free, path, (false, false), "tag", None).unwrap();
        let _ = store.write_at(0, &bytes);
        drop(store);
        assert_untouched(&top);
        fs::remove_dir_all(top).unwrap();
    }
}
