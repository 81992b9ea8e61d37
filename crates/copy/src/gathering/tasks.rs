//! Plans the copies from nodes, based on the files that the nodes reported.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_control::{Agent, Ends, Looked, Pipeline};
use garland_core::cluster::{Cluster, Node, nodelist};
use garland_core::plan::{
    FoundStripe, Layout, LayoutError, Manifest, Plan, StripeSet, StripeSetError, Stripes,
};
use garland_core::printable;
use garland_dataplane::tree::Tally;
use garland_protocol::copy::{
    Absence, Destination, Origin, Policy, StatReply, SweptMounts, TreeDestination, TreeLimits,
    TreeStat,
};
use garland_terminal::failure::Failure;

use super::wanted::Wanted;
use crate::spec::CopySpec;

/// The maximum memory on this machine for the blocks in flight of all copies, in bytes.
const MEMORY: u64 = 96 << 20;

/// The failure of a node whose agent did not say what it has.
const SILENT: &str = "protocol error: its agent reported neither a file nor an error";

/// The minimum number of buffers of a lane, and the maximum that is useful.
const BUFFERS: std::ops::RangeInclusive<u64> = 3..=24;

/// The destination on this machine.
pub struct Here<'a> {
    place: LocalEnd<'a>,
    /// Whether each node's file is stored in a separate directory.
    by_node: bool,
}

/// A destination on this machine.
pub enum LocalEnd<'a> {
    /// The path of a file or a directory.
    Path(&'a Path),
    /// A destination that stores no file: `/dev/null`, standard output, or a command.
    Sink(Destination),
}

/// One copy: from one node, or from all nodes that have stripes of the same file.
pub struct GatherTask {
    /// The plan of the copy; the first node is this machine.
    pub plan: Plan,
    /// For each node in the plan's order, its agent, or why it has none. An error if the plan's
    /// only node cannot send anything.
    pub agents: Result<Vec<Result<Agent, String>>, String>,
    /// The source on the nodes and the destination on this machine.
    pub ends: Ends,
    /// How the stripes on the nodes form one file; `None` if the nodes' files are not stripes.
    pub stripes: Option<Stripes>,
    /// Buffers and rate of each lane.
    pub pipeline: Pipeline,
    /// How the head deals with slow and stuck nodes.
    pub policy: Policy,
    /// The paths on the nodes, for messages.
    pub paths: String,
    /// The numbers of files and directories in a tree; `None` for a single file.
    pub tally: Option<Tally>,
    /// What the node leaves out of its tree, if it was asked for that.
    pub absence: Absence,
}

impl<'a> Here<'a> {
    /// Describes the copies of what is `wanted` to `place`.
    pub fn new(place: LocalEnd<'a>, wanted: &[Wanted], spec: &CopySpec) -> Result<Self, Failure> {
        if matches!(place, LocalEnd::Sink(Destination::Output | Destination::Command(_))) {
            refuse_unless_one_stream(wanted, spec)?;
        }
        let by_node = wanted.len() > 1;
        let has_directories = by_node && !spec.plan.is_striped();
        if has_directories && let LocalEnd::Path(path) = &place {
            refuse_one_directory(wanted, path)?;
        }
        Ok(Self { place, by_node })
    }

    /// Whether the bytes can be read back.
    pub fn is_kept(&self) -> bool {
        matches!(self.place, LocalEnd::Path(_))
    }

    /// Returns the destination of a tree. Its `limits` restrict the node's stream to what the user
    /// requested.
    fn tree(&self, spec: &CopySpec, wanted: &Wanted) -> Destination {
        let path = match &self.place {
            LocalEnd::Path(path) => path,
            LocalEnd::Sink(sink) => return sink.clone(),
        };
        let is_tree = spec.source.is_tree;
        Destination::Tree(TreeDestination {
            path: path.as_os_str().as_bytes().to_vec(),
            below: self.below(&wanted.node),
            fsync: spec.checks.fsync,
            verify: spec.checks.read_back.verify,
            keeps: if is_tree { spec.source.keeps } else { spec.source.kept_of_file() },
            limits: TreeLimits {
                removes: None,
                swept: SweptMounts::All,
                attributes: spec.source.keeps_attributes,
                tops: wanted.top_names(),
                files_only: !is_tree,
                excludes: spec.source.raw_excludes(),
                grows: true,
            },
        })
    }

