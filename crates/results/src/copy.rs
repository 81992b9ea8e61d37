//! The result of a copy, which is printed as text or JSON and stored in the run's directory.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use garland_control::Moments;
use garland_core::cluster::nodelist;
use garland_core::plan::{NodeId, Plan};
use garland_core::units::{Nanos, Rate, bytes};
use garland_protocol::copy::{Absence, Slow, Stage, StageDepth, Verdict};
use serde::{Deserialize, Serialize};

use crate::checksums::ChecksumResult;
use crate::copy_outcome::{Copied, CopyOutcome, Direction, Unchanged, UnreadPart};
use crate::head::{Head, NodeEnd, NodeVerdict};
use crate::left_out::{LeftOutResult, SHOWN_MAX};
use crate::limit::Limit;
use crate::names::HolderShare;
use crate::tree::TreeResult;
use garland_state::run::Run;
use garland_terminal::failure::Exit;
use garland_terminal::verdicts::folded;

/// The schema of the result of a copy, with its version.
pub const SCHEMA: &str = "garland.cp/2";

/// The result object `garland.cp/2`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CopyResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    #[serde(default)]
    direction: Direction,
    /// The length of the source in bytes; for several gathered files, the sum of their lengths.
    #[serde(default)]
    pub bytes: u64,
    /// Whether the destination is a device, a pipe or a command, which keeps the bytes that it has
    /// received even if the copy fails.
    #[serde(default)]
    in_place: bool,
    /// Whether the source was on no disk of this machine: a pipe, a command, a store of objects, or nodes
    /// that hold a name.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) off_disk: bool,
    /// Bytes of blocks that this machine has sent, after compression; `None` for a copy to this
    /// machine.
    sent_bytes: Option<u64>,
    /// The rate of the whole command in bytes per second; `None` if nothing was copied.
    rate: Option<u64>,
    /// The rate from the end of the set-up until the nodes had all bytes, in bytes per second;
    /// `None` if nothing was copied.
    stream_rate: Option<u64>,
    /// The congestion control of this machine's data links; `None` if unknown.
    congestion: Option<String>,
    /// The nodes, in the order of the chain.
    #[serde(default)]
    pub nodes: Vec<NodeResult>,
    /// The sum of the bytes that nodes had before the copy.
    #[serde(default)]
    pub already: u64,
    /// The names of nodes whose partial file from an interrupted copy could not be used.
    #[serde(default)]
    unusable: Vec<String>,
    /// Whether nodes read parts of the source from a shared file system (`--shared`).
    #[serde(default)]
    shared: bool,
    /// Nodes that should have read a part of the source themselves but did not.
    #[serde(default)]
    unread: Vec<UnreadPart>,
    #[serde(default)]
    stages: Vec<StageResult>,
    #[serde(default)]
    faults: Vec<FaultResult>,
    /// The nodes that reported more faults than `faults` has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    faults_cut_short: Vec<String>,
    /// What the holders of a name gave (`garland get`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    holders: Vec<HolderShare>,
    /// The result of the tree, if a tree was copied.
    tree: Option<TreeResult>,
    #[serde(default)]
    interrupted: bool,
}

/// The length in bytes below which the table shows no rates: the time is that of the set-up.
const TINY: u64 = 1 << 20;

/// The mean and the maximum number of blocks in one stage of the pipeline.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StageResult {
    /// The node of the stage; `None` for this machine.
    node: Option<String>,
    stage: Stage,
    mean: f64,
    most: u32,
}

/// The result of a copy for one node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeResult {
    /// The node's name.
    pub name: String,
    /// The node's verdict, with the reason.
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Bytes of the file that the node had at the end of the copy; for a gather, bytes that it had
    /// delivered.
    #[serde(default)]
    pub bytes: u64,
    /// The part of `bytes` that the node had before the copy.
    #[serde(default)]
    already: u64,
    /// The number of directory entries that the node removed since they are not in the source.
    #[serde(default)]
    removed: u64,
    /// The number of entries of a tree that could not be put in place: on the node, or for a gather
    /// on this machine.
    #[serde(default, skip_serializing_if = "is_zero")]
    missed: u64,
    /// These entries, as far as there was room for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<LeftOutResult>,
    /// The rate until the node had every block, in bytes per second; `None` if unknown.
    pub(crate) rate: Option<u64>,
    #[serde(default)]
    detached: bool,
    /// Set if the node, or its link, slowed down the other nodes: its rate, and the rate that the
    /// others would have without it, in bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    slow: Option<Slow>,
    /// Whether the node was fed on the side for a while, to see whether it slowed the others down.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    tried: bool,
    #[serde(default)]
    memory: u64,
    #[serde(default)]
    cpu_ns: u64,
    #[serde(default)]
    opening_ns: u64,
    /// Whether the file was read back from its medium and found equal to the source.
    #[serde(default)]
    verified: bool,
    /// The digest of the node's file, or for a gather of the file on this machine; `None` if the
    /// node reported none, or does not have the whole file.
    checksum: Option<ChecksumResult>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct FaultResult {
    /// The index of the corrupt block; `None` if the corrupt frame contained no block.
    block: Option<u64>,
    from: String,
    to: String,
}

