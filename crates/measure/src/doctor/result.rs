//! The result object of `garland doctor`: `garland.doctor/1`.

use std::collections::BTreeSet;
use std::fmt;

use garland_core::printable;
use garland_core::units::bytes;
use garland_protocol::copy::{Examination, PlaceFacts, advice_on_own_limit};
use garland_protocol::operation::Links;
use garland_results::head::{Head, NodeEnd, NodeVerdict, Phases};
use garland_state::run::Run;
use garland_terminal::failure::Exit;
use garland_terminal::verdicts::folded;
use serde::Serialize;

use super::findings::warnings;

/// The result object `garland.doctor/1`.
#[derive(Serialize)]
pub struct DoctorResult {
    #[serde(flatten)]
    head: Head,
    /// The nodes, in the order of the node list.
    nodes: Vec<NodeCheck>,
    /// Whether the user interrupted the command.
    interrupted: bool,
    /// The path that was asked about.
    #[serde(skip)]
    asked: Vec<u8>,
}

/// What was found on a node.
#[derive(Serialize)]
pub struct NodeCheck {
    name: String,
    #[serde(flatten)]
    end: NodeEnd,
    /// What prevents a copy to the node, or through it.
    faults: Vec<String>,
    /// What may disturb a copy, and what to do about it.
    warnings: Vec<String>,
    /// What the node has; `None` if it could not be examined.
    #[serde(flatten)]
    facts: Option<Facts>,
    /// The number of links to the next node.
    links: u32,
}

/// What a copy of a file would do with the path that was asked about.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum CopyEffect {
    /// Put the file into it: it is a directory.
    Into,
    /// Make the directory, and put the file into it.
    Makes,
    /// Give the file this name: it is no directory.
    As,
}

impl CopyEffect {
    /// Returns the effect on `asked`, if the node says that `place` is the directory in which the
    /// copy creates something.
    fn new(asked: &[u8], place: &PlaceFacts) -> Self {
        if place.path == asked {
            Self::Into
        } else if asked.ends_with(b"/") {
            Self::Makes
        } else {
            Self::As
        }
    }

    /// Returns what is told of it.
    fn told(&self, asked: &[u8]) -> String {
        let shown = printable::name(asked);
        match self {
            Self::Into if asked == b"." => "into the directory of relative paths".to_owned(),
            Self::Into => format!("into the directory {shown}"),
            Self::Makes => format!("into the directory {shown}, which it makes"),
            Self::As => format!("as the file {shown}: it is no directory, and {shown}/ makes one"),
        }
    }
}

/// What a node has.
#[derive(Serialize)]
struct Facts {
    kernel: String,
    cores: u32,
    /// In bytes.
    memory_free: u64,
    open_files: u64,
    /// The directory in which a copy creates something; the fields are `None` if nothing can be
    /// written there.
    path: Option<String>,
    /// The path in hexadecimal, if it is no text.
    #[serde(skip_serializing_if = "Option::is_none")]
    path_bytes: Option<String>,
    /// The path on the screen.
    #[serde(skip)]
    shown: Option<String>,
    /// In bytes.
    free: Option<u64>,
    file_system: Option<String>,
    /// What a copy does with the path that was asked about.
    copy: Option<CopyEffect>,
}

/// What is said of nodes that are reached through ssh and do not reach each other.
const NO_LINKS_THROUGH_SSH: &str = "no connection to the next node's agent (a firewall?): this \
     machine feeds it, through ssh, which is slower; to change that, open a TCP port to the nodes, \
     and name it by --port";

impl NodeCheck {
    /// Creates the check of the node `name`: its examination, or why there is none. The path that
    /// was asked about is `asked`.
    pub fn new(name: &str, asked: &[u8], examined: Result<Examination, String>) -> Self {
        let (reason, examination) = match examined {
            Ok(examination) => (None, Some(examination)),
            Err(reason) => (Some(reason), None),
        };
        let end = NodeEnd::new(NodeVerdict::Failed, reason);
        let warnings = examination.as_ref().map(warnings).unwrap_or_default();
        let fault = examination.as_ref().and_then(|it| it.place.as_ref().err());
        let shown = printable::name(asked);
        let fault = fault.map(|why| format!("cannot copy to {shown}: {why}"));
        let name = name.to_owned();
        let faults = fault.into_iter().collect();
        let facts = examination.map(|examination| Facts::new(examination, asked));
        Self { name, end, faults, warnings, facts, links: 0 }
    }

