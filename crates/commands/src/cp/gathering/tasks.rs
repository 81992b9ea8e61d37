//! What is to be taken from which nodes, by what they have.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_control::{Agent, Ends, Pipeline, Stats};
use garland_core::cluster::Node;
use garland_core::plan::{FoundStripe, Layout, Manifest, Plan, StripeSet, Stripes};
use garland_dataplane::{Tally, name_of};
use garland_protocol::{
    Destination, Origin, Policy, StatReply, TreeDestination, TreeLimits, TreeStat,
};

use crate::cp::request::CopyRequest;
use garland_terminal::failure::Failure;

/// Bytes that all blocks on their way from nodes may have together in this machine's memory.
const MEMORY: u64 = 96 << 20;

/// The fewest buffers of a node's lane, and the most that are of use.
const BUFFERS: std::ops::RangeInclusive<u64> = 3..=24;

/// Where things go on this machine.
pub struct Here<'a> {
    /// The path on the nodes, in the system's bytes.
    pub source: &'a [u8],
    /// Its last part.
    name: &'a OsStr,
    place: Place<'a>,
    /// Each node's file goes to a folder of its own.
    by_node: bool,
}

/// A place on this machine.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// A path; `/dev/null` drops the bytes.
    Path(&'a Path),
    /// Standard output.
    Output,
    /// The standard input of a command, in the system's bytes.
    Command(&'a [u8]),
}

/// One copy from one node, or from all that have stripes of one file.
pub struct GatherTask {
    /// What is to happen.
    pub plan: Plan,
    /// The agents in the plan's order; or why its only node can't give anything.
    pub agents: Result<Vec<Result<Agent, String>>, String>,
    /// The two ends.
    pub ends: Ends,
    /// How the nodes' files are stripes of one.
    pub stripes: Option<Stripes>,
    /// What may be under way.
    pub pipeline: Pipeline,
    /// What the head may decide.
    pub policy: Policy,
    /// How much a tree has.
    pub tally: Option<Tally>,
}

impl<'a> Here<'a> {
    /// Puts what `nodes` have at `source` to `place`.
    pub fn new(
        place: Place<'a>,
        source: &'a Path,
        nodes: &[Node],
        request: &CopyRequest<'_>,
    ) -> Result<Self, Failure> {
        if !matches!(place, Place::Path(_)) {
            is_one_stream(nodes.len(), request)?;
        }
        let recursive = request.args.recursive;
        let name = source.file_name().filter(|_| !source.as_os_str().as_bytes().ends_with(b"/"));
        let name = name.or(recursive.then_some(OsStr::new(""))).ok_or_else(|| {
            Failure::usage(format!("{} names no file", source.display()))
                .hint("folders come with -r")
        })?;
        Ok(Self { source: source.as_os_str().as_bytes(), name, place, by_node: nodes.len() > 1 })
    }

    /// Whether the bytes go to standard output.
    pub fn is_output(&self) -> bool {
        matches!(self.place, Place::Output)
    }

    /// Whether they can be read again here.
    pub fn is_kept(&self) -> bool {
        matches!(self.place, Place::Path(path) if path.as_os_str() != "/dev/null")
    }

    /// The path for what is kept; or where else it goes.
    fn path(&self) -> Result<&'a Path, Destination> {
        match self.place {
            Place::Path(path) if path.as_os_str() == "/dev/null" => Err(Destination::Null),
            Place::Path(path) => Ok(path),
            Place::Output => Err(Destination::Output),
            Place::Command(line) => Err(Destination::Command(line.to_vec())),
        }
    }

    /// Where a tree goes, and what its stream may do there: nothing that wasn't asked for.
    fn tree(&self, request: &CopyRequest<'_>, node: &Node) -> Destination {
        let path = match self.path() {
            Ok(path) => path,
            Err(elsewhere) => return elsewhere,
        };
        let top = name_of(Path::new(OsStr::from_bytes(self.source)));
        Destination::Tree(TreeDestination {
            path: path.as_os_str().as_bytes().to_vec(),
            below: self.below(node),
            fsync: !request.args.no_fsync,
            verify: request.args.checks.verify,
            limits: TreeLimits {
                removes: false,
                attributes: request.args.xattrs,
                top: top.map(|name| name.as_bytes().to_vec()),
                excludes: request.args.exclude.iter().map(|it| it.as_bytes().to_vec()).collect(),
            },
        })
    }

    /// Where one file goes, with its source's mode and, if asked for, time.
    fn file(
        &self,
        request: &CopyRequest<'_>,
        node: Option<&Node>,
        mode: u32,
        modified: (i64, u32),
    ) -> Destination {
        let path = match self.path() {
            Ok(path) => path,
            Err(elsewhere) => return elsewhere,
        };
        Destination::File {
            path: path.as_os_str().as_bytes().to_vec(),
            below: node.and_then(|node| self.below(node)),
            name: self.name.as_bytes().to_vec(),
            mode,
            times: request.args.preserve.then_some(modified),
            fsync: !request.args.no_fsync,
            room: u64::MAX,
            force_device: request.args.force_device,
        }
    }

    /// The node's own directory, if each has one.
    fn below(&self, node: &Node) -> Option<Vec<u8>> {
        self.by_node.then(|| folder_of(node).into_bytes())
    }
}

