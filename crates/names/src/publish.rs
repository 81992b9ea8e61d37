//! `garland publish`: makes a name stand for a file or directory, which stays where it is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use garland_control::NamesPatience;
use garland_copy::overtime::Overtime;
use garland_copy::place;
use garland_core::cluster::Node;
use garland_core::cluster::target::{self, Target};
use garland_core::printable;
use garland_dataplane::manifest::ManifestReader;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::members::{self, MemberKeys};
use garland_fleet::standing::RecordDir;
use garland_lab::Lab;
use garland_protocol::names::{
    HolderKind, NameEntry, NameHolder, NameManifest, NameRecord, NamedContent, check_name,
};
use garland_remote::elsewhere;
use garland_results::head::{Head, Phases, show};
use garland_results::names::{NamedResult, PublishResult, PublishedNode, ReplacedContent};
use garland_state::places::Places;
use garland_sys::confine::Root;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, process};
use garland_terminal::failure::{Exit, Failure, OrFailure};

use crate::access::Access;
use crate::args::Publish;
use crate::keepers::{
    self, ATTEMPTS_MAX, Keepers, Kept, UnservedHolder, contended, digest, enter, enter_of,
};
use crate::origin;
use crate::records::Answer;

/// The content that is published, and its holders.
struct Content {
    manifest: NameManifest,
    /// The nodes that have it.
    holders: Vec<NameHolder>,
    /// The object or the host that has it.
    source: Option<NameHolder>,
    /// What became of each node, or of this machine.
    nodes: Vec<PublishedNode>,
    /// The nodes that have other content there.
    differing: Vec<String>,
}

impl Content {
    /// Creates the content that an object or a host has, which is no node.
    fn from_source(manifest: NameManifest, source: NameHolder) -> Result<Self, Failure> {
        source.check().map_err(Failure::usage)?;
        Ok(Self {
            manifest,
            holders: Vec::new(),
            nodes: vec![PublishedNode::new(&source.node, None)],
            source: Some(source),
            differing: Vec::new(),
        })
    }
}

/// Publishes a file or directory.
pub fn run(context: &Context, publish: &Publish) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    check_name(&publish.name).map_err(Failure::usage)?;
    let nodes = find_nodes(context, &publish.path)?;
    let places = Places::open()?;
    let asked = publish.keepers.lab.as_deref();
    let lab = match &nodes {
        Some(at) => enter_of(&places, asked, &at.nodes)?,
        None => enter(&places, asked)?,
    };
    let interrupts = Arc::new(Interrupts::catch().or_nothing("cannot catch Ctrl-C")?);
    // Without agents that keep the name, nothing is read. Their channels are not kept open
    // meanwhile.
    let access = Access::open(&places, lab.as_ref().map(Lab::name))?;
    access.signer()?;
    drop(Keepers::open(&access, &interrupts)?);
    begin_names(&places, lab.as_ref().map(Lab::name), access.patience())?;
    phases.end("set-up");
    let content = match &nodes {
        Some(place::Target { nodes, path }) => {
            let base = base_of(path)?;
            let read = digest(&access, nodes, path, &interrupts)?;
            on_nodes(nodes, base, read)?
        }
        None => match elsewhere::address(&[PathBuf::from(&publish.path)])? {
            Some(remote) => {
                let made = origin::manifest(&remote, &publish.path, &interrupts)?;
                let kind = HolderKind::Origin;
                let source = NameHolder { node: remote.to_string(), kind, path: Vec::new() };
                Content::from_source(made, source)?
            }
            None => here(&places, Path::new(&publish.path), &interrupts)?,
        },
    };
    phases.end("read");
    let mut keepers = Keepers::open(&access, &interrupts)?;
    let mut content = content;
    let published = keep(&mut keepers, &access, &publish.name, &mut content, &interrupts)?;
    let Published { entry, replaced, kept } = published;
    phases.end("keep");
    let result = PublishResult {
        head: Head::new("garland.publish/1", None, phases),
        named: NamedResult::new(&entry),
        replaced,
        nodes: content.nodes,
        keepers: kept,
    };
    let ok = result.nodes.iter().filter(|node| node.end.is_ok()).count();
    let exit = Exit::of_work(ok == result.nodes.len(), ok > 0, false);
    show(context.json, &result).map_err(|failure| failure.after(exit))?;
    Ok(exit)
}

