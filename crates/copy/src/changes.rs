//! What a copy of a tree changes on the nodes, entry by entry (`--verbose`).

use std::collections::BTreeMap;
use std::fmt;

use garland_core::cluster::nodelist;
use garland_core::printable;
use garland_dataplane::tree::TreeSource;
use garland_protocol::operation::NodeChanges;
use garland_results::path::PathResult;
use serde::{Serialize, Serializer};

/// The entries that are copied or removed. Nodes that did not answer are not considered.
pub struct Changes {
    rows: Vec<Row>,
    /// The sets of nodes that the rows refer to, as text, and whether a set is all nodes.
    sets: Vec<(String, bool)>,
    /// The number of entries that are removed, but not named.
    unnamed: u64,
    /// Why some of them stay; `None` if all are removed.
    limit: Option<RemovalLimit>,
}

/// A limit to what is removed, which is reached.
struct RemovalLimit {
    /// The maximum number of entries that are removed from each node.
    removes_max: u64,
    /// The nodes on which more would be removed, as text.
    nodes: String,
}

/// An entry that is copied or removed.
struct Row {
    change: Change,
    /// The path, relative to the destination.
    path: Vec<u8>,
    /// The index of the set of nodes on which it changes.
    set: usize,
}

/// What happens to an entry.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Change {
    Copy,
    Remove,
}

impl Changes {
    /// Collects the changes of the copy of `tree`: for each node that answered, its name and what
    /// changes there. At most `removes_max` entries are removed from each node, if there is a
    /// maximum.
    pub fn new(
        tree: &TreeSource,
        answered: &[(&str, NodeChanges)],
        removes_max: Option<u64>,
    ) -> Self {
        let mut sets = Sets {
            names: answered.iter().map(|(name, _)| *name).collect(),
            known: BTreeMap::new(),
        };
        let mut rows = Vec::new();
        tree.for_each_path(|number, path| {
            let lacks = |(_, node): &(&str, NodeChanges)| !node.unchanged.contains(number.into());
            let nodes: Vec<usize> =
                (0..).zip(answered).filter(|(_, node)| lacks(node)).map(|(at, _)| at).collect();
            if !nodes.is_empty() {
                rows.push(Row { change: Change::Copy, path: path.to_vec(), set: sets.find(nodes) });
            }
        });
        let mut removed: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
        for (at, (_, node)) in answered.iter().enumerate() {
            for path in &node.surplus {
                let nodes = removed.entry(path).or_default();
                // A node that names a path twice counts once.
                if nodes.last() != Some(&at) {
                    nodes.push(at);
                }
            }
        }
        rows.extend(removed.into_iter().map(|(path, nodes)| Row {
            change: Change::Remove,
            path: path.to_vec(),
            set: sets.find(nodes),
        }));
        let unnamed = answered.iter().map(|(_, node)| node.unnamed).fold(0, u64::saturating_add);
        let limit = removes_max.and_then(|most| RemovalLimit::reached(most, answered));
        Self { rows, sets: sets.into_texts(), unnamed, limit }
    }

    fn count(&self, change: Change) -> usize {
        self.rows.iter().filter(|row| row.change == change).count()
    }
}

impl RemovalLimit {
    /// Returns the limit if a node would remove more.
    fn reached(removes_max: u64, answered: &[(&str, NodeChanges)]) -> Option<Self> {
        let surplus = |node: &NodeChanges| (node.surplus.len() as u64).saturating_add(node.unnamed);
        let over = answered.iter().filter(|(_, node)| surplus(node) > removes_max);
        let names: Vec<&str> = over.map(|(name, _)| *name).collect();
        (!names.is_empty()).then(|| Self { removes_max, nodes: nodelist::fold(&names) })
    }
}

/// The distinct sets of nodes.
struct Sets<'a> {
    names: Vec<&'a str>,
    /// The index of each set, which are the indexes of its nodes.
    known: BTreeMap<Vec<usize>, usize>,
}

