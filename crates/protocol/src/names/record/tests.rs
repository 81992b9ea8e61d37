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
    let [public, other] = [&key, &Secret([2; 32])].map(RecordKey::from_secret);
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
    let example = manifest();
    let (bytes, content) = example.encode().expect("it is short");
    assert_eq!((content.length, content.files), (20_000, 2));
    assert_eq!(NameManifest::parse(&bytes), Ok(example.clone()));
    let refused = |change: fn(&mut NameManifest)| {
        let mut wrong = example.clone();
        change(&mut wrong);
        wrong.encode().is_err() && NameManifest::parse(&encoded(&wrong)).is_err()
    };
    assert!(refused(|it| it.base = b"..".to_vec()));
    assert!(refused(|it| it.files[0].path = b"../x".to_vec()));
    assert!(refused(|it| it.files[0].path = b"/x".to_vec()));
    assert!(refused(|it| it.files[1].digests.push([0; 32])));
    assert!(refused(|it| it.files[1].layout.block_size = 0));
    assert!(refused(|it| it.is_tree = false));
    assert!(NameManifest::parse(&bytes[1..]).is_err());
}

/// Returns why a manifest with files of these paths is refused, read or written.
fn refused_paths<const COUNT: usize>(paths: [Vec<u8>; COUNT]) -> Option<String> {
    let mut changed = manifest();
    let file = changed.files[0].clone();
    let with_path = |path| NamedFile { path, ..file.clone() };
    changed.files = paths.into_iter().map(with_path).collect();
    let refused = NameManifest::parse(&encoded(&changed)).err();
    assert_eq!(changed.encode().err(), refused, "what is refused is not published");
    refused
}

#[test]
fn a_manifest_has_paths_that_a_copy_can_make_and_nothing_else() {
    let nested = |names: usize| vec!["d"; names].join("/").into_bytes();
    let long = |bytes: usize| vec!["d".repeat(255); 17].join("/").into_bytes()[..bytes].to_vec();
    let sound = [b"a.b".to_vec(), nested(NAMES_OF_PATH_MAX), long(4095)];
    for path in sound {
        assert_eq!(refused_paths([path]), None);
    }
    assert_eq!(refused_paths([b"a".to_vec(), b"a.b".to_vec(), b"b/a".to_vec()]), None);
    // A directory's files follow each other, also if a neighbour has a smaller byte than `/`.
    assert_eq!(refused_paths([b"a/b".to_vec(), b"a.b".to_vec()]), None);
    let refused = |paths: &[&[u8]]| match *paths {
        [one] => refused_paths([one.to_vec()]),
        [one, two] => refused_paths([one, two].map(<[u8]>::to_vec)),
        _ => None,
    };
    let deep = nested(NAMES_OF_PATH_MAX + 1);
    let million = nested(1_000_000);
    for path in [&deep[..], &million, &long(4096)] {
        let reason = refused(&[path]).expect("it is too long");
        assert!(reason.ends_with("has more than 4095 bytes or 199 names"), "{reason}");
    }
    for path in [&b"x/"[..], b"a//b", b"a/./b", b"a/\0", &[b'x'; 256]] {
        let reason = refused(&[path]).expect("it has such a name");
        assert!(reason.ends_with("leads elsewhere, or has a name that is too long"), "{reason}");
    }
    for (paths, reason) in [
        ([&b"a"[..], b"a/b"], "the manifest has a file above `a/b`"),
        ([b"a/b", b"a/b"], "the manifest has two files with the path `a/b`"),
        ([b"b", b"a"], "the manifest has `a` out of order"),
        ([b"a.b", b"a/b"], "the manifest has `a/b` out of order"),
    ] {
        assert_eq!(refused(&paths).as_deref(), Some(reason));
    }
    let mut base = manifest();
    base.base = vec![b'x'; 256];
    assert!(base.encode().is_err() && NameManifest::parse(&encoded(&base)).is_err());
}

#[test]
fn a_manifest_of_very_many_files_takes_no_memory() {
    let mut bytes = encoded(&(b"d".to_vec(), true, NAMED_FILES_MAX + 1));
    // Files follow; none is read.
    bytes.extend([1, b'a']);
    let refused = NameManifest::parse(&bytes).expect_err("it has too many files");
    assert_eq!(refused, "250001 files of a manifest: must be 0 to 250000");
}