    /// Returns the destination of the file `name`, with what it keeps of mode and time.
    fn file(
        &self,
        spec: &CopySpec,
        wanted: &Wanted,
        node: Option<&Node>,
        mode: u32,
        modified: (i64, u32),
    ) -> Destination {
        let path = match &self.place {
            LocalEnd::Path(path) => path,
            LocalEnd::Sink(sink) => return sink.clone(),
        };
        let keeps = spec.source.kept_of_file();
        let mut path = path.as_os_str().as_bytes().to_vec();
        if wanted.is_many() {
            // Whatever a pattern finds, the destination is a directory.
            path.push(b'/');
        }
        Destination::File {
            path,
            below: node.and_then(|node| self.below(node)),
            name: wanted.name().as_bytes().to_vec(),
            mode,
            keeps_mode: keeps.modes,
            times: keeps.times.then_some(modified),
            fsync: spec.checks.fsync,
            room: u64::MAX,
            // Its length is the node's word.
            grows: true,
            force_device: spec.checks.forces_devices,
        }
    }

    /// Returns the name of the directory for a node's file; `None` if the nodes have no separate
    /// directories.
    fn below(&self, node: &Node) -> Option<Vec<u8>> {
        self.by_node.then(|| directory_of(node).into_bytes())
    }
}

/// Returns an error if what two nodes send would go to one directory: `lab:n1` and `n1` are two
/// nodes.
fn refuse_one_directory(wanted: &[Wanted], path: &Path) -> Result<(), Failure> {
    let mut nodes: HashMap<String, &str> = HashMap::new();
    for Wanted { node, .. } in wanted {
        let Some(first) = nodes.insert(directory_of(node), &node.name) else { continue };
        let second = &node.name;
        let directory = printable::path(path.join(directory_of(node)));
        let message = format!(
            "cannot copy from {first} and {second} in one command: what both send would go to {directory}"
        );
        return Err(Failure::usage(message)
            .hint(format!("copy from {second} with another command, to another directory")));
    }
    Ok(())
}

/// Returns an error unless exactly one file would be written to the pipe: the file of one node, or
/// the stripes of one file.
fn refuse_unless_one_stream(wanted: &[Wanted], spec: &CopySpec) -> Result<(), Failure> {
    let nodes = wanted.len();
    if spec.source.is_tree {
        return Err(Failure::usage("a tree cannot be written to a pipe")
            .hint("for a stream, use tar: garland exec NODE -- tar c PATH"));
    }
    if let Some(many) = wanted.iter().find(|wanted| wanted.is_many()) {
        let message = format!("several files cannot be written to one pipe: {}", many.shown());
        return Err(Failure::usage(message).hint(
            "name one file, or a directory as the destination; a backslash quotes `*`, `?` and `[`",
        ));
    }
    if nodes > 1 && !spec.plan.is_striped() {
        let message = format!("the files of {nodes} nodes cannot be written to one pipe");
        return Err(
            Failure::usage(message).hint("name one node, or a directory as the destination")
        );
    }
    Ok(())
}

/// Plans all copies of a request.
pub fn all(
    spec: &CopySpec,
    here: &Here<'_>,
    wanted: &[Wanted],
    seen: Vec<Looked<Vec<StatReply>>>,
    cluster: Option<&Cluster>,
) -> Result<Vec<GatherTask>, Failure> {
    if spec.plan.is_striped() {
        Ok(vec![stripes(spec, here, wanted, seen, cluster)?])
    } else {
        files(spec, here, wanted, seen, cluster)
    }
}

