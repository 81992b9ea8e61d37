//! The result object `garland.explain/2`.

use garland_analysis::clock::Clocks;
use garland_analysis::ledger::{Cause, Fault, Fix, Ledger, Place, Row, Stretch, outline};
use garland_core::units::{Nanos, Rate};
use garland_state::run::Run;
use serde::Serialize;

use crate::copy_outcome::Direction;
use crate::explain::clocks::{self, ClockResult};
use crate::explain::read::Kept;
use crate::explain::words;
use crate::head::{Head, Phases};

/// The maximum number of lines in which the critical path is printed.
const LINES: usize = 12;

/// The result object `garland.explain/2`: how a copy spent its time.
#[derive(Debug, Serialize)]
pub struct ExplainResult {
    #[serde(flatten)]
    pub(super) head: Head,
    /// The elapsed time of the explained command in nanoseconds.
    pub(super) wall_ns: u64,
    pub(super) bytes: u64,
    #[serde(skip)]
    pub(super) direction: Direction,
    /// The number of nodes that have the whole file.
    pub(super) ok: usize,
    /// The number of nodes in the plan, without the head.
    pub(super) of: usize,
    /// The time of the command, divided by causes, the largest first; the sum is `wall_ns`.
    pub(super) rows: Vec<RowResult>,
    /// The critical path in order of time, as at most [`LINES`] stretches. Adjacent stretches
    /// differ in their main cause or its place.
    pub(super) path: Vec<StretchResult>,
    pub(super) faults: Vec<FaultResult>,
    pub(super) fix: Option<FixResult>,
    /// Why there is no `fix`, as a sentence; `None` if there is one.
    pub(super) no_fix: Option<&'static str>,
    /// Whether the stream was too short to tell what limited it: then no fault is looked for.
    pub(super) too_short: bool,
    pub(super) clocks: Vec<ClockResult>,
    /// Groups of three nodes whose clock offsets contradict each other.
    pub(super) open_loops: Vec<LoopResult>,
    pub(super) resent: Vec<ResentResult>,
    pub(super) disks: Vec<DiskResult>,
    pub(super) undecided: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// The place of a cause: a node, or the two ends of a hop. Both are `None` if the cause has no
/// place.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PlaceResult {
    pub(super) node: Option<String>,
    /// The receiving end of the hop; `None` for a single node.
    pub(super) to: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct RowResult {
    pub(super) cause: &'static str,
    #[serde(flatten)]
    at: PlaceResult,
    /// If the cause is a straggler, the cause of the straggler's delay; otherwise `None`.
    pub(super) within: Option<&'static str>,
    pub(super) ns: u64,
    pub(super) share: f64,
    /// The fraction of `ns` that records of this cause cover, from 0 to 1.
    pub(super) covered: f64,
    #[serde(skip)]
    pub(super) text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct StretchResult {
    pub(super) begin_ns: i64,
    pub(super) ns: i64,
    pub(super) cause: &'static str,
    #[serde(flatten)]
    at: PlaceResult,
    /// The fraction of the stretch's time that is due to `cause`, from 0 to 1.
    pub(super) share: f64,
    #[serde(skip)]
    pub(super) text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct FaultResult {
    pub(super) cause: &'static str,
    #[serde(flatten)]
    at: PlaceResult,
    /// The time that the command would not need without the fault, in nanoseconds.
    pub(super) ns: u64,
    /// The part of `ns` in which all other nodes had finished.
    pub(super) alone_ns: u64,
    /// Of a hop that is slower than its peers, its rate as a fraction of theirs.
    pub(super) pace: Option<f64>,
    pub(super) text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct FixResult {
    pub(super) cause: &'static str,
    #[serde(flatten)]
    at: PlaceResult,
    /// The time that the fix is expected to save, in nanoseconds.
    pub(super) gain_ns: u64,
    /// The interval that contains the saved time with a probability of 80 %, in nanoseconds.
    pub(super) low_ns: u64,
    pub(super) high_ns: u64,
    pub(super) remedy: &'static str,
    #[serde(skip)]
    pub(super) text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct LoopResult {
    pub(super) nodes: Vec<String>,
    pub(super) miss_ns: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct ResentResult {
    #[serde(flatten)]
    pub(super) at: PlaceResult,
    pub(super) share: f64,
}

/// A disk to which much of the time is attributed.
#[derive(Debug, Serialize)]
pub(super) struct DiskResult {
    pub(super) node: Option<String>,
    /// The fraction of the sampled time in which the device was busy, from 0 to 1.
    pub(super) busy: f64,
    /// The fraction of the device's traffic that other programs caused, from 0 to 1; `None` if
    /// nodes share a machine, and thus its disks.
    pub(super) others: Option<f64>,
}

impl ExplainResult {
    /// Creates the result from the ledger of a run.
    pub fn new(run: &Run, kept: &Kept, ledger: &Ledger, clocks: &Clocks, phases: Phases) -> Self {
        let mut head = Head::new("garland.explain/2", Some(run), phases);
        head.limit.clone_from(&kept.limit);
        let nodes = &kept.nodes;
        let wall_ns = ledger.wall_ns;
        let clock_results = clocks::of(kept, clocks, &ledger.clock_errors);
        let faults = ledger.faults.iter().map(|fault| FaultResult::new(nodes, fault, wall_ns));
        let of_clocks = clock_results.iter().filter_map(FaultResult::of_clock);
        let resent = ledger
            .resent
            .iter()
            .map(|(at, share)| ResentResult { at: PlaceResult::new(nodes, *at), share: *share });
        let open_loops = clocks.open_loops().iter().map(|open| LoopResult {
            nodes: open.nodes.iter().filter_map(|&node| nodes.get(node).cloned()).collect(),
            miss_ns: open.miss_ns,
        });
        let disks = ledger.disks.iter().map(|disk| DiskResult {
            node: nodes.get(disk.node).cloned(),
            busy: disk.busy,
            others: disk.others,
        });
        let mut result = Self {
            head,
            wall_ns,
            bytes: kept.bytes,
            direction: kept.direction,
            ok: kept.ok,
            of: nodes.len().saturating_sub(1),
            rows: ledger.rows.iter().map(|row| RowResult::new(nodes, row, wall_ns)).collect(),
            path: outline(&ledger.path, LINES)
                .iter()
                .map(|stretch| StretchResult::new(nodes, stretch))
                .collect(),
            faults: faults.chain(of_clocks).collect(),
            fix: ledger.fix.ok().map(|fix| FixResult::new(nodes, &fix)),
            no_fix: ledger.fix.err().map(words::no_fix),
            too_short: ledger.too_short,
            open_loops: open_loops.collect(),
            clocks: clock_results,
            resent: resent.collect(),
            disks: disks.collect(),
            undecided: ledger.undecided.iter().map(|open| words::undecided(nodes, open)).collect(),
            warnings: kept.warnings.clone(),
        };
        result.warn();
        result
    }

    /// Adds a warning for everything that makes the result unreliable.
    fn warn(&mut self) {
        let of = |cause: Cause| {
            let rows = self.rows.iter().filter(|row| row.cause == cause.name());
            rows.map(|row| row.share).sum::<f64>()
        };
        let unknown = of(Cause::Unattributed);
        let emulator = of(Cause::Emulator);
        if unknown > 0.05 {
            let text = format!("{:.0} % of the time is not covered by any record", unknown * 100.0);
            self.warnings.push(text);
        }
        if emulator > 0.05 {
            self.warnings.push(format!(
                "{:.0} % of the time: the machine that emulates all nodes had no free CPU for them",
                emulator * 100.0
            ));
        }
        let limit = self.head.limit.as_ref();
        if let Some((limit, wide)) = limit.and_then(|limit| Some((limit, limit.without_trunks?))) {
            let shown = |rate: u64| Rate::from_bytes_per_second(rate);
            self.warnings.push(format!(
                "hops of this copy share a trunk between switches, which allows {}; the nodes' wires allow \
                 {}: name the nodes of one switch one after another",
                shown(limit.rate),
                shown(wide)
            ));
        }
        for clock in &self.clocks {
            if clock.contradictions > 0 {
                self.warnings.push(format!(
                    "{} blocks arrived at {} before they were sent: its clock is unreliable",
                    clock.contradictions, clock.node
                ));
            }
        }
        for open in &self.open_loops {
            self.warnings.push(format!(
                "the clock offsets between {} contradict each other",
                open.nodes.join(", ")
            ));
        }
    }
}

impl PlaceResult {
    fn new(nodes: &[String], at: Place) -> Self {
        let name = |node: Option<usize>| Some(nodes.get(node?)?.clone());
        Self { node: name(at.node), to: name(at.to) }
    }
}

impl RowResult {
    fn new(nodes: &[String], row: &Row, wall_ns: u64) -> Self {
        Self {
            cause: row.cause.name(),
            at: PlaceResult::new(nodes, row.place),
            within: row.within.map(Cause::name),
            ns: row.ns,
            share: row.ns as f64 / wall_ns.max(1) as f64,
            covered: row.covered,
            text: words::of(nodes, row.cause, row.place, row.within),
        }
    }
}

impl StretchResult {
    fn new(nodes: &[String], stretch: &Stretch) -> Self {
        Self {
            begin_ns: stretch.begin,
            ns: stretch.end - stretch.begin,
            cause: stretch.cause.name(),
            at: PlaceResult::new(nodes, stretch.place),
            share: stretch.share,
            text: words::of(nodes, stretch.cause, stretch.place, None),
        }
    }
}

impl FaultResult {
    fn new(nodes: &[String], fault: &Fault, wall_ns: u64) -> Self {
        let Fault { cause, place, ns, alone_ns, pace } = *fault;
        let share = ns as f64 * 100.0 / wall_ns.max(1) as f64;
        let what = words::of(nodes, cause, place, None);
        let mut text = format!("{what}: {}, {share:.0} % of the command", Nanos(ns));
        if let Some(pace) = pace {
            text += &format!("; it ran at {:.0} % of the fastest wire's rate", pace * 100.0);
        }
        if alone_ns > 0 {
            text += &format!("; all other nodes had finished for {} of it", Nanos(alone_ns));
        }
        Self { cause: cause.name(), at: PlaceResult::new(nodes, place), ns, alone_ns, pace, text }
    }

    /// Returns the fault of a node's clock, if the clock has a fault, without a time.
    fn of_clock(clock: &ClockResult) -> Option<Self> {
        let fault = clock.fault.as_ref()?;
        let text = format!("clock of {}: {fault}; its times were corrected", clock.node);
        let at = PlaceResult { node: Some(clock.node.clone()), to: None };
        Some(Self { cause: "clock", at, ns: 0, alone_ns: 0, pace: None, text })
    }
}

impl FixResult {
    fn new(nodes: &[String], fix: &Fix) -> Self {
        Self {
            cause: fix.cause.name(),
            at: PlaceResult::new(nodes, fix.place),
            gain_ns: fix.gain_ns,
            low_ns: fix.interval_ns.0,
            high_ns: fix.interval_ns.1,
            remedy: fix.cause.remedy(),
            text: words::of(nodes, fix.cause, fix.place, None),
        }
    }
}