#[test]
fn a_manifest_implies_a_bounded_number_of_directories() {
    // Each file has directories of its own, but for the first one.
    let files = |count: usize, names: usize| {
        let mut implying = manifest();
        let below = vec!["d"; names - 1].join("/");
        let one = NamedFile {
            digests: Vec::new(),
            layout: Layout::fitting(0),
            ..implying.files[0].clone()
        };
        let path = |number: usize| format!("a/{number:06}/{below}/f").into_bytes();
        implying.files =
            (0..count).map(|number| NamedFile { path: path(number), ..one.clone() }).collect();
        implying
    };
    assert_eq!(manifest().folders(), 1);
    assert_eq!(files(3, 5).folders(), 16);
    let most = files((NAMED_FOLDERS_MAX - 1) / 197, 197);
    assert!(most.check().is_ok() && most.folders() <= NAMED_FOLDERS_MAX);
    let many = encoded(&files(NAMED_FOLDERS_MAX / 197 + 1, 197));
    let refused = NameManifest::parse(&many).expect_err("it has too many directories");
    assert_eq!(refused, "250191 directories of a manifest: must be 0 to 250000");
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
    let all = |_: &str| true;
    (0..HOLDERS_MAX + 5).for_each(|number| entry.add(holder(number, PATH_MAX), all));
    entry.add(holder(3, 1), all);
    assert_eq!((entry.holders.len(), entry.check()), (HOLDERS_MAX, Ok(())));
    let mut forged = entry.clone();
    forged.holders[0].node = "n1\nok      n2".to_owned();
    assert!(forged.check().is_err());
}

#[test]
fn the_largest_entry_that_is_kept_fits_into_a_message() {
    let content = NamedContent { root: [255; 32], length: u64::MAX, files: u32::MAX };
    let signer = Secret([1; 32]);
    let record = NameRecord::new(&"n".repeat(NAME_MAX), u64::MAX, Some(content), &signer);
    let address = |length| NameHolder {
        node: "x".repeat(length),
        kind: HolderKind::Origin,
        path: Vec::new(),
    };
    let room = SOURCES_MEMORY_MAX - 2 * size_of::<NameHolder>();
    let record = record.with_sources(&[address(room - PATH_MAX), address(PATH_MAX)], &signer);
    assert_eq!(record.sources().len(), 2);
    let mut entry = NameEntry { record, holders: Vec::new() };
    for number in 0..HOLDERS_MAX {
        let node = format!("{number:0>HOLDER_NAME_MAX$}");
        let path = vec![b'x'; PATH_MAX];
        entry.add(NameHolder { node, kind: HolderKind::Node, path }, |_| true);
    }
    assert_eq!((entry.holders.len(), entry.check()), (HOLDERS_MAX, Ok(())));
    let told = crate::FromAgent::Names(NamesEvent::Entry(Box::new(entry.clone())));
    assert!(crate::Message::to_bytes(&told).len() <= crate::wire::MAX_MESSAGE);
    let kept = NamesOrder::Keep(Box::new(entry.clone()), RecordKey::from_secret(&signer));
    let kept = crate::Message::to_bytes(&crate::ToAgent::Names(kept)).len();
    assert!(kept <= crate::wire::MAX_MESSAGE, "{kept}");
    // What would be longer is neither added nor sent.
    let long = NameHolder {
        node: "x".repeat(HOLDER_NAME_MAX + 1),
        kind: HolderKind::Node,
        path: Vec::new(),
    };
    let before = entry.clone();
    entry.add(long.clone(), |_| true);
    assert_eq!(entry, before);
    entry.holders[0] = long;
    assert!(entry.check().is_err());
}

