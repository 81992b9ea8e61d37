//! NICs used as one, in all three meanings: what one connection gets, and what several do.

use std::time::Duration;

use garland_lab::check::{Flow, Round};
use garland_lab::{Lab, Spec, StateDir};
use garland_topology::shapes::{Basis, Segment, bonded};
use garland_topology::{NodeId, Selector};

use super::shapes::checked;

/// Slow enough that a machine which does other things emulates it, too.
const RATE: &str = "40mbit";

/// What TCP gets through one wire of that, in Mbit/s.
const ONE: f64 = 40.0 * 0.9415;

fn up(state: &StateDir, rate: &str, segment: Segment, selector: Selector) -> Lab {
    let basis = Basis::numbered("bonded", 2).at(rate.parse().unwrap());
    let topology = bonded(&basis, 2, segment, selector);
    Lab::up(state, Spec { name: "lab".to_owned(), topology, roots: None, faults: Vec::new() })
        .unwrap()
}

/// What all flows from the head to n1 get together, in Mbit/s, as their number is.
fn from_head(lab: &Lab, flows: usize) -> f64 {
    const FROM: NodeId = 0;
    const TO: NodeId = 1;
    let flow = Flow {
        from: FROM,
        to: TO,
        address: lab.address("n1").unwrap(),
        theory: 4e7,
        senders: Vec::new(),
        media: Vec::new(),
    };
    let round = Round {
        flows: vec![flow; flows],
        tolerance: 1.0,
        warm_up: Duration::from_millis(500),
        window: Duration::from_millis(1500),
    };
    lab.measure(&round).unwrap().iter().map(|measured| measured.goodput / 1e6).sum()
}

/// Measures until it is within 2 % of `theory`, in Mbit/s, four times at most. Other programs use this
/// machine as well: so the best counts, and `least` is what it must be.
fn settles(what: &str, theory: f64, least: f64, measure: impl Fn() -> f64) {
    let mut best = 0.0_f64;
    for _ in 0..4 {
        best = best.max(measure());
        if best > 0.98 * theory {
            break;
        }
    }
    println!("{what}: {best:.1} Mbit/s");
    // Short windows see bursts of the ports' buffers.
    assert!((least..1.03 * theory).contains(&best), "{what}: {best:.1} Mbit/s");
}

pub fn by_packet(state: &StateDir) {
    let lab = up(state, RATE, Segment::Switch, Selector::Packet);
    settles("one flow by packet", 2.0 * ONE, 1.6 * ONE, || from_head(&lab, 1));
}

pub fn by_flow(state: &StateDir) {
    let lab = up(state, RATE, Segment::Switch, Selector::Flow);
    settles("one flow by flow", ONE, 0.95 * ONE, || from_head(&lab, 1));
    // Of eight connections all take one NIC once in 128 times.
    settles("eight flows by flow", 2.0 * ONE, 1.6 * ONE, || from_head(&lab, 8));
}

pub fn by_subflow(state: &StateDir) {
    let lab = up(state, RATE, Segment::Switch, Selector::Subflow);
    assert!(lab.wants_mptcp());
    settles("one connection by subflow", 2.0 * ONE, 1.6 * ONE, || from_head(&lab, 1));
}

/// On hubs a bond's both ways share the wires.
pub fn on_hubs(state: &StateDir) {
    for selector in [Selector::Packet, Selector::Flow] {
        let lab = up(state, "10mbit", Segment::Hub, selector);
        checked(&lab);
        lab.down().unwrap();
    }
}
