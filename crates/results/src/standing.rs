//! The results of `garland up`, `garland status` and `garland down`: the state of the standing
//! agent on each node.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use garland_core::cluster::{Node, nodelist};
use garland_core::printable;
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::output;
use garland_terminal::verdicts::folded;
use serde::Serialize;

use crate::head::{Head, NodeEnd, NodeVerdict, print_json};
use crate::spool::SpoolState;

/// The result object `garland.up/2`, `garland.status/2` or `garland.down/2`.
#[derive(Serialize)]
pub struct StandingResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// The nodes, in the order of the node list.
    pub nodes: Vec<NodeState>,
    /// The spools of this user on this machine (`garland status`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spools: Vec<SpoolState>,
}

/// The state of one node's standing agent, or the outcome of an operation on it.
#[derive(Serialize)]
pub struct NodeState {
    name: String,
    #[serde(flatten)]
    end: NodeEnd,
    /// The path of the agent's log on the node; `None` without an agent.
    log: Option<PathBuf>,
    /// The number of links to later nodes that the agent keeps open for future copies; `None` if
    /// unknown.
    links: Option<u32>,
    /// The seconds after which the agent ends because of its age, 0 if it only finishes its work;
    /// `None` if it has no maximum age.
    #[serde(skip_serializing_if = "Option::is_none")]
    ends_in_s: Option<u64>,
    /// The release of the agent; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    release: Option<String>,
    /// The seconds since the agent was started; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    age_s: Option<u64>,
    /// For each link to a later node that could not be opened, the reason.
    unreachable: Vec<String>,
    /// The word that stands for the verdict in the table.
    #[serde(skip)]
    word: &'static str,
}

impl NodeState {
    /// Creates the state of a node that is as requested; `word` is shown in the table.
    pub fn ok(node: &Node, word: &'static str) -> Self {
        Self { word, ..Self::new(node, NodeVerdict::Ok, None) }
    }

    /// Creates the state of a node with the verdict `failed`, `dead` or `skipped`, and the reason
    /// for it.
    pub fn but(node: &Node, verdict: NodeVerdict, reason: impl Into<String>) -> Self {
        Self::new(node, verdict, Some(reason.into()))
    }

    fn new(node: &Node, verdict: NodeVerdict, reason: Option<String>) -> Self {
        let end = NodeEnd { verdict, reason };
        let word = verdict.as_str();
        let name = node.name.clone();
        Self {
            name,
            end,
            log: None,
            links: None,
            ends_in_s: None,
            release: None,
            age_s: None,
            unreachable: Vec::new(),
            word,
        }
    }

    /// Sets the path of the agent's log.
    pub fn with_log(mut self, log: Option<PathBuf>) -> Self {
        self.log = log;
        self
    }

    /// Sets the number of the agent's open links, and the errors of links that were not opened.
    pub fn with_links(mut self, links: Option<u32>, unreachable: Vec<String>) -> Self {
        (self.links, self.unreachable) = (links, unreachable);
        self
    }

    /// Sets the seconds after which the agent ends because of its age, if it has a maximum.
    pub fn with_life(mut self, ends_in_s: Option<u64>) -> Self {
        self.ends_in_s = ends_in_s;
        self
    }

    /// Sets the release of the agent, and the seconds since its start.
    pub fn with_release(mut self, release: Option<String>, age_s: Option<u64>) -> Self {
        (self.release, self.age_s) = (release, age_s);
        self
    }

    /// Returns whether the node has this verdict.
    pub fn is(&self, verdict: NodeVerdict) -> bool {
        self.end.verdict == verdict
    }
}

