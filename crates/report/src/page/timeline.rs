//! The timeline on a page: rows of bars and rates of each node, and the critical path.

use std::collections::BTreeMap;
use std::ops::Range;

use garland_core::trace::{NONE, Record, Span, Stage, Trace};
use serde::{Deserialize, Serialize};

use super::activity::{Activity, State};
use super::path::{Stretch, stretches};
use super::rates::{Counted, Nics, OverNic, Rates};
use super::slices::{Slice, thinned};
use crate::Moment;
use crate::format::Step;

/// The approximate maximum of the total number of bars of all nodes.
const BARS: usize = 120_000;

/// The maximum number of bars of a row.
const ROW: usize = 4_000;

/// The approximate total number of intervals in the rates of all nodes.
const BINS: usize = 40_000;

/// The number of rows per node that is assumed when the bars are shared among rows.
const ROWS: usize = 8;

/// The activity of a run's nodes over time.
#[derive(Clone, Debug, Serialize)]
pub struct Timeline {
    /// The run's length in nanoseconds.
    length_ns: u64,
    /// The length of an interval of rates in nanoseconds.
    width_ns: u64,
    /// The names of the nodes in the plan; empty if there is none.
    names: Vec<String>,
    /// The names of stages, by number.
    stages: Vec<&'static str>,
    nodes: Vec<Line>,
    /// The critical path; empty if unknown.
    path: Vec<Stretch>,
    #[serde(skip)]
    begin_ns: u64,
    #[serde(skip)]
    row: usize,
    #[serde(skip)]
    bins: usize,
}

/// A node, its rows of bars, and its rates.
#[derive(Clone, Debug, Serialize)]
struct Line {
    name: String,
    /// The node's index in the plan; `None` for a node whose bars do not come from a trace.
    index: Option<u16>,
    /// What the node mostly did over time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    states: Vec<State>,
    /// What it received from other nodes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    feeds: Vec<Feed>,
    /// The maximum error of the node's times in nanoseconds; `None` if unknown.
    error_ns: Option<u64>,
    rows: Vec<Row>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rates: Option<Rates>,
    /// The name of the node's only NIC; `None` if there are several NICs or the name is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    nic: Option<String>,
    /// The rates of each NIC, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nics: Vec<OverNic>,
}

/// All bytes that a node received from another one.
#[derive(Clone, Debug, Serialize)]
struct Feed {
    /// The other node's index in the plan.
    from: u16,
    bytes: u64,
    /// The start of the first transfer in nanoseconds since the start of the run.
    begin_ns: u64,
    /// The end of the last transfer.
    end_ns: u64,
}

#[derive(Clone, Debug, Serialize)]
struct Row {
    stage: String,
    slices: Vec<Slice>,
}

/// An activity that does not come from a trace, such as a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bar {
    /// Start in nanoseconds since the start of the run.
    begin_ns: u64,
    /// End in nanoseconds since the start of the run.
    end_ns: u64,
}

impl Timeline {
    /// Creates an empty timeline for `nodes` nodes. It starts at `begin_ns` of the head's clock,
    /// and is at least `length_ns` long.
    #[must_use]
    pub fn new(begin_ns: u64, length_ns: u64, nodes: usize) -> Self {
        let nodes = nodes.max(1);
        let bins = (BINS / nodes).clamp(24, 400);
        Self {
            length_ns,
            width_ns: (length_ns / bins as u64).max(1),
            names: Vec::new(),
            stages: (0..).map_while(Stage::of_number).map(Stage::name).collect(),
            nodes: Vec::new(),
            path: Vec::new(),
            begin_ns,
            row: (BARS / nodes / ROWS).clamp(8, ROW),
            bins,
        }
    }

    /// Sets the names of the nodes in the plan, to which traces refer by index.
    pub fn names(&mut self, planned: &[String]) {
        self.names = planned.to_vec();
    }

    /// Returns the links by which nodes were fed: the indices in the plan of the feeding and of the
    /// fed node.
    pub fn links(&self) -> impl Iterator<Item = (u16, u16)> {
        let fed = self.nodes.iter().filter_map(|line| Some((line.index?, &line.feeds)));
        fed.flat_map(|(to, feeds)| feeds.iter().map(move |feed| (feed.from, to)))
    }

