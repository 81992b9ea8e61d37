//! A first node that is slow in both directions, and one that only seems to be.

use std::net::SocketAddr;

use garland_core::plan::{Layout, NodeId, Plan};
use garland_protocol::FromAgent;
use garland_protocol::copy::{
    CopyId, Head, HeadEvent as Event, HopReport, LaneReport, Policy, Report,
};

const COPY: CopyId = CopyId([7; 16]);
const SECOND: u64 = 1_000_000_000;

/// The time between reports in nanoseconds.
const STEP: u64 = SECOND / 5;

/// Bytes per second of every hop.
const RATE: u64 = 60_000_000;

/// A chain whose hops report what shares of the time they are busy.
struct Chain {
    head: Head,
    now: u64,
    hops: Vec<HopReport>,
}

impl Chain {
    fn new(count: usize) -> Self {
        let names: Vec<String> = (1..=count).map(|number| format!("n{number}")).collect();
        let plan = Plan::broadcast(Layout::new(1 << 40, 1 << 20).expect("it can be"), &names, 1)
            .expect("there are nodes");
        let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; count + 1];
        let mut head = Head::new(COPY, &plan, addresses, Policy::for_nodes(count), 0);
        head.handle(0, Event::Begin);
        let hop = |epoch| HopReport { epoch, ..HopReport::default() };
        Self { head, now: 0, hops: (1..).map(hop).take(count).collect() }
    }

    /// Lets all nodes report a window in which each hop carried the same, busy for these shares of
    /// the time. Returns whether the first node is still in the chain.
    fn window(&mut self, busy: &[f64]) -> bool {
        self.now += STEP;
        let now = self.now;
        for (hop, share) in self.hops.iter_mut().zip(busy) {
            hop.sent += RATE * STEP / SECOND;
            hop.busy_ns += (share * STEP as f64) as u64;
        }
        let report = |received: u64, hop: Option<HopReport>| Report {
            lanes: vec![LaneReport { received, hop, untaken: None }],
            holder: true,
            ..Report::default()
        };
        let received = self.hops[0].sent >> 20;
        self.head.handle(now, Event::Own(report(received, self.hops.first().copied())));
        for (number, hop) in (1..).zip(self.hops.iter().copied().map(Some).skip(1).chain([None])) {
            let heartbeat = FromAgent::Heartbeat(vec![(COPY, report(received, hop))]);
            self.head.handle(now, Event::From(NodeId(number), heartbeat));
        }
        self.head.handle(now, Event::Tick);
        let upstream = self.head.routes(NodeId(2))[0].upstream;
        upstream.is_some_and(|(near, ..)| near == NodeId(1))
    }
}

/// Shares of the time as healthy chains at 500 Mbit/s reported them one after the other: all wires
/// are alike, and pass bursts.
const SEVEN: [[f64; 7]; 5] = [
    [1.0, 0.97, 0.55, 0.31, 0.34, 0.44, 0.39],
    [1.0, 0.94, 0.43, 0.59, 0.38, 0.35, 0.29],
    [1.0, 0.97, 0.25, 0.67, 0.59, 0.27, 0.29],
    [1.0, 0.93, 0.25, 0.54, 0.55, 0.41, 0.21],
    [1.0, 0.99, 0.33, 0.47, 0.77, 0.19, 0.57],
];
const THREE: [[f64; 3]; 4] =
    [[1.0, 0.99, 0.31], [1.0, 0.99, 0.11], [1.0, 1.0, 0.21], [1.0, 0.99, 0.33]];

#[test]
fn bursts_behind_a_queue_accuse_nobody() {
    let mut chain = Chain::new(7);
    for window in SEVEN.iter().cycle().take(50) {
        assert!(chain.window(window), "after {} ms", chain.now / 1_000_000);
    }
}

#[test]
fn a_last_wire_that_was_once_full_is_no_faster_than_the_others() {
    let mut chain = Chain::new(3);
    let full = [[1.0, 1.0, 0.98]];
    for window in THREE.iter().chain(&full).chain(THREE.iter().cycle().take(50)) {
        assert!(chain.window(window), "after {} ms", chain.now / 1_000_000);
    }
}

#[test]
fn a_first_node_is_tried_if_all_hops_behind_it_stay_idle() {
    for (nodes, windows) in [(3, 11), (7, 6), (20, 4)] {
        let mut chain = Chain::new(nodes);
        let mut busy = vec![0.2; nodes];
        (busy[0], busy[1]) = (1.0, 0.99);
        let kept = (0..40).take_while(|_| chain.window(&busy)).count();
        assert!(kept <= windows, "{nodes} nodes: tried after {kept} windows");
    }
}