impl StandingResult {
    /// Prints the result: as JSON if `json`, otherwise as a table.
    pub fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            return print_json(self);
        }
        self.spools.iter().try_for_each(output::print)?;
        if self.nodes.is_empty() {
            return output::print("no standing agents; to start some: garland up NODES\n");
        }
        let nodes = self.nodes.iter();
        let verdicts =
            nodes.map(|node| (node.word, node.end.reason.as_deref(), node.name.as_str()));
        output::print(folded(verdicts))?;
        let links: u32 = self.nodes.iter().filter_map(|node| node.links).sum();
        if links > 0 {
            output::print(format_args!("links   {links} between neighbours\n"))?;
        }
        output::print(self.releases())?;
        if let Some(text) = self.lives() {
            output::print(format_args!("life    {text}\n"))?;
        }
        self.tell_missing_links();
        Ok(())
    }

    /// Prints on standard error which nodes have no links to their next ones, and why the first of
    /// them has none: a firewall is the same for all.
    fn tell_missing_links(&self) {
        let mut nodes = self.nodes.iter().filter(|node| !node.unreachable.is_empty());
        let Some(first) = nodes.next() else { return };
        let others: Vec<&str> = nodes.map(|node| node.name.as_str()).collect();
        let nor = match &others[..] {
            [] => String::new(),
            others => format!("; nor from {}", nodelist::fold(others)),
        };
        for why in &first.unreachable {
            garland_terminal::errln!("no link from {}: {why}{nor}", first.name);
        }
    }

    /// Returns a line for each release of agents that are up: the nodes, and for how long.
    fn releases(&self) -> String {
        let mut releases: BTreeMap<&str, Vec<&NodeState>> = BTreeMap::new();
        for node in self.nodes.iter().filter(|node| node.is(NodeVerdict::Ok)) {
            let Some(release) = &node.release else { continue };
            releases.entry(release).or_default().push(node);
        }
        let line = |(release, nodes): (&str, Vec<&NodeState>)| {
            let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            let names = nodelist::fold(&names);
            let ages = || nodes.iter().filter_map(|node| node.age_s);
            let up_for = match (ages().min(), ages().max()) {
                (Some(first), Some(last)) => format!(", up for {}", span(first, last)),
                _ => String::new(),
            };
            format!("agents  {names}: garland {release}{up_for}\n")
        };
        releases.into_iter().map(line).collect()
    }

    /// Returns a line that says when agents end because of their age: the first one, and the last
    /// one if it differs. `None` if no agent has such an end.
    fn lives(&self) -> Option<String> {
        let ends = || self.nodes.iter().filter(|node| node.is(NodeVerdict::Ok));
        let ages = || ends().filter_map(|node| node.ends_in_s);
        Some(format!("agents end in {}", span(ages().min()?, ages().max()?)))
    }

    /// Prints the directories that contain the agents' logs, each once.
    pub fn print_log_folders(&self) -> Result<(), Failure> {
        let folders = self.nodes.iter().filter_map(|node| node.log.as_deref()?.parent());
        let folders: BTreeSet<&Path> = folders.collect();
        let lines: String =
            folders.iter().map(|folder| format!("logs    {}\n", printable::path(folder))).collect();
        output::print(lines)
    }

    /// Returns the exit code of `garland status`: [`Exit::Nothing`] if no node has an agent,
    /// running or dead.
    pub fn status(&self) -> Exit {
        let count = |verdict| self.nodes.iter().filter(|node| node.is(verdict)).count();
        let up = count(NodeVerdict::Ok);
        let none = count(NodeVerdict::Skipped);
        Exit::of_work(up > 0 && up == self.nodes.len(), none < self.nodes.len(), false)
    }

    /// Returns the exit code of a command; `fine` tells whether a node is as requested.
    pub fn exit(&self, fine: impl Fn(&NodeState) -> bool) -> Exit {
        let fine = self.nodes.iter().filter(|node| fine(node)).count();
        Exit::of_work(fine == self.nodes.len(), fine > 0, false)
    }
}

/// Formats two times, such as `2 h to 3 d`, or one if they are alike.
fn span(first_s: u64, last_s: u64) -> String {
    let first = rounded(first_s);
    let last = rounded(last_s);
    if first == last { first } else { format!("{first} to {last}") }
}

/// Formats a time in the largest unit of which it has two or more.
fn rounded(seconds: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(86_400, "d"), (3600, "h"), (60, "min")];
    let unit = UNITS.iter().find(|(length, _)| seconds >= 2 * length);
    unit.map_or_else(
        || format!("{seconds} s"),
        |(length, name)| format!("{} {name}", seconds / length),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ages_of_agents_are_told_in_one_line() {
        let node = |ends_in_s| NodeState::ok(&Node::named("n1"), "up").with_life(ends_in_s);
        let lives = |ends: &[Option<u64>]| {
            let nodes = ends.iter().map(|ends| node(*ends)).collect();
            let head = Head::new("garland.status/2", None, crate::head::Phases::since_now());
            StandingResult { head, nodes, spools: Vec::new() }.lives()
        };
        assert_eq!(lives(&[None, None]), None);
        assert_eq!(lives(&[Some(7300), None]).as_deref(), Some("agents end in 2 h"));
        let both = lives(&[Some(200_000), Some(0)]);
        assert_eq!(both.as_deref(), Some("agents end in 0 s to 2 d"));
    }

    #[test]
    fn agents_of_one_release_are_a_line_with_their_ages() {
        let node = |name: &str, release: Option<&str>, age_s| {
            let state = NodeState::ok(&Node::named(name), "up");
            state.with_release(release.map(str::to_owned), age_s)
        };
        let nodes = vec![
            node("n1", Some("0.1.0"), Some(7300)),
            node("n2", Some("0.1.0"), Some(200_000)),
            node("n3", Some("0.2.0"), Some(5)),
            node("n4", None, None),
        ];
        let head = Head::new("garland.status/2", None, crate::head::Phases::since_now());
        let result = StandingResult { head, nodes, spools: Vec::new() };
        assert_eq!(
            result.releases(),
            "agents  n[1-2]: garland 0.1.0, up for 2 h to 2 d\nagents  n3: garland 0.2.0, up for 5 s\n"
        );
    }
}