/// Tells agents who the members are if this is the first name.
fn begin_names(
    places: &Places,
    lab: Option<&str>,
    patience: &NamesPatience,
) -> Result<(), Failure> {
    if !members::names_are_used(places, lab)? {
        let records = RecordDir::open(places, lab)?;
        members::use_names(places, lab)?;
        // Who cannot be told is printed, and reads no names until the next `garland up`.
        let _ = members::hand_out(places, &records, MemberKeys::Present, patience, |_| true)?;
    }
    Ok(())
}

/// Has the agents of the content's nodes serve it. A node whose agent cannot is no holder.
fn serve(
    access: &Access,
    entry: &mut NameEntry,
    manifest: &[u8],
    nodes: &mut [PublishedNode],
    interrupts: &Interrupts,
) -> Result<(), Failure> {
    let on_nodes = entry.holders.iter().filter(|holder| {
        holder.kind == HolderKind::Node && nodes.iter().any(|node| node.is_holder(&holder.node))
    });
    let on_nodes: Vec<NameHolder> = on_nodes.cloned().collect();
    let registered = keepers::register(access, entry, manifest, &on_nodes, interrupts)?;
    for UnservedHolder { node, reason } in registered.into_iter().filter_map(Result::err) {
        entry.holders.retain(|holder| holder.kind != HolderKind::Node || holder.node != node);
        let failed = nodes.iter_mut().find(|it| it.is_holder(&node));
        failed.into_iter().for_each(|it| *it = PublishedNode::new(&node, Some(reason.clone())));
    }
    Ok(())
}

/// Returns the nodes of `path` and the path on them; `None` for a path on this machine, an object
/// or a URL.
fn find_nodes(context: &Context, path: &OsStr) -> Result<Option<place::Target>, Failure> {
    if elsewhere::is_elsewhere(Path::new(path)) || Path::new(path).exists() {
        return Ok(None);
    }
    match target::parse(path).map_err(Failure::usage)? {
        Target::Nodes { nodes, path } => {
            let nodes = Inventory::open(context)?.nodes(&nodes)?;
            let path = path.as_os_str().as_bytes().to_vec();
            Ok(Some(place::Target { nodes, path }))
        }
        Target::Local(_) => Ok(None),
        Target::Pipe | Target::Command(_) => {
            Err(Failure::usage("a stream cannot be published: write it to a file first"))
        }
    }
}

/// Returns the content that nodes have read, which has the name `base`. That of the first one
/// counts; nodes that have another one are no holders.
fn on_nodes(nodes: &[Node], base: &[u8], read: Vec<Answer>) -> Result<Content, Failure> {
    let mut manifest: Option<NameManifest> = None;
    let mut holders = Vec::new();
    let mut ends = Vec::new();
    let mut differing = Vec::new();
    for (node, answer) in nodes.iter().zip(read) {
        let own = answer.and_then(|it| Ok((NameManifest::parse(&it.manifest)?, it.path)));
        let reason = own.and_then(|(own, path)| {
            if own.base != base {
                let own = printable::name(&own.base);
                return Err(format!("it tells of `{own}` instead of what was asked for"));
            }
            let holder = NameHolder { node: node.name.clone(), kind: HolderKind::Node, path };
            holder.check()?;
            let first = manifest.get_or_insert_with(|| own.clone());
            if !first.has_content_of(&own) {
                differing.push(node.name.clone());
                return Err("its content differs from that of the first node".to_owned());
            }
            holders.push(holder);
            Ok(())
        });
        ends.push(PublishedNode::new(&node.name, reason.err()));
    }
    let Some(manifest) = manifest else {
        let reasons = ends.iter().filter_map(|end| end.end.reason.as_deref());
        let reason = reasons.collect::<Vec<_>>().join("; ");
        let list = nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>().join(",");
        return Err(Failure::nothing(format!("nothing can be published of {list}: {reason}")));
    };
    Ok(Content { manifest, holders, source: None, nodes: ends, differing })
}