    /// Adds a node's trace. `error_ns` is the maximum error of the node's times, if known;
    /// `on_head` converts times of the node's clock to the head's clock.
    pub fn node(
        &mut self,
        trace: &Trace,
        error_ns: Option<u64>,
        on_head: &dyn Fn(u64) -> Moment,
        nics: &Nics,
    ) {
        let mut rates = Counted::new(self.bins, nics);
        let mut activity = Activity::new(self.bins, self.width_ns);
        let mut feeds: Vec<Feed> = Vec::new();
        let mut rows: BTreeMap<u8, Vec<Slice>> = BTreeMap::new();
        let since = |at_ns: u64| on_head(at_ns).at_ns.saturating_sub(self.begin_ns);
        for record in &trace.records {
            let Record::Span(span) = record else { continue };
            let begin_ns = since(span.begin_ns);
            let end_ns = since(span.end_ns).max(begin_ns);
            let times = begin_ns..end_ns;
            rates.add(span, &times, self.width_ns, nics);
            activity.add(span, &times);
            feed(&mut feeds, span, &times);
            self.length_ns = self.length_ns.max(end_ns);
            let peer = if span.peer == NONE { 0 } else { u32::from(span.peer) + 1 };
            rows.entry(span.stage.number()).or_default().push(Slice {
                begin_ns,
                end_ns,
                busy_ns: span.busy_ns,
                bytes: span.bytes,
                count: u64::from(span.count),
                peer,
            });
        }
        let row = |(number, slices): (u8, Vec<Slice>)| {
            let stage = Stage::of_number(number)?.name().to_owned();
            Some(Row { stage, slices: thinned(slices, self.row) })
        };
        let rows = rows.into_iter().filter_map(row).collect();
        let (rates, over) = rates.end(&nics.names, self.width_ns);
        self.nodes.push(Line {
            name: trace.origin.node.clone(),
            index: Some(trace.origin.index),
            states: activity.end(),
            feeds,
            error_ns,
            rows,
            rates: Some(rates),
            nic: nics.names.first().filter(|_| nics.names.len() == 1).cloned(),
            nics: over,
        });
    }

    /// Adds a node with named rows of bars, such as the jobs of a farm.
    fn bars(&mut self, name: &str, rows: &[(String, Vec<Bar>)]) {
        let slice = |bar: &Bar| Slice {
            begin_ns: bar.begin_ns,
            end_ns: bar.end_ns.max(bar.begin_ns),
            busy_ns: bar.end_ns.saturating_sub(bar.begin_ns),
            bytes: 0,
            count: 1,
            peer: 0,
        };
        let row = |(stage, bars): &(String, Vec<Bar>)| {
            let slices: Vec<Slice> = bars.iter().map(slice).collect();
            Row { stage: stage.clone(), slices: thinned(slices, self.row) }
        };
        let ends = rows.iter().flat_map(|(_, bars)| bars).map(|bar| bar.end_ns);
        self.length_ns = self.length_ns.max(ends.max().unwrap_or(0));
        let rows = rows.iter().map(row).collect();
        let name = name.to_owned();
        let states = Vec::new();
        let feeds = Vec::new();
        let nics = Vec::new();
        let index = None;
        let error_ns = None;
        let rates = None;
        let nic = None;
        self.nodes.push(Line { name, index, states, feeds, error_ns, rows, rates, nic, nics });
    }

    /// Sets the critical path to `steps`, which must be in order of time.
    pub fn path(&mut self, steps: &[Step]) {
        self.path = stretches(steps, self.begin_ns, self.length_ns);
    }

    /// Returns whether no node has rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.iter().all(|line| line.rows.is_empty())
    }
}

