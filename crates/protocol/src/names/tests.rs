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
    let url = NameHolder {
        node: "https://example.org/llama".to_owned(),
        kind: HolderKind::Origin,
        path: Vec::new(),
    };
    let sourced = record.clone().with_sources(std::slice::from_ref(&url), &key);
    assert!(sourced.is_signed_by(&public) && sourced.sources() == [url]);
    let moved = |node: &str, kind| {
        let source = NameHolder { node: node.to_owned(), kind, path: Vec::new() };
        NameRecord { sources: vec![source], ..sourced.clone() }
    };
    let changed = [
        NameRecord { sources: Vec::new(), ..sourced.clone() },
        NameRecord { sources: sourced.sources.clone(), ..record.clone() },
        moved("http://127.0.0.1/internal/restart", HolderKind::Origin),
        moved("https://example.org/llama", HolderKind::Head),
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
fn the_bytes_that_are_signed_are_these() {
    let content = NamedContent { root: [3; 32], length: 5, files: 1 };
    let source = NameHolder {
        node: "host".to_owned(),
        kind: HolderKind::Head,
        path: b"data/model".to_vec(),
    };
    let record = NameRecord::new("m:1", 7, Some(content), &Secret([1; 32]));
    let record = record.with_sources(&[source], &Secret([1; 32]));
    let mut bytes = [&[7, 0, 0, 0, 0, 0, 0, 0, 1][..], &[3; 32]].concat();
    bytes.extend([5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(b"m:1\x01\x04host\x00\x0adata/model");
    assert_eq!(record.signed(), bytes);
}

#[test]
fn a_list_of_records_takes_at_most_half_of_its_memory() {
    let most = size_of::<NameEntry>() + NAME_MAX + SOURCES_MEMORY_MAX;
    assert!(most * NAMES_MAX <= NAMES_MEMORY_MAX / 2, "{most}");
}

#[test]
fn the_last_sources_of_a_name_count_and_a_node_is_none() {
    let key = Secret([1; 32]);
    let content = NamedContent { root: [3; 32], length: 5, files: 1 };
    let source = |number: usize, length: usize| NameHolder {
        node: format!("https://h/{number}{}", "x".repeat(length)),
        kind: HolderKind::Origin,
        path: Vec::new(),
    };
    let record = |sources: &[NameHolder]| {
        NameRecord::new("a", 1, Some(content), &key).with_sources(sources, &key)
    };
    let many: Vec<_> = (0..6).map(|number| source(number, 0)).collect();
    assert_eq!(record(&many).sources(), &many[2..]);
    let long: Vec<_> = (0..3).map(|number| source(number, PATH_MAX - 12)).collect();
    assert_eq!(record(&long).sources(), &long[2..]);
    let entry = |record| NameEntry { record, holders: Vec::new() };
    let of_node = NameHolder { kind: HolderKind::Node, ..source(1, 0) };
    assert!(entry(record(&many)).check().is_ok() && entry(record(&long)).check().is_ok());
    assert!(entry(record(std::slice::from_ref(&of_node))).check().is_err());
    let forged = NameRecord { sources: long, ..record(&[]) };
    assert!(entry(forged).check().is_err(), "it has room for one of these");
    // What is not signed names a node, and no address.
    let mut unsigned = entry(record(&[]));
    unsigned.holders = vec![source(1, 0)];
    assert!(unsigned.check().is_err());
    let ended = NameRecord::new("a", 2, None, &key).with_sources(&many, &key);
    assert!(ended.sources().is_empty());
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
    let content = NamedContent { root: [3; 32], length: 5, files: 1 };
    let longest =
        NameHolder { node: "x".repeat(260), kind: HolderKind::Head, path: vec![b'x'; PATH_MAX] };
    let record = NameRecord::new("a", 1, Some(content), &Secret([0; 32]));
    let record = record.with_sources(std::slice::from_ref(&longest), &Secret([0; 32]));
    assert_eq!(record.sources(), [longest]);
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