impl CopyResult {
    /// Creates the result of a command that ends now. Its copies ran at the same time; its phases are those before
    /// the copies.
    pub fn new(run: &Run, copy: CopyOutcome) -> Self {
        let CopyOutcome { direction, copies, mut phases, tree, holders, .. } = copy;
        let all = |moment: fn(&Moments) -> u64| {
            copies.iter().map(|copied| moment(&copied.outcome.moments)).max().unwrap_or(0)
        };
        let ready = all(|moments| moments.ready);
        // If the set-up phase has ended, the time since its end was the comparison.
        let first = if phases.has_any() { "comparison" } else { "set-up" };
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
            holders,
            tree,
            interrupted: copies.iter().any(|copied| copied.outcome.interrupted),
            head,
        }
    }

    /// Returns the digests of the nodes' files in the format of sha256sum; equal lines appear once.
    pub fn sums(&self) -> Vec<u8> {
        let mut seen = HashSet::new();
        let lines = self.nodes.iter().filter_map(|node| Some(node.checksum.as_ref()?.line()));
        lines.filter(|line| seen.insert(line.clone())).flatten().collect()
    }

    /// Returns the exit code of the command. The command succeeds if at least `min_ok` nodes (by
    /// default all) are ok and the copied tree, if any, is complete.
    pub fn exit(&self, min_ok: Option<usize>) -> Exit {
        let ok = self.nodes.iter().filter(|node| node.end.is_ok()).count();
        let all = ok >= min_ok.unwrap_or(self.nodes.len()) && self.is_whole();
        Exit::of_work(all, ok > 0, self.interrupted)
    }

    /// Returns whether all of the source could be read.
    pub fn is_whole(&self) -> bool {
        self.tree.as_ref().is_none_or(TreeResult::is_whole)
    }
}