/// Adds a span's bytes to what the node received from the other node. `times` are the span's start
/// and end in nanoseconds since the start of the run.
fn feed(feeds: &mut Vec<Feed>, span: &Span, times: &Range<u64>) {
    if span.stage != Stage::Receive || span.peer == NONE {
        return;
    }
    match feeds.iter_mut().find(|feed| feed.from == span.peer) {
        Some(feed) => {
            feed.bytes = feed.bytes.saturating_add(span.bytes);
            feed.begin_ns = feed.begin_ns.min(times.start);
            feed.end_ns = feed.end_ns.max(times.end);
        }
        None => feeds.push(Feed {
            from: span.peer,
            bytes: span.bytes,
            begin_ns: times.start,
            end_ns: times.end,
        }),
    }
}

/// A job in the result of a farm: its node, and its times in seconds since the start of the run.
#[derive(Deserialize)]
struct Job {
    node: String,
    staging: Option<f64>,
    staged_in: Option<f64>,
    started: f64,
    ended: f64,
    staged_out: Option<f64>,
}

impl Timeline {
    /// Returns the timeline of a farm's result (`garland.farm/2`). A node has as many rows as it
    /// ran jobs at the same time, at most, one for the copies of inputs to it, and one for those of
    /// outputs from it. Returns `None` if the result has no records.
    #[must_use]
    pub fn of_jobs(result: &serde_json::Value) -> Option<Self> {
        let records = result["records"].as_array()?;
        let jobs = records.iter().filter_map(|record| Job::deserialize(record).ok());
        let mut jobs: Vec<Job> = jobs.collect();
        jobs.sort_by(|a, b| a.started.total_cmp(&b.started));
        let mut nodes: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
        for job in &jobs {
            nodes.entry(&job.node).or_default().push(job);
        }
        let total = result["total"].as_f64().unwrap_or(0.0);
        let mut timeline = Self::new(0, nanos(total), nodes.len());
        for (node, jobs) in nodes {
            timeline.bars(node, &rows_of(&jobs));
        }
        Some(timeline).filter(|timeline| !timeline.is_empty())
    }
}

/// Returns a time of a farm's result, which is in seconds, in nanoseconds.
pub(super) fn nanos(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1e9) as u64
}

/// Assigns the jobs of a node, in order of their start, to named rows. Jobs that ran at the same
/// time are in different rows. The copies of inputs and those of outputs have rows of their own.
fn rows_of(jobs: &[&Job]) -> Vec<(String, Vec<Bar>)> {
    let mut slots: Vec<Vec<Bar>> = Vec::new();
    let mut back: Vec<Bar> = Vec::new();
    let mut there: Vec<Bar> = Vec::new();
    for job in jobs {
        let begin_ns = nanos(job.started);
        let end_ns = nanos(job.ended);
        if let (Some(begin), Some(end)) = (job.staging, job.staged_in) {
            there.push(Bar { begin_ns: nanos(begin), end_ns: nanos(end) });
        }
        let bar = Bar { begin_ns, end_ns };
        let free = |slot: &&mut Vec<Bar>| slot.last().is_none_or(|last| last.end_ns <= begin_ns);
        match slots.iter_mut().find(free) {
            Some(slot) => slot.push(bar),
            None => slots.push(vec![bar]),
        }
        if let Some(staged_out) = job.staged_out.map(nanos).filter(|at| *at > end_ns) {
            back.push(Bar { begin_ns: end_ns, end_ns: staged_out });
        }
    }
    let computing = slots.into_iter().enumerate();
    let mut rows: Vec<(String, Vec<Bar>)> =
        computing.map(|(slot, bars)| (format!("computing {}", slot + 1), bars)).collect();
    rows.push(("copying inputs".to_owned(), united(there)));
    rows.push(("returning outputs".to_owned(), back));
    rows.retain(|(_, bars)| !bars.is_empty());
    rows
}

/// Unites bars that overlap: jobs whose files are copied one after the other wait at the same time.
fn united(mut bars: Vec<Bar>) -> Vec<Bar> {
    bars.sort_by_key(|bar| bar.begin_ns);
    bars.dedup_by(|next, bar| {
        let overlaps = next.begin_ns <= bar.end_ns;
        if overlaps {
            bar.end_ns = bar.end_ns.max(next.end_ns);
        }
        overlaps
    });
    bars
}
