//! Compares forecasts from simulations of few nodes with simulations of many nodes: the case of the
//! 24 nodes that behaved like 15.

use garland_analysis::forecast::{Demand, Point, Question, Work, forecast};
use garland_predict::{Farm, Files, Job, Machine, Network, farm};
use garland_simulation::Random;
use garland_topology::shapes::{Basis, hub};

const JOBS: u32 = 480;
const BYTES_IN: f64 = 4.0e6;
const BYTES_OUT: f64 = 1.0e6;

/// A hub's goodput: 91.5 % of 100 Mbit/s, in bytes per second.
const HUB: f64 = 100e6 / 8.0 * 1448.0 / (1538.0 + 45.0);

/// Returns the time on the wire of all jobs, in seconds.
fn of_wire() -> f64 {
    f64::from(JOBS) * (BYTES_IN + BYTES_OUT) / HUB
}

/// Returns jobs of such a length that 15 nodes keep the wire busy, each up to a fifth longer or
/// shorter.
fn jobs(seed: u64) -> Vec<Job> {
    let mut random = Random::new(seed);
    let each = of_wire() / f64::from(JOBS);
    let mut job = || {
        let spread = random.below(401) as f64 / 1000.0 - 0.2;
        Job { bytes_in: BYTES_IN, seconds: 14.0 * each * (1.0 + spread), bytes_out: BYTES_OUT }
    };
    (0..JOBS).map(|_| job()).collect()
}

fn on(nodes: u32, jobs: &[Job]) -> f64 {
    let topology = hub(&Basis::numbered("hub", nodes).at("100mbit".parse().unwrap()));
    let mut network = Network::new();
    let ways = network.there_and_back(&topology, 0, 1..=nodes as usize).unwrap();
    let machine = |(stage_in, stage_out)| Machine {
        speed: 1.0,
        slots: 1,
        stage_in,
        stage_out,
        files: Files::Staged,
        joins: 0.0,
        dies: None,
    };
    let machines: Vec<Machine> = ways.into_iter().map(machine).collect();
    let run = farm(&Farm { jobs, machines: &machines, network: &network });
    assert_eq!(run.ran.len(), jobs.len());
    run.seconds
}

#[test]
fn few_nodes_tell_of_many_and_name_the_wire() {
    for seed in 1..=4 {
        let drawn = jobs(seed);
        let measured: Vec<Point> =
            [1, 2, 4, 8].map(|nodes| Point { nodes, seconds: on(nodes, &drawn) }).to_vec();
        let demands = [Demand { name: "hub bus".to_owned(), seconds: of_wire() }];
        let work = Work::Fixed { jobs: Some(JOBS), demands: &demands };
        let asked = Question { points: &measured, work, ahead: &[16, 24], prices: None };
        let told = forecast(&asked).unwrap();
        let knee = told.knee.clone().unwrap();
        assert_eq!(knee.resource, "hub bus");
        assert!((13.5..16.5).contains(&knee.nodes), "{knee:?}");
        for at in &told.curve {
            let truth = on(at.nodes, &drawn);
            let (low, high) = at.interval.unwrap();
            assert!(low <= truth && truth <= high, "{} nodes: {truth} in {low}..{high}", at.nodes);
            let error = at.seconds / truth - 1.0;
            assert!(error.abs() < 0.1, "{} nodes: {error:+.3}", at.nodes);
        }
        // Beyond the knee, 24 nodes have the power of about 15.
        let power = told.curve[1].power;
        assert!((12.5..=16.0).contains(&power), "{power}");
    }
}