    /// Adds the node's links to the next node.
    pub fn add_links(&mut self, links: Links, is_behind_login: bool) {
        self.links = links.count;
        if is_behind_login && !links.failed.is_empty() {
            // A copy is made all the same.
            self.warnings.push(NO_LINKS_THROUGH_SSH.to_owned());
            return;
        }
        let advice = |why: &str| {
            let firewall = || "is there a firewall between nodes?".to_owned();
            advice_on_own_limit(why, &self.name).unwrap_or_else(firewall)
        };
        let fault = |why: String| format!("no link to the next node: {why}; {}", advice(&why));
        self.faults.extend(links.failed.into_iter().map(fault));
    }
}

impl Facts {
    fn new(examination: Examination, asked: &[u8]) -> Self {
        let Examination { kernel, cores, memory_free, open_files, place, .. } = examination;
        let place = place.ok();
        let path = place.as_ref().map(|it| printable::json_name(&it.path));
        let path_bytes = place.as_ref().and_then(|it| printable::name_bytes(&it.path));
        let shown = place.as_ref().map(|it| printable::name(&it.path));
        let free = place.as_ref().map(|it| it.free);
        let copy = place.as_ref().map(|it| CopyEffect::new(asked, it));
        let file_system = place.map(|PlaceFacts { file_system, .. }| file_system);
        Self {
            kernel,
            cores,
            memory_free,
            open_files,
            path,
            path_bytes,
            shown,
            free,
            file_system,
            copy,
        }
    }
}

impl DoctorResult {
    /// Creates the result of the checks of all nodes, for copies to the path `asked`.
    pub fn new(
        run: &Run,
        phases: Phases,
        nodes: Vec<NodeCheck>,
        asked: Vec<u8>,
        interrupted: bool,
    ) -> Self {
        Self { head: Head::new("garland.doctor/1", Some(run), phases), nodes, interrupted, asked }
    }

    /// Returns the exit code: that of a fault if a copy to a node that was examined would fail.
    pub fn exit(&self) -> Exit {
        let reached = self.nodes.iter().filter(|node| node.end.is_ok()).count();
        let has_fault = self.nodes.iter().any(|node| !node.faults.is_empty());
        let all = reached == self.nodes.len();
        Exit::of_check(has_fault, all, reached > 0, self.interrupted)
    }

    fn facts(&self) -> impl Iterator<Item = &Facts> {
        self.nodes.iter().filter_map(|node| node.facts.as_ref())
    }
}

impl fmt::Display for DoctorResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.nodes.iter().flat_map(|node| {
            let name = node.name.as_str();
            let is_fine = node.end.is_ok() && node.faults.is_empty() && node.warnings.is_empty();
            let ok = is_fine.then_some(("ok", None, name));
            let failed = node.end.reason.as_deref().map(|why| ("failed", Some(why), name));
            let faults = node.faults.iter().map(move |why| ("fault", Some(why.as_str()), name));
            let warnings = node.warnings.iter().map(move |why| ("warn", Some(why.as_str()), name));
            ok.into_iter().chain(failed).chain(faults).chain(warnings)
        });
        write!(f, "{}", folded(lines))?;
        let effects = self.nodes.iter().filter_map(|node| {
            let effect = node.facts.as_ref()?.copy.as_ref()?;
            Some((effect.told(&self.asked), node.name.as_str()))
        });
        let effects: Vec<(String, &str)> = effects.collect();
        let effects = effects.iter().map(|(told, name)| ("copy", Some(told.as_str()), *name));
        write!(f, "{}", folded(effects))?;
        let links: u32 = self.nodes.iter().map(|node| node.links).sum();
        if links > 0 {
            writeln!(f, "links   {links} between neighbours")?;
        }
        if let Some(free) = range(self.facts().filter_map(|facts| facts.free), bytes::format) {
            let distinct = |of: fn(&Facts) -> Option<&str>| {
                let all: BTreeSet<&str> = self.facts().filter_map(of).collect();
                all.into_iter().collect::<Vec<_>>().join(", ")
            };
            let paths = distinct(|facts| facts.shown.as_deref());
            let systems = distinct(|facts| facts.file_system.as_deref());
            writeln!(f, "space   {free} free in {paths}: {systems}")?;
        }
        if let Some(free) = range(self.facts().map(|facts| facts.memory_free), bytes::format) {
            writeln!(f, "memory  {free} free")?;
        }
        if let Some(cores) = range(self.facts().map(|facts| facts.cores), |cores| cores.to_string())
        {
            writeln!(f, "cores   {cores}")?;
        }
        Ok(())
    }
}

/// Returns the least and the greatest value as text; `None` without values.
fn range<T: Ord + Copy>(
    values: impl Iterator<Item = T>,
    text: impl Fn(T) -> String,
) -> Option<String> {
    let all: BTreeSet<T> = values.collect();
    let least = text(*all.first()?);
    let most = text(*all.last()?);
    Some(if least == most { least } else { format!("{least} to {most}") })
}
