//! What a copy tells when it is over: the same value as a table, as JSON, and in the run's folder.

use std::collections::BTreeMap;
use std::fmt;

use garland_core::cluster::nodelist;
use garland_core::plan::Plan;
use garland_core::proto::Verdict;
use garland_core::units::{Nanos, Rate, bytes};
use garland_node::Outcome;
use serde::Serialize;

use crate::failure::Exit;
use crate::limit::Known;
use crate::run::Run;

/// The result object `garland.cp/1`.
#[derive(Clone, Debug, Serialize)]
pub struct CopyResult {
    schema: &'static str,
    run: String,
    command: Vec<String>,
    /// From the command's start to the last agent's end, in nanoseconds.
    elapsed_ns: u64,
    /// They sum to `elapsed_ns`.
    phases: Vec<Phase>,
    bytes: u64,
    /// Bytes per second over the whole command.
    rate: Option<u64>,
    /// Bytes per second from the first byte to the last one held.
    stream_rate: Option<u64>,
    limit: Option<Limit>,
    /// The congestion control of this host's data links.
    congestion: Option<String>,
    nodes: Vec<NodeResult>,
    faults: Vec<FaultResult>,
    interrupted: bool,
}

/// A stretch of the command's time.
#[derive(Clone, Debug, Serialize)]
struct Phase {
    name: &'static str,
    ns: u64,
}

/// The best that the wires allow.
#[derive(Clone, Debug, Serialize)]
struct Limit {
    /// Bytes per second.
    rate: u64,
    /// Where the figure comes from.
    source: String,
    /// The whole command's rate over the limit.
    achieved: Option<f64>,
}

#[derive(Clone, Debug, Serialize)]
struct NodeResult {
    name: String,
    verdict: &'static str,
    reason: Option<String>,
    bytes: u64,
    /// Bytes per second until this node held every block.
    rate: Option<u64>,
    detached: bool,
    memory: u64,
    cpu_ns: u64,
    opening_ns: u64,
}

#[derive(Clone, Debug, Serialize)]
struct FaultResult {
    /// The block; none when what changed was a frame between blocks.
    block: Option<u64>,
    from: String,
    to: String,
}

impl CopyResult {
    /// The result of a command that ran from `started` to `ended` (monotonic nanoseconds).
    pub fn new(run: &Run, plan: &Plan, outcome: &Outcome, started: u64, ended: u64) -> Self {
        let moments = outcome.moments;
        let ready = match moments.waited {
            // Its places were ready before: to open its files is part of the first byte then.
            Some((since, until)) => vec![("set-up", since), ("waiting", until)],
            None => vec![("set-up", moments.ready)],
        };
        let ends = [
            ("first byte", moments.first),
            ("stream", moments.sent),
            ("drain", moments.held),
            ("fsync", moments.committed),
            ("teardown", ended),
        ];
        let mut last = started;
        let phase = |(name, end): (_, u64)| {
            let end = end.clamp(last, ended.max(last));
            let ns = end - last;
            last = end;
            Phase { name, ns }
        };
        let phases = ready.into_iter().chain(ends).map(phase).collect();
        let elapsed_ns = last - started;
        let bytes = plan.layout.length;
        // What reached nobody had no rate, and nothing has none.
        let arrived = bytes > 0 && outcome.nodes.iter().any(|node| node.verdict == Verdict::Ok);
        let over =
            |ns| Rate::from_bytes_over(bytes, Nanos(ns)).filter(|_| arrived).map(whole_bytes);
        let name = |id: garland_core::plan::NodeId| plan.nodes[id.index()].name.clone();
        Self {
            schema: "garland.cp/1",
            run: run.name().to_owned(),
            command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
            elapsed_ns,
            phases,
            bytes,
            rate: over(elapsed_ns),
            stream_rate: over(moments.held.saturating_sub(moments.ready)),
            limit: None,
            congestion: None,
            nodes: outcome
                .nodes
                .iter()
                .map(|node| NodeResult::new(node, plan, moments.ready))
                .collect(),
            faults: outcome
                .faults
                .iter()
                .map(|fault| FaultResult {
                    block: Some(fault.index),
                    from: name(fault.from),
                    to: name(fault.to),
                })
                .chain(outcome.bad_frames.iter().map(|frame| FaultResult {
                    block: None,
                    from: name(frame.from),
                    to: name(frame.to),
                }))
                .collect(),
            interrupted: outcome.interrupted,
        }
    }