impl Sets<'_> {
    /// Returns the index of a set.
    fn find(&mut self, nodes: Vec<usize>) -> usize {
        let next = self.known.len();
        *self.known.entry(nodes).or_insert(next)
    }

    fn into_texts(self) -> Vec<(String, bool)> {
        let mut texts = vec![(String::new(), false); self.known.len()];
        for (nodes, index) in self.known {
            let names: Vec<&str> = nodes.iter().map(|at| self.names[*at]).collect();
            texts[index] = (nodelist::fold(&names), names.len() == self.names.len());
        }
        texts
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let word = if row.change == Change::Copy { "copy" } else { "remove" };
            let path = printable::name(&row.path);
            match &self.sets[row.set] {
                (_, true) => writeln!(f, "{word:<7} {path}")?,
                (nodes, false) => writeln!(f, "{word:<7} {path}  ({nodes})")?,
            }
        }
        if self.unnamed > 0 {
            writeln!(f, "remove  and {} more, which nodes had no room to name", self.unnamed)?;
        }
        let copied = self.count(Change::Copy);
        let removed = self.count(Change::Remove);
        let more = if self.unnamed > 0 { "more than " } else { "" };
        write!(f, "changes {copied} to copy, {more}{removed} to remove")?;
        if let Some(RemovalLimit { removes_max, nodes }) = &self.limit {
            write!(f, ", of which --max-delete {removes_max} keeps some on {nodes}")?;
        }
        writeln!(f)
    }
}

impl Serialize for Changes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Entry<'a> {
            change: Change,
            #[serde(flatten)]
            path: PathResult,
            nodes: &'a str,
        }
        serializer.collect_seq(self.rows.iter().map(|row| Entry {
            change: row.change,
            path: PathResult::new(&row.path),
            nodes: &self.sets[row.set].0,
        }))
    }
}

#[cfg(test)]
mod tests {
    use garland_core::index_set::IndexSet;
    use garland_dataplane::tree::ScanOptions;
    use garland_sys::confine::Root;

    use super::*;

    fn node(records: u32, unchanged: &[u32], surplus: &[&str], unnamed: u64) -> NodeChanges {
        let mut set = IndexSet::new(records.into());
        for number in unchanged {
            set.insert(u64::from(*number));
        }
        let surplus = surplus.iter().map(|path| path.as_bytes().to_vec()).collect();
        NodeChanges { unchanged: set, surplus, unnamed }
    }

    #[test]
    fn entries_are_named_with_the_nodes_on_which_they_change() {
        let top = std::env::temp_dir().join(format!("garland-changes-{}", std::process::id()));
        std::fs::create_dir_all(top.join("d/e")).unwrap();
        for name in ["d/a", "d/e/b\n", "d/z"] {
            std::fs::write(top.join(name), name).unwrap();
        }
        let stop = || false;
        let excludes = Vec::new();
        let root = &Root::Free;
        let options = ScanOptions {
            excludes,
            attributes: false,
            sweep: false,
            one_file_system: false,
            root,
            stop: &stop,
        };
        let tree = TreeSource::open(&[top.join("d")], &options).unwrap();
        std::fs::remove_dir_all(&top).unwrap();
        let mut numbers = BTreeMap::new();
        let mut records = 0;
        tree.for_each_path(|number, path| {
            numbers.insert(String::from_utf8_lossy(path).into_owned(), number);
            records = number + 1;
        });
        assert!(numbers.keys().eq(["d/", "d/a", "d/e/", "d/e/b\n", "d/z"]));
        let of = |name: &str| numbers[name];
        let first = [of("d/"), of("d/z"), of("d/a")];
        let rest = [of("d/e/"), of("d/z")];
        let all: Vec<u32> = numbers.values().copied().collect();
        let answered = [
            ("n1", node(records, &[&first[..], &rest].concat(), &["d/old", "d/x/"], 0)),
            ("n2", node(records, &rest, &["d/x/", "d/x/y"], 3)),
            ("n3", node(records, &rest, &["d/x/"], 0)),
        ];
        let changes = Changes::new(&tree, &answered, None);
        let text = "\
copy    d/  (n[2-3])
copy    d/a  (n[2-3])
copy    d/e/b\\n
remove  d/old  (n1)
remove  d/x/
remove  d/x/y  (n2)
remove  and 3 more, which nodes had no room to name
changes 3 to copy, more than 3 to remove
";
        assert_eq!(changes.to_string(), text);
        // n1 has two to remove, n2 five, and n3 one.
        let limited = |most| Changes::new(&tree, &answered, Some(most)).to_string();
        let last = "changes 3 to copy, more than 3 to remove";
        assert!(limited(5).ends_with(&format!("{last}\n")));
        let some =
            |most, nodes| format!("{last}, of which --max-delete {most} keeps some on {nodes}\n");
        assert!(limited(1).ends_with(&some(1, "n[1-2]")), "{}", limited(1));
        assert!(limited(4).ends_with(&some(4, "n2")), "{}", limited(4));
        let json = serde_json::to_value(&changes).unwrap();
        let first = serde_json::json!({ "change": "copy", "path": "d/", "nodes": "n[2-3]" });
        assert_eq!(json[0], first);
        let none = Changes::new(&tree, &[("n1", node(records, &all, &[], 0))], Some(0));
        assert_eq!(none.to_string(), "changes 0 to copy, 0 to remove\n");
    }
}