/// Plans a separate copy for each node's file or tree, so that no node waits for another.
fn files(
    spec: &CopySpec,
    here: &Here<'_>,
    wanted: &[Wanted],
    seen: Vec<Looked<Vec<StatReply>>>,
    cluster: Option<&Cluster>,
) -> Result<Vec<GatherTask>, Failure> {
    let block = spec.plan.block_size;
    let count = wanted.len();
    let plan = |wanted: &Wanted, seen: Looked<Vec<StatReply>>| {
        let node = &wanted.node;
        let (reply, agents) = match seen {
            Ok((agent, replies)) => match asked_for(replies, wanted, spec.source.is_tree, block) {
                Ok(reply) => (Some(reply), Ok(vec![Ok(agent)])),
                Err(reason) => (None, Err(reason)),
            },
            Err(reason) => (None, Err(reason)),
        };
        let (length, modified, mode, tree) = reply.map_or((0, (0, 0), 0, None), |reply| {
            (reply.length.unwrap_or(0), reply.modified, reply.mode, reply.tree)
        });
        let layout = choose_layout(length, block)?;
        let rails = u16::try_from(node.addresses.len().max(1)).unwrap_or(1);
        let rails = spec.plan.rails.unwrap_or(rails);
        let names = [node.name.clone()];
        let plan = Plan::broadcast(layout, &names, rails)?;
        let fitting = MEMORY / count as u64 / u64::from(layout.block_size) / u64::from(rails);
        let fitting = u16::try_from(fitting.clamp(*BUFFERS.start(), *BUFFERS.end())).ok();
        let number = tree.as_ref().map(|tree| tree.number);
        let path = wanted.paths[0].bytes().to_vec();
        let origin = Origin { path, length, modified, tree: number };
        let origins = vec![vec![origin]];
        let destination = match &tree {
            Some(_) => here.tree(spec, wanted),
            None => here.file(spec, wanted, Some(node), mode, modified),
        };
        let policy = spec.slow.patience(1, cluster).beside(count);
        let tally = tree.as_ref().map(|tree| {
            let TreeStat { files, folders, links, .. } = *tree;
            Tally { files, folders, links }
        });
        let absence = tree.map(|tree| tree.absence.within(policy.absence_max));
        Ok(GatherTask {
            plan: plan.reversed(),
            agents,
            ends: Ends::In { origins, destination, digests: Vec::new() },
            stripes: None,
            pipeline: Pipeline { buffers: spec.tuning.buffers.or(fitting), ..spec.pipeline() },
            policy,
            paths: wanted.shown(),
            tally,
            absence: absence.unwrap_or_default(),
        })
    };
    wanted.iter().zip(seen).map(|of_node| plan(of_node.0, of_node.1)).collect()
}

/// Divides a node's source of `length` bytes into blocks of `block` bytes; `None` for a suitable
/// size.
fn choose_layout(length: u64, block: Option<u32>) -> Result<Layout, LayoutError> {
    match block {
        None => Layout::fitting(length).checked(),
        Some(block) => Layout::new(length, block),
    }
}

/// Returns a node's reply if it offers the kind of source that was requested, of a length that can
/// be copied; otherwise the reason for failing the node.
fn asked_for(
    replies: Vec<StatReply>,
    wanted: &Wanted,
    recursive: bool,
    block: Option<u32>,
) -> Result<StatReply, String> {
    match replies.into_iter().next() {
        // If a file is expected, a tree would create names that the node chooses.
        Some(reply) if reply.tree.is_some() && !recursive && !wanted.is_many() => {
            Err("its agent offers a tree, but one file was asked for (without -r)".to_owned())
        }
        Some(reply) if reply.tree.is_none() && wanted.only_path().is_none() => {
            Err("its agent offers one file, but several were asked for".to_owned())
        }
        Some(reply) => match reply.length.map(|length| choose_layout(length, block)) {
            Some(Ok(_)) => Ok(reply),
            Some(Err(error)) => Err(format!("cannot copy what it reported: {error}")),
            None => Err(SILENT.to_owned()),
        },
        None => Err(SILENT.to_owned()),
    }
}

