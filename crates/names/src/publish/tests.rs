use garland_core::plan::Layout;
use garland_protocol::NamedFile;
use garland_protocol::operation::NamesAnswer;

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