/// Reads the content on this machine.
fn here(places: &Places, path: &Path, interrupts: &Arc<Interrupts>) -> Result<Content, Failure> {
    let records = places.records();
    let stop = AtomicBool::new(false);
    let reader = ManifestReader {
        root: &Root::Free,
        records: &records,
        disk: None,
        stop: &stop,
        progress: &|| (),
    };
    let overtime = Overtime::watch("reading the content", interrupts)?;
    let (path, manifest) = reader.read(path).map_err(Failure::nothing)?;
    overtime.end();
    if interrupts.have_come() {
        return Err(Failure::interrupted("reading the content"));
    }
    let source = NameHolder { node: process::host_name(), kind: HolderKind::Head, path };
    Content::from_source(manifest, source)
}

/// A name that keepers keep.
struct Published {
    entry: NameEntry,
    replaced: Option<ReplacedContent>,
    /// The nodes whose agents keep it.
    kept: Vec<String>,
}

/// Makes the keepers keep the name with a higher number than all that any of them knows.
fn keep(
    keepers: &mut Keepers<'_>,
    access: &Access,
    name: &str,
    content: &mut Content,
    interrupts: &Interrupts,
) -> Result<Published, Failure> {
    let mut newest: Option<NameRecord> = None;
    for _ in 0..ATTEMPTS_MAX {
        let old = keepers.latest(name)?;
        let known = old.as_ref().map(|old| &old.record);
        let newer = newest.filter(|newest| known.is_none_or(|old| newest.is_newer_than(old)));
        let (mut entry, manifest) =
            next_entry(keepers, name, content, old.as_ref(), newer.as_ref())?;
        // Checked before any agent gets the entry: none could keep one that does not fit into a
        // message.
        let unfit = |reason| Failure::nothing(format!("cannot publish {name}: {reason}"));
        entry.check().map_err(unfit)?;
        serve(access, &mut entry, &manifest, &mut content.nodes, interrupts)?;
        match keepers.keep(&entry, &manifest)? {
            Kept::By(kept) => {
                let content = entry.record.content();
                let changed = old.filter(|old| old.record.content() != content);
                let replaced = changed.and_then(|old| ReplacedContent::from_record(&old.record));
                return Ok(Published { entry, replaced, kept });
            }
            Kept::ByTooFew(few) => {
                let is_new = old.is_none_or(|old| old.record.content().is_none());
                if is_new && few.is_kept_nowhere() {
                    unserve(access, &entry, interrupts)?;
                }
                return Err(few.failure(name, "publish it again"));
            }
            Kept::Newer(record) => newest = Some(record),
        }
    }
    Err(contended(name))
}

/// Has the nodes of an entry that nobody keeps not serve its content: no command would end that.
fn unserve(access: &Access, entry: &NameEntry, interrupts: &Interrupts) -> Result<(), Failure> {
    let name = entry.record.name();
    let ended = NameRecord::new(name, entry.record.number(), None, access.signer()?);
    let nodes = entry.holders.iter().filter(|holder| holder.kind == HolderKind::Node);
    let nodes: Vec<String> = nodes.map(|holder| holder.node.clone()).collect();
    keepers::end_serving(access, &[&ended], &nodes, interrupts)
}