/// Plans the one copy of a striped file from all nodes that have a stripe.
fn stripes(
    spec: &CopySpec,
    here: &Here<'_>,
    wanted: &[Wanted],
    seen: Vec<Looked<Vec<StatReply>>>,
    cluster: Option<&Cluster>,
) -> Result<GatherTask, Failure> {
    let mut found = Vec::new();
    let mut places = Vec::new();
    let mut failures = Vec::new();
    let mut agents: Vec<Option<Agent>> = Vec::new();
    for (place, (wanted, seen)) in wanted.iter().zip(seen).enumerate() {
        let node = &wanted.node;
        let (agent, replies) = match seen {
            Ok((agent, replies)) => (Some(agent), replies),
            Err(reason) => {
                failures.push(format!("{}: {reason}", node.name));
                (None, Vec::new())
            }
        };
        agents.push(agent);
        for reply in replies {
            found.push(found_stripe(node, &reply));
            places.push((place, reply));
        }
    }
    let source = wanted[0].paths[0].bytes();
    let shown = printable::name(source);
    let set = StripeSet::assemble(&found).map_err(|error| {
        let failure = not_assembled(source, &error, wanted);
        failures.iter().fold(failure, |failure, node| failure.hint(node))
    })?;
    if !spec.run.is_quiet && set.has_aside(&found) {
        garland_terminal::errln!(
            "{shown}: the last striped copy did not finish on all nodes; copying the previous version of the file"
        );
    }
    let Manifest { stripes, layout, mode, modified, servers, .. } = set.manifest;
    let mut names = Vec::new();
    let mut origins = Vec::new();
    let mut chosen = Vec::new();
    for place in set.stripes {
        let (node, reply) = &places[place];
        let Some(agent) = agents[*node].take() else {
            let name = &wanted[*node].node.name;
            return Err(Failure::nothing(format!(
                "cannot assemble {shown}: {name} has more than one of its stripes"
            ))
            .hint("a node can send only one stripe: move one of them, with its manifest, to another directory"));
        };
        names.push(wanted[*node].node.name.clone());
        let length = reply.length.unwrap_or(0);
        origins.push(vec![Origin {
            path: [source, found[place].aside().as_bytes()].concat(),
            length,
            modified: reply.modified,
            tree: None,
        }]);
        chosen.push(Ok(agent));
    }
    let rails = spec.plan.rails.unwrap_or(1);
    let plan = Plan::striped(layout, stripes, &names, rails)?;
    let digests = servers.iter().map(|server| server.digest).collect();
    let destination = here.file(spec, &wanted[0], None, mode, modified);
    let policy = spec.slow.patience(names.len(), cluster).together();
    Ok(GatherTask {
        plan: plan.reversed(),
        agents: Ok(chosen),
        ends: Ends::In { origins, destination, digests },
        stripes: Some(stripes),
        pipeline: spec.pipeline(),
        policy,
        paths: shown,
        tally: None,
        absence: Absence::default(),
    })
}

/// Returns a stripe that a node reported.
fn found_stripe(node: &Node, reply: &StatReply) -> FoundStripe {
    FoundStripe {
        node: node.name.clone(),
        suffix: String::from_utf8_lossy(&reply.suffix).into_owned(),
        length: reply.length,
        text: String::from_utf8_lossy(&reply.manifest).into_owned(),
    }
}

/// Returns the failure for stripes of the file `path` on the nodes `asked` that form no file, with
/// what to do.
fn not_assembled(path: &[u8], error: &StripeSetError, asked: &[Wanted]) -> Failure {
    let failure = Failure::nothing(format!("cannot assemble {}: {error}", printable::name(path)));
    let source =
        |list: &str| printable::word(OsStr::from_bytes(&[list.as_bytes(), b":", path].concat()));
    match error {
        StripeSetError::Nothing => failure.hint(
            "name all nodes to which it was written with --stripe; any other file is copied \
             without --stripe",
        ),
        StripeSetError::Incomplete { servers, .. }
            if servers.iter().any(|server| asked.iter().all(|it| it.node.name != *server)) =>
        {
            let servers: Vec<&str> = servers.iter().map(String::as_str).collect();
            let all = source(&nodelist::fold(&servers));
            failure.hint(format!("name all nodes to which it was written: {all}"))
        }
        StripeSetError::Several([newer, other]) => {
            let sources = [newer, other].map(|set| source(&set.nodes.join(",")));
            failure.hint(format!("name the nodes of one copy only: {}", sources.join(" or ")))
        }
        _ => failure,
    }
}