/// What goes through a pipe comes from one node, or as the stripes of one file.
fn is_one_stream(nodes: usize, request: &CopyRequest<'_>) -> Result<(), Failure> {
    if request.args.recursive {
        return Err(Failure::usage("a tree can't go through a pipe")
            .hint("for its bytes as they come: garland exec NODE -- tar c PATH"));
    }
    if nodes > 1 && request.args.stripe.is_none() {
        let message = format!("the files of {nodes} nodes can't all go through one pipe");
        return Err(Failure::usage(message).hint("name one node, or a folder"));
    }
    Ok(())
}

/// All copies that what was asked for takes.
pub fn all(
    request: &CopyRequest<'_>,
    here: &Here<'_>,
    nodes: &[Node],
    seen: Vec<Stats>,
) -> Result<Vec<GatherTask>, Failure> {
    if request.args.stripe.is_some() {
        Ok(vec![stripes(request, here, nodes, seen)?])
    } else {
        files(request, here, nodes, seen)
    }
}

/// Every node's file: a copy for each, so that none waits for another.
fn files(
    request: &CopyRequest<'_>,
    here: &Here<'_>,
    nodes: &[Node],
    seen: Vec<Stats>,
) -> Result<Vec<GatherTask>, Failure> {
    let block = request.block_size;
    let count = nodes.len() as u64;
    let take = |(node, seen): (&Node, Stats)| {
        let (sight, agents) = match seen {
            Ok((agent, sights)) => match asked_for(sights, request.args.recursive) {
                Ok(sight) => (Some(sight), Ok(vec![Ok(agent)])),
                Err(reason) => (None, Err(reason)),
            },
            Err(reason) => (None, Err(reason)),
        };
        let (length, modified, mode, tree) = sight.map_or((0, (0, 0), 0, None), |sight| {
            (sight.length.unwrap_or(0), sight.modified, sight.mode, sight.tree)
        });
        let layout = match block {
            None => Layout::fitting(length),
            Some(block) => Layout::new(length, block).map_err(Failure::usage)?,
        };
        let rails = u16::try_from(node.addresses.len().max(1)).unwrap_or(1);
        let rails = request.args.rails.unwrap_or(rails);
        let names = [node.name.clone()];
        let plan = Plan::broadcast(layout, &names, rails).map_err(Failure::usage)?;
        let fitting = MEMORY / count / u64::from(layout.block_size) / u64::from(rails);
        let fitting = u16::try_from(fitting.clamp(*BUFFERS.start(), *BUFFERS.end())).ok();
        let number = tree.map(|tree| tree.number);
        let origins = vec![Origin { path: here.source.to_vec(), length, modified, tree: number }];
        let destination = match tree {
            Some(_) => here.tree(request, node),
            None => here.file(request, Some(node), mode, modified),
        };
        let tally =
            tree.map(|TreeStat { files, folders, links, .. }| Tally { files, folders, links });
        Ok(GatherTask {
            plan: plan.reversed(),
            agents,
            ends: Ends::In { origins, destination, digests: Vec::new() },
            stripes: None,
            pipeline: Pipeline {
                buffers: request.args.buffers.or(fitting),
                cut: None,
                pace: request.args.checks.pace(),
            },
            policy: Policy::for_nodes(1).with_stuck_after(request.args.stuck_after),
            tally,
        })
    };
    nodes.iter().zip(seen).map(take).collect()
}

/// Says of stripes whether they are those from before a copy that failed.
fn tell_of_unfinished(shown: &str, is_unfinished: bool) {
    if is_unfinished {
        garland_terminal::errln!(
            "{shown}: a later copy of it was not finished on all nodes; this is the one before"
        );
    }
}

