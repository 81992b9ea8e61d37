use super::*;

fn manifest() -> NameManifest {
    let layout = Layout::new(10_000, 4096).expect("a usual size");
    let file = |path: &[u8]| NamedFile {
        path: path.to_vec(),
        mode: 0o644,
        modified: (7, 9),
        layout,
        digests: vec![[1; 32], [2; 32], [3; 32]],
    };
    NameManifest { base: b"d".to_vec(), is_tree: true, files: vec![file(b"a/b"), file(b"c")] }
}

#[test]
fn only_the_key_makes_a_record_and_every_field_counts() {
    let key = Secret([1; 32]);
    let [public, other] = [&key, &Secret([2; 32])].map(RecordKey::of);
    let content = NamedContent { root: [3; 32], length: 5, files: 1 };
    let record = NameRecord::new("llama:v3", 7, Some(content), &key);
    assert!(record.is_signed_by(&public) && !record.is_signed_by(&other));
    let changed = [
        NameRecord { name: "llama:v4".to_owned(), ..record.clone() },
        NameRecord { number: 8, ..record.clone() },
        NameRecord { content: None, ..record.clone() },
        NameRecord { content: Some(NamedContent { root: [4; 32], ..content }), ..record.clone() },
        NameRecord { content: Some(NamedContent { length: 6, ..content }), ..record.clone() },
        NameRecord { content: Some(NamedContent { files: 2, ..content }), ..record.clone() },
    ];
    assert!(changed.iter().all(|record| !record.is_signed_by(&public)));
    assert!(NameRecord::new("x", 7, None, &key).is_signed_by(&public));
}

#[test]
fn a_record_takes_at_most_512_bytes_of_memory() {
    assert!(size_of::<NameRecord>() + NAME_MAX <= 512);
}

#[test]
fn a_manifest_survives_and_a_changed_one_is_refused() {
    let manifest = manifest();
    let (bytes, content) = manifest.encode().expect("it is short");
    assert_eq!((content.length, content.files), (20_000, 2));
    assert_eq!(NameManifest::parse(&bytes), Ok(manifest.clone()));
    let refused = |change: fn(&mut NameManifest)| {
        let mut wrong = manifest.clone();
        change(&mut wrong);
        NameManifest::parse(&wrong.encode().expect("it is short").0).is_err()
    };
    assert!(refused(|it| it.base = b"..".to_vec()));
    assert!(refused(|it| it.files[0].path = b"../x".to_vec()));
    assert!(refused(|it| it.files[0].path = b"/x".to_vec()));
    assert!(refused(|it| it.files[1].digests.push([0; 32])));
    assert!(refused(|it| it.files[1].layout.block_size = 0));
    assert!(refused(|it| it.is_tree = false));
    assert!(NameManifest::parse(&bytes[1..]).is_err());
}

#[test]
fn names_and_holders_are_bounded() {
    for name in ["llama-70b:v3", "meta/llama@2", "a"] {
        assert_eq!(check_name(name), Ok(()));
    }
    for name in ["", "a b", "-a", "a\n", "ü", &"x".repeat(NAME_MAX + 1)] {
        assert!(check_name(name).is_err(), "{name}");
    }
    for name in ["..", ".", "a//b", "/a", "a/", "a/../b"] {
        assert!(check_name(name).unwrap_err().contains("between slashes"), "{name}");
    }
    assert_eq!(check_name("a/..b"), Ok(()));
    let record = NameRecord::new("a", 1, None, &Secret([0; 32]));
    let mut entry = NameEntry { record, holders: Vec::new() };
    let holder = |number: usize, length| NameHolder {
        node: format!("n{number}"),
        kind: HolderKind::Node,
        path: vec![b'x'; length],
    };
    (0..HOLDERS_MAX + 5).for_each(|number| entry.add(holder(number, PATH_MAX)));
    entry.add(holder(3, 1));
    assert_eq!((entry.holders.len(), entry.check()), (HOLDERS_MAX, Ok(())));
    let mut forged = entry.clone();
    forged.holders[0].node = "n1\nok      n2".to_owned();
    assert!(forged.check().is_err());
    let message = crate::FromAgent::Names(NamesEvent::Entry(Box::new(entry)));
    assert!(crate::Message::to_bytes(&message).len() <= crate::MAX_MESSAGE);
}

#[test]
fn the_time_of_a_file_changes_with_its_content_and_not_alone() {
    let old = manifest();
    let after = |digest, modified| {
        let mut new = manifest();
        new.files[1].digests[2] = [digest; 32];
        new.files.iter_mut().for_each(|file| file.modified = modified);
        new.following(&old).files.iter().map(|file| file.modified).collect::<Vec<_>>()
    };
    assert_eq!(after(3, (8, 0)), [(7, 9), (7, 9)]);
    assert_eq!(after(4, (8, 0)), [(7, 9), (8, 0)]);
    assert_eq!(after(4, (7, 9)), [(7, 9), (7, 10)]);
    assert_eq!(after(4, (7, 0)), [(7, 9), (7, 10)]);
    assert_eq!(after(4, (6, 0)), [(7, 9), (6, 0)]);
}
