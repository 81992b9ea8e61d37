//! What `garland up`, `status` and `down` tell: one line or object for each node, about its agent
//! that stays.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use garland_core::cluster::Node;
use serde::Serialize;

use crate::head::{Head, NodeVerdict, print_json};
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::output;
use garland_terminal::verdicts::folded;

/// The result objects `garland.up/2`, `garland.status/2` and `garland.down/2`.
#[derive(Serialize)]
pub struct StandingResult {
    /// What every result begins with.
    #[serde(flatten)]
    pub head: Head,
    /// The nodes, in the list's order.
    pub nodes: Vec<NodeState>,
}

/// What became of one node's agent, or how it is.
#[derive(Serialize)]
pub struct NodeState {
    name: String,
    verdict: NodeVerdict,
    reason: Option<String>,
    /// Where the agent writes what no head is there to hear, a file on the node's host.
    log: Option<PathBuf>,
    /// Connections that it keeps to nodes behind it, for the copies to come.
    links: Option<u32>,
    /// Nodes behind it that it cannot reach, and why.
    unreachable: Vec<String>,
    /// The verdict's word in the table.
    #[serde(skip)]
    word: &'static str,
}

impl NodeState {
    /// All is as it was asked for; the table says so by `word`.
    pub fn ok(node: &Node, word: &'static str) -> Self {
        Self::new(node, NodeVerdict::Ok, None, word)
    }

    /// It is not: `verdict` is `failed`, `dead` or `skipped`.
    pub fn but(node: &Node, verdict: NodeVerdict, reason: impl Into<String>) -> Self {
        Self::new(node, verdict, Some(reason.into()), verdict.as_str())
    }

    fn new(node: &Node, verdict: NodeVerdict, reason: Option<String>, word: &'static str) -> Self {
        let (log, links, unreachable) = (None, None, Vec::new());
        Self { name: node.name.clone(), verdict, reason, log, links, unreachable, word }
    }

    /// With the agent's log.
    pub fn with_log(mut self, log: Option<PathBuf>) -> Self {
        self.log = log;
        self
    }

    /// With the links that its agent keeps, and those that it could not open.
    pub fn with_links(mut self, links: Option<u32>, unreachable: Vec<String>) -> Self {
        (self.links, self.unreachable) = (links, unreachable);
        self
    }

    /// Whether the verdict is `verdict`.
    pub fn is(&self, verdict: NodeVerdict) -> bool {
        self.verdict == verdict
    }
}

impl StandingResult {
    /// Prints the object, or its table.
    pub fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            return print_json(self);
        }
        if self.nodes.is_empty() {
            return output::print("no agents stay; start some: garland up NODES\n");
        }
        let nodes = self.nodes.iter();
        let verdicts = nodes.map(|node| (node.word, node.reason.as_deref(), node.name.as_str()));
        output::print(folded(verdicts))?;
        let links: u32 = self.nodes.iter().filter_map(|node| node.links).sum();
        if links > 0 {
            output::print(format_args!("links   {links} between neighbours\n"))?;
        }
        for node in &self.nodes {
            node.unreachable
                .iter()
                .for_each(|why| garland_terminal::errln!("no link from {}: {why}", node.name));
        }
        Ok(())
    }

    /// Prints the directories of the agents' logs.
    pub fn print_log_folders(&self) -> Result<(), Failure> {
        let folders = self.nodes.iter().filter_map(|node| node.log.as_deref()?.parent());
        let folders: BTreeSet<&Path> = folders.collect();
        let lines: String =
            folders.iter().map(|folder| format!("logs    {}\n", folder.display())).collect();
        output::print(lines)
    }

    /// The exit code of `garland status`: agents that are gone are not the same as none.
    pub fn status(&self) -> Exit {
        let nodes = self.nodes.iter();
        let (up, gone) = nodes.fold((0, 0), |(up, gone), node| {
            (
                up + usize::from(node.is(NodeVerdict::Ok)),
                gone + usize::from(node.is(NodeVerdict::Dead)),
            )
        });
        match (up, gone) {
            (0, 0) => Exit::Nothing,
            (up, _) if up == self.nodes.len() => Exit::Done,
            _ => Exit::SomeFailed,
        }
    }

    /// The command's exit code, where `fine` says which nodes are as they were asked for.
    pub fn exit(&self, fine: impl Fn(&NodeState) -> bool) -> Exit {
        match self.nodes.iter().filter(|node| fine(node)).count() {
            all if all == self.nodes.len() => Exit::Done,
            0 => Exit::Nothing,
            _ => Exit::SomeFailed,
        }
    }
}
