//! Targets for texts that people and launchers write.

/// Cluster files: a text is a cluster file, or an error with a line and a column.
pub(crate) mod cluster_file {
    use garland_core::cluster::Cluster;

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let text = crate::lossy_text(bytes);
        let mut readable = false;
        for text in [text.clone(), format!("version = 1\n{text}")] {
            match Cluster::parse(&text, "x.toml") {
                Ok(cluster) => {
                    // One call for all names: one call for each would take minutes with 65,536
                    // nodes.
                    let names: Vec<&String> = cluster.nodes.iter().map(|node| &node.name).collect();
                    let found = cluster.select(&names).expect("each is a node of the cluster");
                    assert!(found.iter().zip(&names).all(|(node, name)| node.name == **name));
                    let last = names.last().and_then(|name| cluster.node(name));
                    assert_eq!(last.map(|node| &node.name), names.last().copied());
                    readable = true;
                }
                Err(error) => assert!(error.line >= 1 && error.column >= 1),
            }
        }
        readable
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        crate::bytes_of(&[
            "[cluster]\nname = \"den\"\n[[nodes]]\nnames = \"n[01-04]\"\naddress = \"10.0.0.[1-4]\"\n\
             rails = [\"10.1.0.[1-4]\", \"10.2.0.[1-4]\"]\nrack = \"r1\"\nport = 4100\n",
            "launcher = \"slurm\"\n[[nodes]]\nnames = \"n[1-9]\"\n[groups]\nodd = \"n[1,3,5]\"\n\
             more = \"@odd,n2\"\n[ssh]\nuser = \"me\"\noptions = [\"-F\", \"x\"]\n",
            "nodes = \"n[1-3]\"\n",
        ])
    }
}

/// Node lists: a text is a node list whose names survive folding, or an error with a place in the
/// text.
pub(crate) mod node_list {
    use std::collections::BTreeSet;

    use garland_core::cluster::nodelist::{NoSources, expand, fold};

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        match expand(&crate::lossy_text(bytes), &NoSources) {
            Ok(names) => {
                let folded = fold(&names);
                let back = expand(&folded, &NoSources).expect("what was folded can be expanded");
                let before: BTreeSet<_> = names.into_iter().collect();
                assert_eq!(back.into_iter().collect::<BTreeSet<_>>(), before, "{folded}");
                true
            }
            Err(error) => {
                let place = &error.place;
                assert!(place.expression.get(place.span.clone()).is_some());
                assert!(place.caret().contains('^'));
                false
            }
        }
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        crate::bytes_of(&[
            "n1",
            "n[1-3,7],m[01-10]",
            "n[1-20]!n[2,4-6]",
            "r[1-2]c[1-3]&r1c[2-9]",
            "n[0-100/7]",
            "@all,-n3",
            "a^b,c",
            "node-[001-003].example,x",
        ])
    }
}

/// Ready lines: a line is a ready line that survives writing and parsing, or another line.
pub(crate) mod ready_line {
    use garland_protocol::wire::ReadyLine;

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let line = crate::lossy_text(bytes);
        let mut readable = false;
        for line in [line.clone(), format!("garland-agent {line}")] {
            if let Some(ready) = ReadyLine::parse(&line) {
                assert_eq!(ReadyLine::parse(&ready.to_string()), Some(ready));
                readable = true;
            }
        }
        readable
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        let key = "0123456789abcdef".repeat(4);
        let lines = [format!("0.1.0 4711 {key}"), format!("0.1.0 1 {key} /tmp/a log of it")];
        lines.map(String::into_bytes).to_vec()
    }
}

/// Targets of copies: input is a target that contains all of it, or an error.
pub(crate) mod target {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use garland_core::cluster::target::{Target, parse as target};

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let parsed = target(OsStr::from_bytes(bytes));
        match &parsed {
            Ok(Target::Local(path)) => assert_eq!(path.as_os_str().as_bytes(), bytes),
            Ok(Target::Nodes { nodes, path }) => {
                let path = path.as_os_str().as_bytes();
                let whole = [nodes.as_bytes(), b":", path].concat();
                // Without a path, it is the directory where relative ones begin.
                let is_home = path == b"." && whole.strip_suffix(b".") == Some(bytes);
                assert!(whole == bytes || is_home, "{whole:?} of {bytes:?}");
            }
            Ok(Target::Pipe) => assert_eq!(bytes, b"-"),
            Ok(Target::Command(line)) => assert_eq!([b"|", &line[..]].concat(), bytes),
            Err(error) => assert!(!error.to_string().is_empty()),
        }
        parsed.is_ok()
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        crate::bytes_of(&["n[1-3]:/x", "-", "|tar x", "./a:b", "lab:n1:x", "/y", "@g:"])
    }
}

/// Topology files: a text is a file with a possible topology, or an error with a line and a column.
pub(crate) mod topology_file {
    use garland_topology::file;

    pub(crate) fn parse(bytes: &[u8]) -> bool {
        let text = crate::lossy_text(bytes);
        let mut readable = false;
        for text in [text.clone(), format!("version = 1\n[topology]\nnodes = 3\n{text}")] {
            match file::parse(&text, "x.toml") {
                Ok(file) => {
                    assert_eq!(file.topology.check(), Ok(()));
                    readable = true;
                }
                Err(error) => assert!(error.line >= 1 && error.column >= 1),
            }
        }
        readable
    }

    pub(crate) fn examples() -> Vec<Vec<u8>> {
        crate::bytes_of(&[
            "shape = \"switch\"\nrate = \"100mbit\"\n",
            "shape = \"star\"\nrate = \"1gbit\"\nbetween = \"forwarded\"\n",
            "shape = \"hub\"\nrate = \"10mbit\"\n[[topology.node]]\nnames = \"n1\"\ncpu = 0.5\n",
            "version = 1\n[topology]\nshape = \"mesh\"\nnodes = 4\nrows = 2\ncolumns = 2\n\
             rate = \"10mbit\"\nsegments = \"hub\"\njoined = \"routed\"\nroutes = 2\n",
            "version = 1\n[topology]\nshape = \"explicit\"\nnodes = \"n[0-1]\"\nrate = \"1gbit\"\n\
             [[topology.medium]]\nname = \"lan\"\nkind = \"switch\"\n[[topology.nic]]\n\
             nodes = \"n[0-1]\"\nmedium = \"lan\"\naddress = \"10.9.0.[1-2]/24\"\n",
        ])
    }
}
