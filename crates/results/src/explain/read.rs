//! Reads what the stored run of a copy contains: its result, its plan and its traces.

use garland_analysis::ledger::{self, CompareWork};
use garland_core::printable;
use garland_core::trace::Trace;
use garland_state::run::Run;
use garland_state::traces::{self, Traced};
use garland_terminal::failure::Failure;

use crate::copy::{ComparisonWorkResult, CopyResult, NodeResult, SCHEMA};
use crate::copy_outcome::Direction;
use crate::head::{NodeVerdict, Phase};
use crate::kept::KeptResult;
use crate::limit::{Limit, ProcessorRate};

/// The contents of the stored run of a copy.
pub struct Kept {
    /// The names of the plan's nodes, the head first.
    pub nodes: Vec<String>,
    /// The traces by node; `None` for a node without a readable trace.
    pub traces: Vec<Option<Trace>>,
    /// Problems with the traces, as text.
    pub warnings: Vec<String>,
    /// The phases of the command: the name and the duration in nanoseconds of each.
    pub phases: Vec<(String, u64)>,
    /// The number of bytes in the result of the copy.
    pub bytes: u64,
    /// The limit in the result of the copy; `None` if it is unknown.
    pub limit: Option<Limit>,
    /// From this machine to nodes, or from them.
    pub direction: Direction,
    /// The number of nodes that have the whole file.
    pub ok: usize,
    /// The rates that the processors of machines allow: the node's index, or `None` for the machine
    /// that emulates all nodes, and bytes per second.
    processors: Vec<(Option<usize>, f64)>,
    /// Who worked when for the comparison before the copy.
    comparison: Vec<CompareWork>,
    /// Whether the command started agents; `None` if that is unknown.
    agents_started: Option<bool>,
    /// Whether all nodes had all of the source.
    is_unsent: bool,
    /// Whether the head read the source from none of its disks.
    off_disk: bool,
    /// The indices of the nodes to which the head's bytes went through ssh.
    by_ssh: Vec<usize>,
    /// The indices of the nodes that died during the copy.
    dead: Vec<usize>,
    missing: bool,
}

impl Kept {
    /// Reads the stored run of the copy in `traced`. Warns of traces that cannot be read.
    pub fn read(traced: &Traced) -> Result<Self, Failure> {
        let run = &traced.run;
        let mut result = read_result(run)?;
        let mut nodes = traced.planned.clone();
        let mut warnings = Vec::new();
        let of_gather = traced.of_node.as_ref().and_then(|node| share_of(&result, node));
        if let Some(node) = &traced.of_node {
            result.nodes.retain(|kept| kept.name == *node);
            result.bytes = result.nodes.iter().map(|kept| kept.bytes).sum();
            warnings.push(format!(
                "{} gathered files with one copy per node; this is the copy of {node} (choose with --node)",
                run.name()
            ));
        }
        let found = find_traces(traced, &mut warnings)?;
        if nodes.is_empty() {
            // Without the plan, only the nodes that have traces are known.
            warnings.push("the plan cannot be read: nodes without a trace are unknown".to_owned());
            let last = found.iter().map(|trace| usize::from(trace.origin.index)).max();
            nodes = (0..=last.unwrap_or(0)).map(|place| format!("node {place}")).collect();
        }
        let mut traces: Vec<Option<Trace>> = nodes.iter().map(|_| None).collect();
        for trace in found {
            let place = usize::from(trace.origin.index);
            match traces.get_mut(place) {
                Some(slot) => {
                    nodes[place].clone_from(&trace.origin.node);
                    *slot = Some(trace);
                }
                None => warnings.push(format!(
                    "the trace of {} belongs to another copy: its node is not in the plan",
                    trace.origin.node
                )),
            }
        }
        if traces.iter().all(Option::is_none) {
            let why = warnings.first().cloned().unwrap_or_default();
            return Err(Failure::nothing(format!(
                "cannot read any trace of {}: {why}",
                run.name()
            )));
        }
        let missing = traces.iter().any(Option::is_none);
        let by_ssh = find_by_ssh(&result, &nodes);
        let dead = find_dead(&result, &nodes);
        let comparison = find_comparison(&result, &nodes);
        let is_unsent = have_had_all(&result.nodes);
        let limit = of_gather.or(result.head.limit).filter(|limit| limit.rate > 0);
        let processors = limit.as_ref().map_or_else(Vec::new, |limit| processors(limit, &nodes));
        for node in result.nodes.iter().filter(|node| !node.end.is_ok()) {
            let reason = node.end.reason.as_deref().unwrap_or("unknown reason");
            warnings.push(format!("{} {}: {reason}", node.name, node.end.verdict.as_str()));
        }
        Ok(Self {
            nodes,
            traces,
            warnings,
            phases: named(result.head.phases),
            bytes: result.bytes,
            direction: result.direction,
            limit,
            ok: result.nodes.iter().filter(|node| node.end.is_ok()).count(),
            processors,
            comparison,
            agents_started: result.agents_started,
            is_unsent,
            off_disk: result.off_disk,
            by_ssh,
            dead,
            missing,
        })
    }

