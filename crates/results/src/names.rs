//! The results of `garland publish`, `names` and `unpublish`, and what holders gave to
//! `garland get`.

use std::fmt;

use garland_core::cluster::nodelist;
use garland_core::farm::Text;
use garland_core::units::bytes;
use garland_protocol::names::{HolderKind, NameEntry, NameHolder, NameRecord, NamedContent};
use garland_terminal::verdicts::folded;
use serde::{Deserialize, Serialize};

use crate::head::{Head, NodeEnd, NodeVerdict};

/// A name, its content and its holders.
#[derive(Serialize)]
pub struct NamedResult {
    name: String,
    /// The digest of the manifest, in hexadecimal.
    root: String,
    bytes: u64,
    files: u32,
    /// The nanoseconds since the start of 1970 at which it was published.
    published_ns: u64,
    holders: Vec<HolderResult>,
}

/// A holder of the content of a name.
#[derive(Serialize)]
struct HolderResult {
    node: String,
    /// `None` for an object or URL.
    path: Option<Text>,
}

/// The result object `garland.names/1`.
#[derive(Serialize)]
pub struct NamesResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The names, in order.
    pub names: Vec<NamedResult>,
}

/// The result object `garland.publish/1`.
#[derive(Serialize)]
pub struct PublishResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The name.
    #[serde(flatten)]
    pub named: NamedResult,
    /// What the name stood for before; `None` if for nothing, or for this content.
    pub replaced: Option<ReplacedContent>,
    /// What became of each node, in the order of the node list; for a path on this machine its host
    /// name.
    pub nodes: Vec<PublishedNode>,
    /// The nodes whose agents keep the name.
    pub keepers: Vec<String>,
}

/// The content for which a name stood before.
#[derive(Serialize)]
pub struct ReplacedContent {
    /// The digest of its manifest, in hexadecimal.
    root: String,
    bytes: u64,
    files: u32,
    /// The nanoseconds since the start of 1970 at which it was published.
    published_ns: u64,
}

/// A node whose content was published, or the reason why it is no holder.
#[derive(Serialize)]
pub struct PublishedNode {
    name: String,
    /// The verdict.
    #[serde(flatten)]
    pub end: NodeEnd,
}

/// The result object `garland.unpublish/1`.
#[derive(Serialize)]
pub struct UnpublishResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The name that has ended.
    pub name: String,
    /// The nodes whose agents keep that; none if the name had ended before.
    pub keepers: Vec<String>,
}

/// What a holder gave to a copy of a name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HolderShare {
    /// The holder's node.
    pub node: String,
    /// The number of verified bytes that came from it.
    pub bytes: u64,
    /// Why it was left alone; `None` if it was not.
    pub reason: Option<String>,
}

impl NamedResult {
    /// Creates the result of an entry.
    #[must_use]
    pub fn new(entry: &NameEntry) -> Self {
        let content = entry.record.content();
        let holder = |it: &NameHolder| HolderResult {
            node: it.node.clone(),
            path: (it.kind != HolderKind::Origin)
                .then(|| Text([b"/", it.path.as_slice()].concat())),
        };
        Self {
            name: entry.record.name().to_owned(),
            root: content.map(|it| hexadecimal(&it.root)).unwrap_or_default(),
            bytes: content.map_or(0, |it| it.length),
            files: content.map_or(0, |it| it.files),
            published_ns: entry.record.number(),
            holders: entry.places().map(holder).collect(),
        }
    }
}

impl ReplacedContent {
    /// Creates the result of the record that another one replaces; `None` if its name had ended.
    #[must_use]
    pub fn from_record(record: &NameRecord) -> Option<Self> {
        let NamedContent { root, length, files } = record.content()?;
        let root = hexadecimal(&root);
        let published_ns = record.number();
        Some(Self { root, bytes: length, files, published_ns })
    }
}

impl PublishedNode {
    /// Creates the result of a node; `reason` says why it is no holder.
    #[must_use]
    pub fn new(name: &str, reason: Option<String>) -> Self {
        Self { name: name.to_owned(), end: NodeEnd::new(NodeVerdict::Failed, reason) }
    }

    /// Returns whether this is the node `name`, and a holder.
    #[must_use]
    pub fn is_holder(&self, name: &str) -> bool {
        self.name == name && self.end.is_ok()
    }
}

impl fmt::Display for NamedResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, bytes, files, root, .. } = self;
        let shown = content(*bytes, *files, root);
        let (nodes, origins): (Vec<_>, Vec<_>) =
            self.holders.iter().partition(|it| it.path.is_some());
        let nodes: Vec<&str> = nodes.iter().map(|it| it.node.as_str()).collect();
        let nodes = (!nodes.is_empty()).then(|| nodelist::fold(&nodes));
        let all: Vec<String> =
            nodes.into_iter().chain(origins.iter().map(|it| it.node.clone())).collect();
        let holders = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
        writeln!(f, "{name}: {shown}, held by {holders}")
    }
}

impl fmt::Display for NamesResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.names.is_empty() {
            return writeln!(f, "no names; to make one: garland publish PATH --as NAME");
        }
        self.names.iter().try_for_each(|name| name.fmt(f))
    }
}

impl fmt::Display for PublishResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.named.fmt(f)?;
        if let Some(ReplacedContent { root, bytes, files, .. }) = &self.replaced {
            writeln!(f, "in place of {}", content(*bytes, *files, root))?;
        }
        f.write_str(&folded(self.nodes.iter().map(|node| node.end.of(&node.name))))?;
        kept(f, &self.keepers)
    }
}

impl fmt::Display for UnpublishResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.keepers.is_empty() {
            return writeln!(f, "ended   {}, before; all agents were told again", self.name);
        }
        writeln!(f, "ended   {}", self.name)?;
        kept(f, &self.keepers)
    }
}

impl HolderShare {
    /// Returns the lines of a table: what came from which holder, and which was left alone.
    #[must_use]
    pub fn table(shares: &[Self]) -> String {
        let given = shares.iter().filter(|share| share.bytes > 0);
        let given: Vec<String> =
            given.map(|it| format!("{} of {}", bytes::format(it.bytes), it.node)).collect();
        let from = match given.is_empty() {
            true => String::new(),
            false => format!("from    {}\n", given.join(" · ")),
        };
        let left = shares.iter().filter(|share| share.reason.is_some());
        from + &folded(left.map(|it| ("left", it.reason.as_deref(), it.node.as_str())))
    }
}

fn kept(f: &mut fmt::Formatter<'_>, keepers: &[String]) -> fmt::Result {
    let names: Vec<&str> = keepers.iter().map(String::as_str).collect();
    writeln!(f, "kept    {}", nodelist::fold(&names))
}

/// Describes content by its size and the beginning of its root.
fn content(length: u64, files: u32, root: &str) -> String {
    let size = bytes::format(length);
    let files = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    format!("{size} in {files}, root {}", &root[..root.len().min(12)])
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