/// Returns the name of the directory for a node's files: the node's name without the lab's prefix.
fn directory_of(node: &Node) -> String {
    let own = node.name.strip_prefix(garland_fleet::inventory::LAB_PREFIX).unwrap_or(&node.name);
    own.replace(['/', ':'], "_")
}

#[cfg(test)]
mod tests {
    use garland_core::tree::SourcePath;

    use super::*;

    fn asking(paths: &[&str]) -> Wanted {
        let paths = paths.iter().map(|path| SourcePath::parse(path.as_bytes())).collect();
        Wanted { node: Node::named("n1"), paths }
    }

    fn reply(tree: Option<TreeStat>) -> StatReply {
        let suffix = Vec::new();
        let manifest = Vec::new();
        StatReply { suffix, length: Some(1), modified: (0, 0), mode: 0o644, manifest, tree }
    }

    #[test]
    fn two_nodes_with_one_directory_are_refused() {
        let node = |name: &str| Wanted { node: Node::named(name), ..asking(&["/x"]) };
        let said = |names: &[&str]| {
            let wanted: Vec<Wanted> = names.iter().map(|name| node(name)).collect();
            let refused = refuse_one_directory(&wanted, Path::new("d"));
            refused.err().map(|failure| failure.to_string()).unwrap_or_default()
        };
        assert_eq!(said(&["n1", "n2", "lab:n3"]), "");
        let wanted = "error: cannot copy from lab:n1 and n1 in one command: what both send would go to d/n1\n\
                      hint: copy from n1 with another command, to another directory\n";
        assert_eq!(said(&["lab:n1", "n2", "n1"]), wanted);
        assert!(said(&["a:b", "a_b"]).contains("would go to d/a_b"));
    }

    #[test]
    fn a_tree_is_taken_only_if_one_was_asked_for() {
        let tree = || {
            Some(TreeStat {
                number: 0,
                files: 1,
                folders: 0,
                links: 0,
                absence: Absence::default(),
            })
        };
        let one = asking(&["/x"]);
        assert!(asked_for(vec![reply(None)], &one, false, None).is_ok());
        assert!(asked_for(vec![reply(None)], &one, true, None).is_ok());
        assert!(asked_for(vec![reply(tree())], &one, true, None).is_ok());
        let refused = asked_for(vec![reply(tree())], &one, false, None).map(|reply| reply.length);
        let wanted = "its agent offers a tree, but one file was asked for (without -r)";
        assert_eq!(refused, Err(wanted.to_owned()));
        assert!(asked_for(Vec::new(), &one, true, None).is_err());
        for many in [&["/*"][..], &["/x", "/y"]] {
            assert!(asked_for(vec![reply(tree())], &asking(many), false, None).is_ok());
        }
        let refused = asked_for(vec![reply(None)], &asking(&["/x", "/y"]), false, None);
        let message = "its agent offers one file, but several were asked for";
        assert_eq!(refused.map(|reply| reply.length), Err(message.to_owned()));
    }

    #[test]
    fn a_length_that_needs_too_many_digests_fails_only_the_node_that_reported_it() {
        let refused = |length, block| {
            let reply = StatReply { length: Some(length), ..reply(None) };
            asked_for(vec![reply], &asking(&["/x"]), false, block).map(|reply| reply.length)
        };
        let wanted = "cannot copy what it reported: 18446744073709551615 bytes are more than 16777216 \
                      blocks of 4194304 bytes";
        assert_eq!(refused(u64::MAX, None), Err(wanted.to_owned()));
        assert!(refused(1 << 46, None).is_ok() && refused(1 << 36, Some(4096)).is_ok());
        assert!(refused((1 << 46) + 1, None).is_err());
        assert!(refused((1 << 36) + 1, Some(4096)).is_err());
    }
}
