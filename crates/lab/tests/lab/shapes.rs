//! Emulates every shape; its self-check must hold.

use garland_lab::check::Report;
use garland_lab::{Lab, Spec, StateDir};
use garland_topology::shapes::{self, *};
use garland_topology::{MediumKind, Selector, Topology};

fn basis(nodes: u32, rate: &str) -> Basis {
    Basis::numbered("shape", nodes).at(rate.parse().unwrap())
}

/// The number of tries. Other programs use this machine as well; the self-check of a correct lab
/// holds at least once, and that of a faulty lab never does.
const CHECKS: usize = 4;

/// Returns the report of a self-check that holds.
pub fn checked(lab: &Lab) -> Report {
    let mut reports = (0..CHECKS).map(|_| lab.check().unwrap());
    let first = reports.next().expect("there is one");
    if first.holds() {
        return first;
    }
    reports.find(Report::holds).unwrap_or_else(|| panic!("{first}"))
}

fn holds(state: &StateDir, topology: Topology) {
    let lab =
        Lab::up(state, Spec { name: "lab".to_owned(), topology, roots: None, faults: Vec::new() })
            .unwrap();
    let report = checked(&lab);
    assert!(!report.media.is_empty() && !report.pairs.is_empty());
    lab.down().unwrap();
}

pub fn hub(state: &StateDir) {
    holds(state, shapes::hub(&basis(4, "10mbit")));
}

pub fn hub_with_collisions(state: &StateDir) {
    let mut topology = shapes::hub(&basis(4, "10mbit"));
    topology.media[0].kind = MediumKind::Hub { collisions: true };
    holds(state, topology);
}

pub fn backplane(state: &StateDir) {
    let topology = switch(&basis(4, "100mbit"), Some("150mbit".parse().unwrap()));
    holds(state, topology);
}

pub fn star(state: &StateDir) {
    holds(state, shapes::star(&basis(4, "100mbit"), Between::Forwarded));
}

pub fn routed_mesh(state: &StateDir) {
    let measures = Mesh { columns: 3, segment: Segment::Hub, joined: Joined::Routed, both: None };
    holds(state, mesh(&basis(8, "10mbit"), &measures));
}

pub fn switched_mesh(state: &StateDir) {
    let measures = Mesh {
        columns: 3,
        segment: Segment::Hub,
        joined: Joined::Switched,
        both: Some(Selector::Packet),
    };
    holds(state, mesh(&basis(8, "10mbit"), &measures));
}

pub fn rails_and_wires(state: &StateDir) {
    // Many wires are measured at once; slow ones need less CPU time.
    holds(state, rail(&basis(3, "40mbit"), 2));
    holds(state, ring(&basis(4, "40mbit")));
    holds(state, full_mesh(&basis(3, "40mbit")));
}

pub fn leaves_and_spines(state: &StateDir) {
    let measures = LeafSpine { leaves: 2, spines: 2, uplink: None };
    holds(state, leaf_spine(&basis(5, "100mbit"), &measures));
}