/// Returns whether the destination `path` is a device, standard output or a command.
fn is_in_place(path: &[u8]) -> bool {
    let device = path.starts_with(b"/dev/") && path != b"/dev/null";
    let memory = path.starts_with(b"/dev/shm/");
    path.starts_with(b"|") || path == b"-" || device && !memory
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

fn is_zero(count: &u64) -> bool {
    *count == 0
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
    fn new(node: &garland_control::NodeOutcome, plan: &Plan, id: NodeId, ready: u64) -> Self {
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

impl fmt::Display for CopyResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ok = self.nodes.iter().filter(|node| node.end.is_ok()).count();
        writeln!(
            f,
            "{} {} {ok} of {} nodes in {}",
            bytes::format(self.bytes),
            if self.direction == Direction::Out { "to" } else { "from" },
            self.nodes.len(),
            Nanos(self.head.elapsed_ns)
        )?;
        self.write_rates(f)?;
        let phases = self.head.phases.iter().filter(|phase| phase.ns > 0);
        let phases: Vec<String> =
            phases.map(|phase| format!("{} {}", phase.name, Nanos(phase.ns))).collect();
        writeln!(f, "time    {}", phases.join(" · "))?;
        self.write_verdicts(f)?;
        self.write_already(f)?;
        self.write_removed(f)?;
        self.write_read_back(f)?;
        self.tree.iter().try_for_each(|tree| write!(f, "{tree}"))?;
        f.write_str(&HolderShare::table(&self.holders))?;
        for fault in &self.faults {
            let FaultResult { block, from, to } = fault;
            let what = match block {
                Some(block) => format!("block {block}"),
                None => "a frame".to_owned(),
            };
            writeln!(f, "fault   {what} changed between {from} and {to}; sent again")?;
        }
        if !self.faults_cut_short.is_empty() {
            let names = nodelist::fold(&self.faults_cut_short);
            writeln!(f, "fault   {names} reported more than are kept; the others are not listed")?;
        }
        let has_received_some = |node: &NodeResult| !node.end.is_ok() && node.bytes > 0;
        if self.in_place && self.nodes.iter().any(has_received_some) {
            writeln!(f, "note    a device, a pipe or a command keeps the bytes it has received")?;
        }
        let run = self.head.run.as_deref().unwrap_or_default();
        let is_cut_short = self.tree.as_ref().is_some_and(TreeResult::is_cut_short)
            || self.nodes.iter().any(|node| node.missed > SHOWN_MAX as u64);
        if is_cut_short {
            writeln!(f, "all     garland runs show {run}")?;
        }
        writeln!(f, "run     {run}")
    }
}

impl CopyResult {
    /// Writes the rates of the copy, and how much of the limit it reached.
    fn write_rates(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = Rate::from_bytes_per_second;
        let is_measured = self.already == 0 && self.bytes >= TINY;
        let rates = self.rate.zip(self.stream_rate).filter(|_| is_measured);
        if let Some((rate, stream)) = rates {
            writeln!(f, "rate    {} whole command, {} stream", shown(rate), shown(stream))?;
        }
        let at_end: u64 = self.nodes.iter().map(|node| node.bytes).sum();
        let is_ok = self.nodes.iter().any(|node| node.end.is_ok());
        let sends = |sent: &u64| is_ok && (1..self.bytes).contains(sent) && self.already < at_end;
        if let Some(sent) = self.sent_bytes.filter(sends) {
            let less = 100.0 - 100.0 * sent as f64 / self.bytes as f64;
            let [sent, all] = [sent, self.bytes].map(bytes::format);
            writeln!(f, "sent    {sent} in place of {all}, {less:.1} % less")?;
        }
        if let Some(Limit { rate, source, achieved: Some(achieved), .. }) = &self.head.limit
            && self.bytes >= TINY
        {
            let achieved = achieved * 100.0;
            writeln!(f, "limit   {achieved:.1} % of {}, {source}", shown(*rate))?;
        }
        Ok(())
    }

    /// Groups the names of nodes by `amount`; omits nodes whose amount is 0.
    fn groups(&self, amount: fn(&NodeResult) -> u64) -> BTreeMap<u64, Vec<&str>> {
        let mut groups: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
        for node in self.nodes.iter().filter(|node| amount(node) > 0) {
            groups.entry(amount(node)).or_default().push(&node.name);
        }
        groups
    }

    /// Writes how many directory entries the nodes have removed, the largest numbers first.
    fn write_removed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.groups(|node| node.removed).iter().rev().try_for_each(|(removed, names)| {
            let what = if *removed == 1 { "name" } else { "names" };
            writeln!(f, "removed {}: {removed} {what}", nodelist::fold(names))
        })
    }

    /// Writes how many bytes nodes had before the copy, or read from a shared file system.
    fn write_already(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 5;
        let groups = self.groups(|node| node.already);
        if let Some(all) = groups.get(&self.bytes)
            && self.nodes.iter().all(|node| !node.end.is_ok() || node.already == self.bytes)
        {
            let every = if all.len() == self.nodes.len() { "all " } else { "" };
            return writeln!(f, "nothing to send: {every}{} have it", nodelist::fold(all));
        }
        for (already, names) in groups.iter().rev().take(SHOWN) {
            let names = nodelist::fold(names);
            let already = bytes::format(*already);
            match self.shared {
                true => writeln!(f, "read    {names}: {already} from the shared file system")?,
                false => writeln!(f, "already {names}: {already}")?,
            }
        }
        for UnreadPart { node, reason } in &self.unread {
            writeln!(f, "unread  {node}: {reason}; this machine read its part")?;
        }
        if let Some(more) = groups.len().checked_sub(SHOWN).filter(|more| *more > 0) {
            writeln!(f, "already and {more} other amounts (see --json for each node)")?;
        }
        if !self.unusable.is_empty() {
            let names = nodelist::fold(&self.unusable);
            writeln!(
                f,
                "left    {names}: the partial file of an interrupted copy could not be used, and was removed"
            )?;
        }
        Ok(())
    }

    /// Writes which nodes read their file back from its medium and found it equal to the source.
    fn write_read_back(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verified: Vec<&str> =
            self.nodes.iter().filter(|node| node.verified).map(|node| node.name.as_str()).collect();
        if verified.is_empty() {
            return Ok(());
        }
        writeln!(f, "medium  {}: read back, and equal to the source", nodelist::fold(&verified))
    }

    fn write_verdicts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nodes = self.nodes.iter();
        let verdicts = nodes.map(|node| node.end.of(&node.name));
        f.write_str(&folded(verdicts))?;
        let late: Vec<&str> =
            self.nodes.iter().filter(|node| node.detached).map(|node| node.name.as_str()).collect();
        if !late.is_empty() {
            writeln!(
                f,
                "slow    {}: detached, since its disk was slower than those of the other nodes",
                nodelist::fold(&late)
            )?;
        }
        for node in &self.nodes {
            let Some(Slow { rate, others }) = node.slow.filter(|_| node.end.is_ok()) else {
                continue;
            };
            let shown = Rate::from_bytes_per_second;
            writeln!(
                f,
                "slow    {}: fed on the side, since it received {} and the others {}",
                node.name,
                shown(rate),
                shown(others)
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_a_device_keeps_are_told_if_it_has_received_some() {
        let shown = |bytes: u64| {
            let node = serde_json::json!({
                "name": "n1", "verdict": "failed", "reason": "why", "bytes": bytes, "rate": null,
            });
            let result = serde_json::json!({
                "schema": SCHEMA, "run": "r", "command": [], "elapsed_ns": 0, "phases": [],
                "limit": null, "bytes": 9, "in_place": true, "sent_bytes": null, "rate": null,
                "stream_rate": null, "congestion": null, "nodes": [node], "tree": null,
            });
            serde_json::from_value::<CopyResult>(result).unwrap().to_string()
        };
        assert!(!shown(0).contains("keeps the bytes"), "{}", shown(0));
        assert!(shown(4).contains("keeps the bytes"), "{}", shown(4));
    }
}
