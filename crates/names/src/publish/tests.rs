use garland_core::plan::Layout;
use garland_protocol::names::NamedFile;
use garland_protocol::operation::NamesAnswer;
use garland_protocol::wire::Secret;

use super::*;

fn node(name: &str) -> Node {
    let name = name.to_owned();
    Node {
        host: name.clone(),
        addresses: vec![name.clone()],
        name,
        rack: None,
        listening: Default::default(),
    }
}

/// Returns what a node tells of a file or directory.
fn told(base: &str, path: &[u8], mode: u32) -> Answer {
    let file = NamedFile {
        path: b"authorized_keys".to_vec(),
        mode,
        modified: (7, 9),
        layout: Layout::new(3, 4096).expect("blocks may be so small"),
        digests: vec![[1; 32]],
    };
    let manifest =
        NameManifest { base: base.as_bytes().to_vec(), is_tree: true, files: vec![file] };
    let (manifest, _) = manifest.encode().expect("it is short");
    Ok(NamesAnswer { manifest, path: path.to_vec(), ..NamesAnswer::default() })
}

#[test]
fn a_node_chooses_neither_the_base_nor_modes_that_give_rights() {
    let nodes = [node("n1"), node("n2")];
    let read = vec![told(".ssh", b"data/.ssh", 0o644), told("model", b"data/model", 0o106_755)];
    let content = on_nodes(&nodes, b"model", read).expect("one of them has it");
    assert_eq!(content.manifest.base, b"model");
    assert_eq!(content.manifest.files[0].mode, 0o755);
    let ends: Vec<_> = content.nodes.iter().map(|it| it.end.reason.as_deref()).collect();
    assert_eq!(ends, [Some("it tells of `.ssh` instead of what was asked for"), None]);
    let holders: Vec<&str> = content.holders.iter().map(|it| it.node.as_str()).collect();
    assert_eq!(holders, ["n2"]);
}

/// The latest time that a manifest may have, 34,000 years from now.
const FAR_AHEAD: (i64, u32) = ((1 << 40) - 1, 999_999_999);

#[test]
fn a_node_chooses_no_time_that_keeps_copies_and_later_contents_out() {
    const NUMBER: u64 = 1_700_000_000_000_000_000;
    let with_digest = |digest| {
        let mut manifest =
            NameManifest::parse(&told("model", b"data/model", 0o644).unwrap().manifest)
                .expect("a manifest");
        manifest.files[0].modified = FAR_AHEAD;
        manifest.files[0].digests[0] = [digest; 32];
        let (manifest, _) = manifest.encode().expect("it is short");
        Ok(NamesAnswer { manifest, path: b"data/model".to_vec(), ..NamesAnswer::default() })
    };
    let content = |digest| {
        on_nodes(&[node("n1")], b"model", vec![with_digest(digest)]).expect("the node has it")
    };
    let latest = (1_700_086_400, 0);
    let first = next_manifest(&content(1), None, NUMBER);
    assert_eq!(first.files[0].modified, latest);
    let second = next_manifest(&content(2), Some(&first), NUMBER + 1);
    assert_eq!(second.files[0].modified, (latest.0, 1));
    assert!(second.encode().is_ok());
    // A name that has such a time already: the record is another one, though the content is the
    // same.
    let published = content(1).manifest;
    let (_, described) = published.encode().expect("it could be published");
    let key = Secret([1; 32]);
    let record = NameRecord::new("model", NUMBER, Some(described), &key);
    let old = NameEntry { record, holders: Vec::new() };
    let is_same =
        |known: &NameManifest| find_same(known, &old, &content(1)).ok().flatten().is_some();
    assert!(is_same(&published) && !is_same(&published.with_kept_times(NUMBER)));
}

#[test]
fn a_node_whose_path_is_too_long_is_no_holder() {
    let nodes = [node("n1")];
    let read = vec![told("model", &[b'x'; 5000], 0o644)];
    let failure = on_nodes(&nodes, b"model", read).err().expect("nobody has it");
    assert!(failure.message().contains("5000 bytes of a holder's path"), "{}", failure.message());
}

#[test]
fn the_base_is_the_last_name_of_the_path() {
    for (path, base) in [("/data/model", "model"), ("model/", "model"), ("~/m", "m")] {
        assert_eq!(base_of(path.as_bytes()).ok(), Some(base.as_bytes()), "{path}");
    }
    for path in ["/", "..", "/data/..", "."] {
        assert!(base_of(path.as_bytes()).is_err(), "{path}");
    }
}