#[test]
fn a_full_list_has_room_for_nodes_that_are_known_and_keeps_the_first_ones() {
    let content = NamedContent { root: [3; 32], length: 5, files: 1 };
    let record = NameRecord::new("a", 1, Some(content), &Secret([0; 32]));
    let holder = |node: String| NameHolder { node, kind: HolderKind::Node, path: b"x".to_vec() };
    let mut entry = NameEntry { record, holders: vec![holder("n0".to_owned())] };
    let known = |node: &str| node.starts_with('n');
    let invented = (1..HOLDERS_MAX).map(|number| holder(format!("invented{number}")));
    entry.holders.extend(invented);
    // All that are known find a place, in place of those that an agent invented.
    (1..HOLDERS_MAX).for_each(|number| entry.add(holder(format!("n{number}")), known));
    assert_eq!(entry.holders.len(), HOLDERS_MAX);
    assert!(entry.holders.iter().all(|it| known(&it.node)), "{:?}", entry.holders);
    // Then the later ones take turns.
    for number in HOLDERS_MAX..HOLDERS_MAX + 100 {
        entry.add(holder(format!("n{number}")), known);
    }
    let nodes: Vec<&str> = entry.holders.iter().map(|it| it.node.as_str()).collect();
    let kept: Vec<String> = (0..HOLDERS_KEPT).map(|number| format!("n{number}")).collect();
    assert_eq!(nodes[..HOLDERS_KEPT], kept);
    assert_eq!(nodes[HOLDERS_MAX - 1], "n163");
    // A node has one place, whatever it says.
    (0..9).for_each(|_| entry.add(holder("n163".to_owned()), known));
    assert_eq!(entry.holders.iter().filter(|it| it.node == "n163").count(), 1);
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
    assert_eq!(after(4, (6, 0)), [(7, 9), (7, 10)]);
}

#[test]
fn no_two_contents_of_a_file_have_one_time_however_often_it_is_put_back() {
    let version = |digest, modified| {
        let mut new = manifest();
        new.files[1].digests[2] = [digest; 32];
        new.files[1].modified = modified;
        new
    };
    // The third content comes with the time of the first one, as `tar` and `rsync -t` put it back.
    let first = version(1, (7, 0));
    let second = version(2, (8, 0)).following(&first);
    let third = version(3, (7, 0)).following(&second);
    let fourth = version(4, (7, 999_999_999)).following(&third);
    let times = [&first, &second, &third, &fourth].map(|it| it.files[1].modified);
    assert_eq!(times, [(7, 0), (8, 0), (8, 1), (8, 2)]);
    let again = version(4, (1, 1)).following(&fourth);
    assert_eq!(again.files[1].modified, (8, 2), "the content is as before");
}

/// A day after the record with the number 9 s, in nanoseconds of the wall clock.
const NINE_S: u64 = 9_000_000_000;
const DAY_LATER: (i64, u32) = (86_409, 0);

#[test]
fn times_of_a_name_are_those_that_file_systems_keep_and_leave_room_for_the_next_content() {
    let version = |digest, modified| {
        let mut new = manifest();
        new.files[1].digests[2] = [digest; 32];
        new.files.iter_mut().for_each(|file| file.modified = modified);
        new
    };
    let times = |manifest: &NameManifest| -> Vec<(i64, u32)> {
        manifest.files.iter().map(|file| file.modified).collect()
    };
    let latest = (SECONDS_MAX - 1, 999_999_999);
    for (told, kept) in [
        (latest, DAY_LATER),
        ((86_409, 1), DAY_LATER),
        ((86_408, 999_999_999), (86_408, 999_999_999)),
        ((-1, 5), (-1, 5)),
        ((-SECONDS_MAX, 0), (FIRST_SECOND, 0)),
    ] {
        assert_eq!(times(&version(1, told).with_kept_times(NINE_S)), [kept; 2]);
    }
    // A name that has such times already can be published again, with the same file and another
    // one.
    let published = version(1, latest);
    assert!(published.encode().is_ok());
    let known = published.with_kept_times(NINE_S);
    let next = version(2, latest).with_kept_times(NINE_S + 1).following(&known);
    assert_eq!(times(&next), [DAY_LATER, (86_409, 1)]);
    assert_eq!(next.encode().map(drop), Ok(()));
    // No content takes the time of the next one.
    assert_eq!(times(&next.clone().with_kept_times(NINE_S + 1)), times(&next));
}