/// What a node has, if that is what it was asked for.
fn asked_for(sights: Vec<StatReply>, recursive: bool) -> Result<StatReply, String> {
    match sights.into_iter().next() {
        // A tree would go where a file was to go, with names of the node's choice.
        Some(sight) if sight.tree.is_some() && !recursive => {
            Err("its agent offers a tree, but one file was asked for (without -r)".to_owned())
        }
        Some(sight) if sight.length.is_some() => Ok(sight),
        _ => Err("its agent saw no file and no fault".to_owned()),
    }
}

/// The stripes of one file: one copy from all nodes that have any.
fn stripes(
    request: &CopyRequest<'_>,
    here: &Here<'_>,
    nodes: &[Node],
    seen: Vec<Stats>,
) -> Result<GatherTask, Failure> {
    let (mut found, mut places, mut unseen) = (Vec::new(), Vec::new(), Vec::new());
    let mut agents: Vec<Option<Agent>> = Vec::new();
    for (place, (node, seen)) in nodes.iter().zip(seen).enumerate() {
        let (agent, sights) = match seen {
            Ok((agent, sights)) => (Some(agent), sights),
            Err(reason) => {
                unseen.push(format!("{}: {reason}", node.name));
                (None, Vec::new())
            }
        };
        agents.push(agent);
        for sight in sights {
            found.push(FoundStripe {
                node: node.name.clone(),
                suffix: String::from_utf8_lossy(&sight.suffix).into_owned(),
                length: sight.length,
                text: String::from_utf8_lossy(&sight.manifest).into_owned(),
            });
            places.push((place, sight));
        }
    }
    let shown = OsStr::from_bytes(here.source).to_string_lossy();
    let set = StripeSet::assemble(&found).map_err(|error| {
        let failure = Failure::nothing(format!("{shown}: {error}"));
        unseen.iter().fold(failure, |failure, node| failure.hint(node))
    })?;
    tell_of_unfinished(&shown, !request.args.quiet && set.has_aside(&found));
    let Manifest { stripes, layout, mode, modified, servers, .. } = set.manifest;
    let (mut names, mut origins, mut chosen) = (Vec::new(), Vec::new(), Vec::new());
    for place in set.stripes {
        let (node, sight) = &places[place];
        let agent = agents[*node].take();
        let Some(agent) = agent else {
            let name = &nodes[*node].name;
            return Err(Failure::nothing(format!(
                "{shown}: {name} has more than one of its stripes"
            ))
            .hint("a node gives one stripe; move one of them, with its manifest, elsewhere"));
        };
        names.push(nodes[*node].name.clone());
        let length = sight.length.unwrap_or(0);
        origins.push(Origin {
            path: [here.source, found[place].aside().as_bytes()].concat(),
            length,
            modified: sight.modified,
            tree: None,
        });
        chosen.push(Ok(agent));
    }
    let rails = request.args.rails.unwrap_or(1);
    let plan = Plan::striped(layout, stripes, &names, rails).map_err(Failure::usage)?;
    let digests = servers.iter().map(|server| server.digest).collect();
    let destination = here.file(request, None, mode, modified);
    let policy =
        Policy::for_nodes(names.len()).with_stuck_after(request.args.stuck_after).together();
    Ok(GatherTask {
        plan: plan.reversed(),
        agents: Ok(chosen),
        ends: Ends::In { origins, destination, digests },
        stripes: Some(stripes),
        pipeline: Pipeline {
            buffers: request.args.buffers,
            cut: None,
            pace: request.args.checks.pace(),
        },
        policy,
        tally: None,
    })
}

/// The directory of a node: its name without the lab's prefix.
fn folder_of(node: &Node) -> String {
    let own = node.name.strip_prefix(garland_fleet::inventory::LAB_PREFIX).unwrap_or(&node.name);
    own.replace(['/', ':'], "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(tree: Option<TreeStat>) -> StatReply {
        let (suffix, manifest) = (Vec::new(), Vec::new());
        StatReply { suffix, length: Some(1), modified: (0, 0), mode: 0o644, manifest, tree }
    }

    #[test]
    fn a_tree_is_taken_only_if_one_was_asked_for() {
        let tree = || Some(TreeStat { number: 0, files: 1, folders: 0, links: 0 });
        assert!(asked_for(vec![sight(None)], false).is_ok());
        assert!(asked_for(vec![sight(None)], true).is_ok());
        assert!(asked_for(vec![sight(tree())], true).is_ok());
        let refused = asked_for(vec![sight(tree())], false).map(|sight| sight.length);
        let wanted = "its agent offers a tree, but one file was asked for (without -r)";
        assert_eq!(refused, Err(wanted.to_owned()));
        assert!(asked_for(Vec::new(), true).is_err());
    }
}