    /// Returns the run as the input from which the ledger is computed.
    pub fn run(&self) -> ledger::Run<'_> {
        ledger::Run {
            nodes: &self.nodes,
            traces: &self.traces,
            phases: &self.phases,
            comparison: &self.comparison,
            agents_started: self.agents_started,
            has_failed: self.ok == 0,
            is_unsent: self.is_unsent,
            bytes: self.bytes,
            limit: self
                .limit
                .as_ref()
                .map(|limit| limit.without_trunks.unwrap_or(limit.rate) as f64),
            hop_limit: self.limit.as_ref().and_then(|limit| Some(limit.hop? as f64)),
            has_slow_trunk: self.limit.as_ref().is_some_and(|limit| limit.without_trunks.is_some()),
            processors: &self.processors,
            off_disk: self.off_disk,
            by_ssh: &self.by_ssh,
            dead: &self.dead,
        }
    }

    /// Returns whether every node of the plan has a readable trace.
    pub fn is_whole(&self) -> bool {
        !self.missing
    }
}

/// Reads the traces of a copy. Warns of those that cannot be read.
fn find_traces(traced: &Traced, warnings: &mut Vec<String>) -> Result<Vec<Trace>, Failure> {
    let mut found = Vec::new();
    for path in traced.files()? {
        match traces::read(&path) {
            Ok((trace, cut)) => {
                let name = &trace.origin.node;
                warnings.extend(cut.map(|cut| format!("the trace of {name} is incomplete: {cut}")));
                found.push(trace);
            }
            Err(reason) => {
                let shown = printable::path(&path);
                warnings.push(format!("cannot read the trace {shown}: {reason}"));
            }
        }
    }
    Ok(found)
}

/// Returns the rates that processors allow, by the index in `nodes`.
fn processors(limit: &Limit, nodes: &[String]) -> Vec<(Option<usize>, f64)> {
    let of = |known: &ProcessorRate| {
        let node = match &known.node {
            Some(name) => Some(nodes.iter().position(|node| node == name)?),
            None => None,
        };
        Some((node, known.rate as f64))
    };
    limit.processors.iter().filter_map(of).collect()
}

/// Returns the indices in `nodes` of the nodes that died.
fn find_dead(result: &CopyResult, nodes: &[String]) -> Vec<usize> {
    let has_died = |name: &String| {
        let mut ends = result.nodes.iter().filter(|node| node.name == *name);
        ends.any(|node| node.end.verdict == NodeVerdict::Dead)
    };
    (0..nodes.len()).filter(|&node| has_died(&nodes[node])).collect()
}

/// Returns the nodes that were reached through ssh.
fn find_by_ssh(result: &CopyResult, nodes: &[String]) -> Vec<usize> {
    (0..nodes.len()).filter(|&node| result.by_ssh.contains(&nodes[node])).collect()
}

/// Returns the names and durations of phases.
fn named(phases: Vec<Phase>) -> Vec<(String, u64)> {
    phases.into_iter().map(|phase| (phase.name.into_owned(), phase.ns)).collect()
}

/// Returns whether each node had all of the source before the copy.
fn have_had_all(nodes: &[NodeResult]) -> bool {
    !nodes.is_empty() && nodes.iter().all(|node| node.already > 0 && node.already == node.bytes)
}

/// Returns who worked when for the comparison, by the indices in `nodes`.
fn find_comparison(result: &CopyResult, nodes: &[String]) -> Vec<CompareWork> {
    let of = |work: &ComparisonWorkResult| {
        let node = match &work.node {
            Some(name) => nodes.iter().position(|node| node == name)?,
            None => 0,
        };
        let end_ns = work.begin_ns.saturating_add(work.ns);
        Some(CompareWork { node, begin_ns: work.begin_ns, end_ns })
    };
    result.comparison.iter().filter_map(of).collect()
}

/// Returns the limit of the copy of one node of a gather: its share, by its bytes, of the limit of
/// all of them or, if that is unknown, of the rate that they had together.
fn share_of(result: &CopyResult, node: &str) -> Option<Limit> {
    let together: u64 = result.nodes.iter().filter_map(|node| node.rate).sum();
    let all = result.head.limit.as_ref().map_or(together, |limit| limit.rate);
    let own = result.nodes.iter().find(|kept| kept.name == node)?.bytes;
    let bytes: u64 = result.nodes.iter().map(|kept| kept.bytes).sum();
    let bits = all as f64 * 8.0 * own as f64 / bytes.max(1) as f64;
    let source = "this node's share of the rate of all nodes".to_owned();
    (result.nodes.len() > 1).then(|| Limit::new(bits, source))
}

fn read_result(run: &Run) -> Result<CopyResult, Failure> {
    if !run.folder().join("result.json").exists() {
        return Err(Failure::nothing(format!(
            "{} has no result: its command was killed before it ended",
            run.name()
        ))
        .hint("to see its traces: garland trace export"));
    }
    let kept = KeptResult::read(run).map_err(Failure::nothing)?;
    if kept.schema() != SCHEMA {
        return Err(Failure::usage(format!(
            "the result of {} is a {}; only copies can be explained ({SCHEMA})",
            run.name(),
            kept.schema()
        )));
    }
    kept.parse().map_err(Failure::nothing)
}
