//! Makes the result of a copy of what the command has learned.

use garland_control::{Moments, NodeOutcome};
use garland_core::cluster::target;
use garland_core::plan::{NodeId, Plan};
use garland_core::units::{Nanos, Rate};
use garland_protocol::copy::{Absence, StageDepth, Verdict};
use garland_protocol::operation::ComparisonWork;
use garland_state::run::Run;

use super::{ComparisonWorkResult, CopyResult, FaultResult, NodeResult, SCHEMA, StageResult};
use crate::checksums::ChecksumResult;
use crate::copy_outcome::{Copied, CopyOutcome, Direction, Unchanged};
use crate::head::{Head, NodeEnd, NodeVerdict};
use crate::left_out::LeftOutResult;
use crate::limit::Limit;

impl CopyResult {
    /// Creates the result of a command that ends now. Its copies ran at the same time; its phases
    /// are those before the copies.
    pub fn new(run: &Run, copy: CopyOutcome) -> Self {
        let CopyOutcome { direction, copies, mut phases, tree, holders, .. } = copy;
        let all = |moment: fn(&Moments) -> u64| {
            copies.iter().map(|copied| moment(&copied.outcome.moments)).max().unwrap_or(0)
        };
        let ready = all(|moments| moments.ready);
        let began_ns = phases.began_ns();
        // If the set-up phase has ended, the time since its end was the comparison.
        let first = if phases.has("set-up") { "comparison" } else { "set-up" };
        match copies.iter().find_map(|copied| copied.outcome.moments.waited) {
            // After a wait, opening the files counts as part of the first byte.
            Some((since, until)) => {
                phases.end_at(first, since);
                phases.end_at("waiting", until);
            }
            None => {
                phases.end_at(first, ready);
            }
        }
        let held = all(|moments| moments.held);
        phases.end_at("first byte", all(|moments| moments.first));
        phases.end_at("stream", all(|moments| moments.sent));
        phases.end_at("drain", held);
        phases.end_at("fsync", all(|moments| moments.committed));
        phases.end("teardown");
        let mut head = Head::new(SCHEMA, Some(run), phases);
        let bytes: u64 = copies.iter().map(Copied::bytes).sum();
        // A copy that reached no node, or of no bytes, has no rate.
        let arrived = bytes > 0;
        let over =
            |ns| Rate::from_bytes_over(bytes, Nanos(ns)).filter(|_| arrived).map(whole_bytes);
        let mut nodes: Vec<NodeResult> =
            copies.iter().flat_map(|copied| nodes(copied, direction)).collect();
        nodes.iter_mut().for_each(|node| node.add_unchanged(&copy.unchanged));
        nodes.iter_mut().for_each(|node| node.verified = copy.read_back.verify && node.end.is_ok());
        let rate = over(head.elapsed_ns);
        let already = nodes.iter().map(|node| node.already).sum();
        // What nodes had already came over no wire, so the limit says nothing of the rate.
        let own = rate.filter(|_| nodes.iter().all(|node| node.already == 0));
        head.limit = copy.limit.map(|limit| {
            let achieved = own.map(|own| own as f64 / limit.rate as f64);
            Limit { achieved, ..limit }
        });
        Self {
            direction,
            already,
            comparison: comparison(&copy.comparison, &copies, began_ns),
            agents_started: Some(copy.agents_started),
            unusable: copy.unusable,
            shared: copies.iter().any(|copied| copied.plan.is_shared),
            unread: copy.unread,
            bytes: copies.iter().map(|copied| copied.plan.layout.length).sum::<u64>()
                + copy.unchanged.bytes,
            in_place: is_in_place(&copy.path),
            off_disk: copy.is_off_disk,
            sent_bytes: (direction == Direction::Out)
                .then(|| copies.iter().map(|copied| copied.outcome.sent_bytes).sum()),
            rate,
            stream_rate: over(held.saturating_sub(ready)),
            congestion: copy.congestion,
            nodes,
            stages: copies.iter().flat_map(stages).collect(),
            faults: copies.iter().flat_map(faults).collect(),
            faults_cut_short: copies.iter().flat_map(faults_cut_short).collect(),
            by_ssh: copy.by_ssh,
            fed_here: copy.fed_here,
            holders,
            tree,
            interrupted: copies.iter().any(|copied| copied.outcome.interrupted),
            head,
        }
    }
}

/// Returns who worked when for the comparison before the copies, of which there is only one then.
fn comparison(
    work: &[ComparisonWork],
    copies: &[Copied],
    began_ns: u64,
) -> Vec<ComparisonWorkResult> {
    let name = |at: usize| Some(copies.first()?.plan.nodes.get(at + 1)?.name.clone());
    let of = |work: &ComparisonWork| ComparisonWorkResult {
        node: work.node.and_then(name),
        begin_ns: work.begin_ns.saturating_sub(began_ns),
        ns: work.end_ns.saturating_sub(work.begin_ns),
    };
    work.iter().map(of).collect()
}

