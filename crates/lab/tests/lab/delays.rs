//! Cases of labs whose media have a delay.

use std::process::{Child, Stdio};
use std::time::Duration;

use garland_core::units::Nanos;
use garland_lab::{DelayBy, Lab, LabError, Spec, StateDir};
use garland_sys::identity::{Signal, signal};

use super::cases::{eventually, first_line, networks_on_record, processes, text};

/// A switch of 100 Mbit/s with this delay in milliseconds.
fn far(nodes: u32, millis: u64) -> Spec {
    Spec::switch("lab", nodes, Some(100_000_000)).delayed(Nanos::from_millis(millis))
}

/// Starts a part on a node and waits until it listens.
fn listen(lab: &Lab, node: &str, part: &str) -> Child {
    let mut command = lab.command(node, super::own_path()).unwrap();
    let mut child = command.args(["part", part]).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(first_line(&mut child).trim(), "listening");
    child
}

/// Runs a part on n1 that speaks with a node, and returns what it prints.
fn towards(lab: &Lab, node: &str, part: &str) -> String {
    let address = lab.address(node).unwrap().to_string();
    let mut command = lab.command("n1", super::own_path()).unwrap();
    text(&command.args(["part", part, &address]).output().unwrap())
}

/// A round trip takes twice the delay of the switch, once in a few tries on a busy machine, and is
/// never shorter.
pub fn round_trip(state: &StateDir) {
    for millis in [1, 20, 100] {
        let lab = Lab::up(state, far(2, millis)).unwrap();
        let mut echo = listen(&lab, "n2", "echo");
        let micros: u64 = towards(&lab, "n2", "ping").parse().unwrap();
        echo.kill().unwrap();
        echo.wait().unwrap();
        println!("round trip over {millis} ms: {micros} us");
        let twice = 2000 * millis;
        assert!((twice..twice + 1000 + twice / 20).contains(&micros), "{micros} us");
        let counted = lab.delay_counters().unwrap().unwrap();
        assert!(counted.released >= 40 && counted.lost == 0, "{counted:?}");
        lab.down().unwrap();
    }
}

/// TCP fills the wire, whole segments and their checksums pass, and nothing is lost in the line.
pub fn stream(state: &StateDir) {
    let lab = Lab::up(state, far(2, 20)).unwrap();
    // Other programs can only make it slower.
    let fast = (0..4).any(|_| {
        let mut meter = listen(&lab, "n2", "meter");
        towards(&lab, "n2", "stream");
        let line = first_line(&mut meter);
        meter.wait().unwrap();
        println!("100 Mbit/s over 20 ms: {} Mbit/s", line.trim());
        let mbits: f64 = line.trim().parse().unwrap();
        assert!(mbits < 95.0, "{mbits} Mbit/s");
        mbits > 93.0
    });
    let counted = lab.delay_counters().unwrap().unwrap();
    assert!(fast && counted.lost == 0, "{counted:?}");
    lab.down().unwrap();
}

/// Datagrams arrive in the order in which they were sent, on a wire that counts frames and on one
/// that does not, and the line loses none.
pub fn order(state: &StateDir) {
    for rate in [100_000_000, 1_000_000_000] {
        let spec = Spec::switch("lab", 2, Some(rate)).delayed(Nanos::from_millis(5));
        let lab = Lab::up(state, spec).unwrap();
        let mut count = listen(&lab, "n2", "count");
        towards(&lab, "n2", "number");
        assert_eq!(first_line(&mut count).trim(), "in order");
        count.wait().unwrap();
        let counted = lab.delay_counters().unwrap().unwrap();
        assert!(counted.released > 0 && counted.lost == 0, "{counted:?}");
        lab.down().unwrap();
    }
}

/// The line ends with its keeper, and leaves nothing.
pub fn killed_keeper(state: &StateDir) {
    let before = (processes(), networks_on_record());
    let lab = Lab::up(state, far(2, 20)).unwrap();
    eventually("the keeper has its delay line", || processes() == before.0 + 2);
    signal(lab.keeper().pid, Signal::KILL).unwrap();
    eventually("nothing is left", || (processes(), networks_on_record()) == before);
    assert!(matches!(Lab::open(state, "lab"), Err(LabError::NotRunning { .. })));
    assert!(!Lab::end(state, "lab").unwrap());
}

/// What the line cannot hold is refused before anything is built.
pub fn too_fast(state: &StateDir) {
    let spec = Spec::switch("lab", 20, Some(10_000_000_000)).delayed(Nanos::from_millis(1));
    let error = Lab::up(state, spec).unwrap_err().to_string();
    assert!(error.contains("cannot delay the frames of this lab"), "{error}");
    assert!(error.contains("use lower rates or fewer nodes"), "{error}");
    assert_eq!(state.list().unwrap().len(), 0);
}

/// The check of a lab holds with a delay, and frames go over uplinks, each medium holding them.
pub fn checked(state: &StateDir) {
    let text = "version = 1\n[topology]\nshape = \"leaf-spine\"\nnodes = 2\nleaves = 2\n\
                spines = 1\nrate = \"100mbit\"\ndelay = \"5ms\"\n";
    let topology = garland_topology::file::parse(text, "far.toml").unwrap().topology;
    let spec = Spec { name: "lab".to_owned(), topology, roots: None, faults: Vec::new() };
    let lab = Lab::up(state, spec).unwrap();
    let report = super::shapes::checked(&lab);
    assert_eq!(report.pairs.len(), 6);
    // n1 and n2 are on different leaves.
    let mut echo = listen(&lab, "n2", "echo");
    let micros: u64 = towards(&lab, "n2", "ping").parse().unwrap();
    echo.kill().unwrap();
    echo.wait().unwrap();
    assert!(
        [10_000, 30_000].iter().any(|least| (*least..least + 3000).contains(&micros)),
        "{micros}"
    );
    let status = lab.status().unwrap();
    assert_eq!(status.delay_by, Some(DelayBy::Own));
    lab.down().unwrap();
}

/// How long a part waits for what must come.
pub const PATIENCE: Duration = Duration::from_secs(60);