/// Returns the entry of the name, and its encoded manifest. If the name stands for the same content
/// and modes already, the nodes are added; otherwise, or if there is another source, it is a new
/// record. `old` is the name's entry so far, also if it has ended, and `newer` a newer record that
/// a keeper has.
fn next_entry(
    keepers: &mut Keepers<'_>,
    name: &str,
    content: &Content,
    old: Option<&NameEntry>,
    newer: Option<&NameRecord>,
) -> Result<(NameEntry, Vec<u8>), Failure> {
    let valid = old.filter(|old| old.record.content().is_some());
    // If nobody has it any more, or it is damaged, the new one takes its place.
    let known = valid.and_then(|old| {
        // One with times that no copy can have is not kept, as nothing has its root then.
        Some(keepers.manifest(old).ok()?.with_kept_times(old.record.number()))
    });
    let same = match (&known, valid, newer) {
        (Some(known), Some(old), None) => find_same(known, old, content)?,
        _ => None,
    };
    let signer = keepers.signer()?;
    let last = newer.or(old.map(|old| &old.record));
    let number = NameRecord::number_after(last, clock::wall_ns());
    let record = |content, sources: &[NameHolder]| {
        NameRecord::new(name, number, Some(content), signer).with_sources(sources, signer)
    };
    let added = content.source.as_slice();
    let (mut entry, bytes) = match same {
        Some((old, bytes, described)) => {
            let sources = old.record.sources();
            if added.iter().all(|source| sources.contains(source)) {
                (old, bytes)
            } else {
                let is_other = |it: &&NameHolder| !added.iter().any(|new| is_same_place(it, new));
                let kept = sources.iter().filter(is_other);
                let sources: Vec<NameHolder> = kept.chain(added).cloned().collect();
                (NameEntry { record: record(described, &sources), holders: old.holders }, bytes)
            }
        }
        None => {
            let manifest = next_manifest(content, known.as_ref(), number);
            let (bytes, described) = manifest.encode().map_err(Failure::nothing)?;
            (NameEntry { record: record(described, added), holders: Vec::new() }, bytes)
        }
    };
    entry.holders.retain(|holder| !content.differing.contains(&holder.node));
    for holder in &content.holders {
        entry.add(holder.clone(), |node| keepers.knows(node));
    }
    Ok((entry, bytes))
}

/// Returns the manifest of the record with this number, after `known`, the manifest so far.
fn next_manifest(content: &Content, known: Option<&NameManifest>, number: u64) -> NameManifest {
    let manifest = content.manifest.clone().with_kept_times(number);
    match known {
        Some(known) => manifest.following(known),
        None => manifest,
    }
}

/// Returns whether two sources are one object, or one host.
fn is_same_place(one: &NameHolder, other: &NameHolder) -> bool {
    (&one.node, one.kind) == (&other.node, other.kind)
}

/// Returns the entry `old` with its encoded manifest `known` and what that describes, if it has
/// this content and its modes.
fn find_same(
    known: &NameManifest,
    old: &NameEntry,
    content: &Content,
) -> Result<Option<(NameEntry, Vec<u8>, NamedContent)>, Failure> {
    if !known.has_content_of(&content.manifest) || !known.has_modes_of(&content.manifest) {
        return Ok(None);
    }
    let (bytes, described) = known.encode().map_err(Failure::nothing)?;
    // One with modes that names may not have is not kept.
    Ok((old.record.content() == Some(described)).then(|| (old.clone(), bytes, described)))
}

/// Returns the name at the end of a path on nodes, by which the content is copied: nodes do not
/// choose it.
fn base_of(path: &[u8]) -> Result<&[u8], Failure> {
    let path = Path::new(OsStr::from_bytes(path));
    path.file_name().map(OsStr::as_bytes).ok_or_else(|| {
        let shown = printable::path(path);
        Failure::usage(format!("cannot publish {shown}: the path has no name at its end"))
            .hint("write the name of the file or directory, such as NODES:/data/model")
    })
}

#[cfg(test)]
mod tests;