/// Returns whether the destination `path` is a device, standard output or a command.
fn is_in_place(path: &[u8]) -> bool {
    let device = path.starts_with(b"/dev/") && path != b"/dev/null";
    let memory = path.starts_with(b"/dev/shm/");
    target::is_process(path) || device && !memory
}

impl NodeResult {
    /// Adds what was not part of the stream, since all nodes had it.
    fn add_unchanged(&mut self, unchanged: &Unchanged) {
        self.already += unchanged.bytes;
        self.bytes += unchanged.bytes;
        if unchanged.is_all {
            // The records that end the stream do not count.
            self.already = self.bytes;
        }
    }
}

impl StageResult {
    fn new(node: Option<&str>, depth: StageDepth) -> Self {
        let StageDepth { stage, mean, most } = depth;
        Self { node: node.map(str::to_owned), stage, mean: f64::from(mean) / 1000.0, most }
    }
}

fn nodes(copied: &Copied, direction: Direction) -> impl Iterator<Item = NodeResult> {
    let ready = copied.outcome.moments.ready;
    let nodes = copied.plan.receivers().zip(&copied.outcome.nodes);
    let here = copied.outcome.checksum.as_ref().map(ChecksumResult::new);
    nodes.map(move |((id, _), node)| {
        let result = NodeResult::new(node, &copied.plan, id, ready);
        let here = here.clone().filter(|_| result.end.is_ok());
        let Absence { missed, parts, .. } = match direction {
            Direction::Out => &node.absence,
            // What the node did not send is in the result of the tree.
            Direction::In => &copied.outcome.absence,
        };
        NodeResult {
            missed: *missed,
            left_out: parts.iter().map(LeftOutResult::from).collect(),
            checksum: result.checksum.clone().or(here),
            ..result
        }
    })
}

fn stages(copied: &Copied) -> impl Iterator<Item = StageResult> {
    let here = copied.outcome.depths.iter().map(|depth| StageResult::new(None, *depth));
    let there = copied.outcome.nodes.iter().flat_map(|node| {
        let depths = node.report.depths.iter();
        depths.map(|depth| StageResult::new(Some(&node.name), *depth))
    });
    here.chain(there)
}

fn faults_cut_short(copied: &Copied) -> impl Iterator<Item = String> {
    let nodes = copied.outcome.faults_cut_short.iter();
    nodes.map(|id| copied.plan.nodes[id.index()].name.clone())
}

fn faults(copied: &Copied) -> impl Iterator<Item = FaultResult> {
    let name = |id: NodeId| copied.plan.nodes[id.index()].name.clone();
    let blocks = copied.outcome.faults.iter().map(move |fault| FaultResult {
        block: Some(fault.index),
        from: name(fault.from),
        to: name(fault.to),
    });
    let frames = copied.outcome.bad_frames.iter().map(move |frame| FaultResult {
        block: None,
        from: name(frame.from),
        to: name(frame.to),
    });
    blocks.chain(frames)
}

impl NodeResult {
    fn new(node: &NodeOutcome, plan: &Plan, id: NodeId, ready: u64) -> Self {
        let (verdict, reason) = match &node.verdict {
            Verdict::Ok => (NodeVerdict::Ok, None),
            Verdict::Failed(reason) => (NodeVerdict::Failed, Some(reason.clone())),
            Verdict::Dead(reason) => (NodeVerdict::Dead, Some(reason.clone())),
            Verdict::Unknown(reason) => {
                let reason = format!("{reason}; it was told to commit, and may have done so");
                (NodeVerdict::Unknown, Some(reason))
            }
        };
        let whole = verdict == NodeVerdict::Ok;
        let all = plan.bytes_of(id);
        let held = node.report.held * u64::from(plan.layout.block_size);
        let bytes = if whole { all } else { held.min(all) };
        let already = (node.report.had * u64::from(plan.layout.block_size)).min(bytes);
        let rate = node.held_ns.filter(|_| whole).and_then(|held| {
            Rate::from_bytes_over(bytes, Nanos(held.saturating_sub(ready))).map(whole_bytes)
        });
        Self {
            name: node.name.clone(),
            end: NodeEnd { verdict, reason },
            bytes,
            already,
            removed: node.report.removed,
            missed: 0,
            left_out: Vec::new(),
            rate,
            detached: node.detached,
            slow: node.slow,
            tried: node.tried,
            reopened: node.reopened,
            is_absent: node.absent,
            memory: node.report.memory,
            cpu_ns: node.report.cpu_ns,
            opening_ns: node.report.opening_ns,
            verified: false,
            checksum: node.report.checksum.as_ref().filter(|_| whole).map(ChecksumResult::new),
        }
    }
}

fn whole_bytes(rate: Rate) -> u64 {
    rate.bytes_per_second() as u64
}
