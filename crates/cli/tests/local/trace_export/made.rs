//! A run made by hand: a head and three nodes in a chain, of which the last has left no trace.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use garland_core::plan::{Layout, Plan};
use garland_core::trace::{
    Direction, Lost, NO_BLOCK, NONE, Origin, Probe, Record, Role, Socket, Span, Stage, Trace,
};
use garland_testkit::Scratch;

/// Blocks that are copied.
pub const BLOCKS: u32 = 50;
const BLOCK: u64 = 1 << 20;

/// When the head's copy began, by its clock.
const BEGAN_NS: u64 = 5_000_000_000;

/// How far a node's clock is ahead of the head's: a day more for each place.
fn ahead_ns(place: u16) -> u64 {
    86_400_000_000_000 * u64::from(place)
}

/// What a stage's spans sum to: busy nanoseconds, bytes, blocks.
pub type Sums = BTreeMap<String, [u64; 3]>;

/// The run's traces, by the names of their files.
pub fn traces() -> Vec<(&'static str, Trace)> {
    let names = ["head", "n1", "n2"];
    let trace = |(place, name): (u16, &'static str)| {
        let (role, records) = match place {
            0 => (Role::Head, head()),
            _ => (Role::Agent, node(place)),
        };
        let started_ns = BEGAN_NS + ahead_ns(place);
        let node = name.to_owned();
        let wall_ns = 0;
        let copy = [7; 16];
        let index = place;
        let processors = 2;
        let emulated = false;
        let origin = Origin { node, index, role, processors, started_ns, wall_ns, copy, emulated };
        (name, Trace { origin, records })
    };
    (0..).zip(names).map(trace).collect()
}

fn span(place: u16, stage: Stage, peer: u16, block: u32, after_us: u64) -> Record {
    let begin_ns = BEGAN_NS + ahead_ns(place) + 1_000_000 * u64::from(block) + 1000 * after_us;
    Record::Span(Span {
        stage,
        lane: 0,
        peer,
        thread: stage.number().into(),
        begin_ns,
        end_ns: begin_ns + 300_000,
        busy_ns: 250_000,
        bytes: BLOCK,
        block,
        count: 1,
        operation: 0,
    })
}

fn head() -> Vec<Record> {
    let blocks = (0..BLOCKS).flat_map(|block| {
        let steps = [(Stage::Read, NONE, 0), (Stage::Seal, NONE, 300), (Stage::Send, 1, 600)];
        steps.map(|(stage, peer, after_us)| span(0, stage, peer, block, after_us))
    });
    // The way there takes 100 µs, and the way back 150.
    let probes = (0..20_u64).flat_map(|at| {
        [1_u16, 2].map(|peer| {
            let sent_ns = BEGAN_NS + 2_500_000 * at;
            let received_ns = sent_ns + 100_000 + ahead_ns(peer);
            let answered_ns = received_ns + 5000;
            let back_ns = sent_ns + 255_000;
            Record::Probe(Probe { peer, sent_ns, received_ns, answered_ns, back_ns })
        })
    });
    let sockets = (1..=4).map(|at| {
        Record::Socket(Socket {
            lane: 0,
            peer: 1,
            direction: Direction::Down,
            at_ns: BEGAN_NS + 10_000_000 * at,
            bytes: BLOCK * 10 * at,
            busy_us: 9000 * at,
            rwnd_limited_us: 100 * at,
            sndbuf_limited_us: 0,
            retransmitted: 0,
            rtt_us: 80,
            cwnd: 10,
            delivery_kb_s: 117_000,
        })
    });
    blocks.chain(probes).chain(sockets).collect()
}

fn node(place: u16) -> Vec<Record> {
    let late_us = 1000 * u64::from(place);
    let mut records: Vec<Record> = (0..BLOCKS)
        .flat_map(|block| {
            let receive = span(place, Stage::Receive, place - 1, block, late_us);
            let relay = span(place, Stage::Relay, place + 1, block, late_us + 100);
            [receive, relay, span(place, Stage::Write, NONE, block, late_us + 400)]
        })
        .collect();
    let Record::Span(wait) = span(place, Stage::WaitUpstream, place - 1, 0, 500) else {
        unreachable!("it is a span");
    };
    records.insert(0, Record::Span(Span { block: NO_BLOCK, bytes: 0, ..wait }));
    let stage = Stage::Open;
    let lane = 0;
    let peer = NONE;
    records.push(Record::Lost(Lost { stage, lane, peer, count: 50, busy_ns: 12_345, bytes: 678 }));
    records
}

/// What these traces sum to.
pub fn sums<'a>(traces: impl Iterator<Item = &'a Trace>) -> Sums {
    let mut sums = Sums::new();
    for record in traces.flat_map(|trace| &trace.records) {
        let (stage, added) = match record {
            Record::Span(span) => (span.stage, [span.busy_ns, span.bytes, u64::from(span.count)]),
            Record::Lost(lost) => (lost.stage, [lost.busy_ns, lost.bytes, lost.count]),
            _ => continue,
        };
        let sum = sums.entry(stage.name().to_owned()).or_default();
        sum.iter_mut().zip(added).for_each(|(sum, added)| *sum += added);
    }
    sums
}

/// Writes the run's folder; the path of its traces.
pub fn run(scratch: &Scratch) -> PathBuf {
    let folder = scratch.folder().join("run/trace");
    fs::create_dir_all(&folder).unwrap();
    for (name, trace) in traces() {
        fs::write(folder.join(format!("{name}.trace")), trace.encode()).unwrap();
    }
    let layout = Layout::new(u64::from(BLOCKS) * BLOCK, 1 << 20).unwrap();
    let names = ["n1", "n2", "n3"].map(str::to_owned);
    let plan = Plan::broadcast(layout, &names, 1).unwrap();
    let plan = serde_json::to_string(&plan).unwrap();
    fs::write(scratch.folder().join("run/plan.json"), plan).unwrap();
    folder
}