    /// With the limit that the wires set, if it is known.
    pub fn with_limit(mut self, known: Option<Known>) -> Self {
        self.limit = known.map(|Known { rate, source }| {
            let achieved = self.rate.map(|own| own as f64 / rate as f64);
            Limit { rate, source, achieved }
        });
        self
    }

    /// With the congestion control of this host's data links.
    pub fn with_congestion(mut self, name: Option<String>) -> Self {
        self.congestion = name;
        self
    }

    /// The command's exit code: `min_ok` nodes suffice, all without it.
    pub fn exit(&self, min_ok: Option<usize>) -> Exit {
        let ok = self.nodes.iter().filter(|node| node.verdict == "ok").count();
        if self.interrupted {
            Exit::Interrupted
        } else if ok >= min_ok.unwrap_or(self.nodes.len()) {
            Exit::Done
        } else if ok == 0 {
            Exit::Nothing
        } else {
            Exit::SomeFailed
        }
    }
}

impl NodeResult {
    fn new(node: &garland_node::NodeOutcome, plan: &Plan, ready: u64) -> Self {
        let (verdict, reason) = match &node.verdict {
            Verdict::Ok => ("ok", None),
            Verdict::Failed(reason) => ("failed", Some(reason.clone())),
            Verdict::Dead(reason) => ("dead", Some(reason.clone())),
        };
        let whole = verdict == "ok";
        let bytes = if whole {
            plan.layout.length
        } else {
            (node.report.held * u64::from(plan.layout.block_size)).min(plan.layout.length)
        };
        let rate = node.held_ns.filter(|_| whole).and_then(|held| {
            Rate::from_bytes_over(bytes, Nanos(held.saturating_sub(ready))).map(whole_bytes)
        });
        Self {
            name: node.name.clone(),
            verdict,
            reason,
            bytes,
            rate,
            detached: node.detached,
            memory: node.report.memory,
            cpu_ns: node.report.cpu_ns,
            opening_ns: node.report.opening_ns,
        }
    }
}

fn whole_bytes(rate: Rate) -> u64 {
    rate.bytes_per_second() as u64
}

impl fmt::Display for CopyResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ok = self.nodes.iter().filter(|node| node.verdict == "ok").count();
        writeln!(
            f,
            "{} to {ok} of {} nodes in {}",
            bytes::format(self.bytes),
            self.nodes.len(),
            Nanos(self.elapsed_ns)
        )?;
        let rate = |rate: Option<u64>| match rate {
            Some(rate) => Rate::from_bytes_per_second(rate).to_string(),
            None => "-".to_owned(),
        };
        writeln!(
            f,
            "rate    {} whole command, {} stream",
            rate(self.rate),
            rate(self.stream_rate)
        )?;
        if let Some(limit) = &self.limit {
            let achieved = limit.achieved.unwrap_or(0.0) * 100.0;
            writeln!(
                f,
                "limit   {} ({}): {achieved:.1} % of it achieved",
                rate(Some(limit.rate)),
                limit.source
            )?;
        }
        let phases: Vec<String> =
            self.phases.iter().map(|phase| format!("{} {}", phase.name, Nanos(phase.ns))).collect();
        writeln!(f, "time    {}", phases.join(" · "))?;
        self.write_verdicts(f)?;
        for fault in &self.faults {
            let FaultResult { block, from, to } = fault;
            let what = match block {
                Some(block) => format!("block {block}"),
                None => "a frame".to_owned(),
            };
            writeln!(f, "fault   {what} changed between {from} and {to}; sent again")?;
        }
        writeln!(f, "run     {}", self.run)
    }
}

impl CopyResult {
    /// Equal verdicts folded: `n[003,017-020]: no space left on /scratch`.
    fn write_verdicts(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups: BTreeMap<(u8, &str, &str), Vec<&str>> = BTreeMap::new();
        for node in &self.nodes {
            let rank = u8::from(node.verdict != "ok");
            let reason = node.reason.as_deref().unwrap_or("");
            groups.entry((rank, node.verdict, reason)).or_default().push(&node.name);
        }
        for ((_, verdict, reason), names) in groups {
            let colon = if reason.is_empty() { "" } else { ": " };
            writeln!(f, "{verdict:<7} {}{colon}{reason}", nodelist::fold(&names))?;
        }
        let late: Vec<&str> =
            self.nodes.iter().filter(|node| node.detached).map(|node| node.name.as_str()).collect();
        if !late.is_empty() {
            writeln!(
                f,
                "slow    {}: fed on the side, its writing was behind",
                nodelist::fold(&late)
            )?;
        }
        Ok(())
    }
}
