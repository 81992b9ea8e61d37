//! The test cases. Each gets a state directory of its own that does not exist yet.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use garland_lab::fault::{self, LinkDirection};
use garland_lab::{Lab, LabError, Spec, StateDir};
use garland_sys::clock::now_ns;
use garland_sys::identity::{Identity, Signal, signal};

use super::{bonds, delays, shapes, shares};

type Case = fn(&StateDir);

/// All cases.
pub const ALL: [(&str, Case); 32] = [
    ("up_exec_down", up_exec_down),
    ("exit_and_signals_pass_through", exit_and_signals_pass_through),
    ("rate_100mbit", |state| rate_holds(state, 100_000_000)),
    ("rate_1gbit", |state| rate_holds(state, 1_000_000_000)),
    ("two_labs", two_labs),
    ("killed_keeper_leaves_nothing", killed_keeper_leaves_nothing),
    ("keeper_ends_with_its_starter", keeper_ends_with_its_starter),
    ("down_stays_inside", down_stays_inside),
    ("enter_the_head", enter_the_head),
    ("flips_one_byte", flips_one_byte),
    ("cuts_silently", cuts_silently),
    ("shape_hub", shapes::hub),
    ("shape_collisions", shapes::hub_with_collisions),
    ("shape_backplane", shapes::backplane),
    ("shape_star", shapes::star),
    ("shape_routed_mesh", shapes::routed_mesh),
    ("shape_switched_mesh", shapes::switched_mesh),
    ("shape_wires", shapes::rails_and_wires),
    ("shape_leaf_spine", shapes::leaves_and_spines),
    ("bond_by_packet", bonds::by_packet),
    ("bond_by_flow", bonds::by_flow),
    ("bond_by_subflow", bonds::by_subflow),
    ("bond_on_hubs", bonds::on_hubs),
    ("cpu_share", shares::cpu),
    ("vintage", shares::vintage),
    ("half_duplex", half_duplex),
    ("delay_round_trip", delays::round_trip),
    ("delay_stream", delays::stream),
    ("delay_order", delays::order),
    ("delay_killed_keeper", delays::killed_keeper),
    ("delay_too_fast", delays::too_fast),
    ("delay_checked", delays::checked),
];

pub fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap().trim().to_owned()
}

fn up_exec_down(state: &StateDir) {
    let lab = Lab::up(state, Spec::switch("lab", 3, Some(100_000_000))).unwrap();
    assert_eq!(lab.nodes().collect::<Vec<_>>(), ["n0", "n1", "n2", "n3"]);
    for node in lab.nodes() {
        assert_eq!(text(&lab.command(node, "hostname").unwrap().output().unwrap()), node);
        let root = fs::metadata(lab.root(node).unwrap()).unwrap();
        assert_eq!(root.permissions().mode() & 0o777, 0o700);
    }
    let ip = lab.command("n3", "/sbin/ip").unwrap().args(["-br", "addr"]).output().unwrap();
    assert!(text(&ip).contains(" 10.88.0.13/16"), "{ip:?}");
    assert!(matches!(lab.command("n4", "true"), Err(LabError::NoSuchNode { .. })));
    let again = Lab::up(state, Spec::switch("lab", 1, None));
    assert!(matches!(again, Err(LabError::Running { .. })), "{again:?}");
    let status = lab.status().unwrap();
    assert_eq!(status.nodes.len(), 4);
    assert_eq!(state.list().unwrap().len(), 1);
    lab.down().unwrap();
    assert!(matches!(Lab::open(state, "lab"), Err(LabError::NotRunning { .. })));
    assert!(!Lab::end(state, "lab").unwrap());
    assert_eq!(fs::read_dir(state.0.join("labs")).unwrap().count(), 0);
}

fn exit_and_signals_pass_through(state: &StateDir) {
    let lab = Lab::up(state, Spec::switch("lab", 1, None)).unwrap();
    let shell = |script: &str| {
        let mut command = lab.command("n1", "sh").unwrap();
        command.args(["-c", script]);
        command
    };
    assert_eq!(shell("exit 7").status().unwrap().code(), Some(7));
    assert_eq!(shell("kill -9 $$").status().unwrap().signal(), Some(9));
    assert!(lab.command("n1", "no-such-program").unwrap().status().is_err());
    let mut waits = lab.command("n1", "sleep").unwrap().arg("60").spawn().unwrap();
    signal(waits.id(), Signal::TERM).unwrap();
    assert_eq!(waits.wait().unwrap().signal(), Some(15));
    let mut killed = lab.command("n1", "sleep").unwrap().arg("60").spawn().unwrap();
    assert_eq!(lab.processes("n1").unwrap().len(), 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    eventually("the program dies with its proxy", || lab.processes("n1").unwrap().is_empty());
    let mut stopped = lab.command("n1", "sleep").unwrap().arg("60").spawn().unwrap();
    assert_eq!(fault::stop(&lab, "n1").unwrap(), 1);
    assert_eq!(fault::resume(&lab, "n1").unwrap(), 1);
    assert_eq!(fault::kill(&lab, "n1").unwrap(), 1);
    assert_eq!(stopped.wait().unwrap().signal(), Some(9));
}

fn rate_holds(state: &StateDir, rate: u64) {
    let lab = Lab::up(state, Spec::switch("lab", 2, Some(rate))).unwrap();
    let report = shapes::checked(&lab);
    assert_eq!((report.media.len(), report.pairs.len()), (1, 6));
}

/// Both directions of a half-duplex port take turns: what n1 gets and sends at the same time takes
/// as long as one after the other.
fn half_duplex(state: &StateDir) {
    let text = "version = 1\n[topology]\nshape = \"switch\"\nnodes = 2\nrate = \"100mbit\"\n\
                [[topology.node]]\nnames = \"n1\"\nduplex = \"half\"\n";
    let topology = garland_topology::file::parse(text, "half.toml").unwrap().topology;
    let spec = Spec { name: "lab".to_owned(), topology, roots: None, faults: Vec::new() };
    let lab = Lab::up(state, spec).unwrap();
    let report = shapes::checked(&lab);
    assert_eq!(report.pairs.len(), 6);
    let mut receivers = [listen(&lab, "n1"), listen(&lab, "n2")];
    let before = now_ns();
    let mut senders = [("n0", "n1"), ("n1", "n2")].map(|(from, to)| {
        let address = lab.address(to).unwrap().to_string();
        let mut sender = lab.command(from, super::own_path()).unwrap();
        sender.args(["part", "send", &address]).spawn().unwrap()
    });
    for process in senders.iter_mut().chain(&mut receivers) {
        assert!(process.wait().unwrap().success());
    }
    let seconds = (now_ns() - before) as f64 / 1e9;
    let alone = super::parts::BYTES as f64 * 8.0 / 94.1e6;
    assert!(seconds > 1.8 * alone, "{seconds} s, and one alone takes {alone}");
    lab.down().unwrap();
}

fn two_labs(state: &StateDir) {
    let one = Lab::up(state, Spec::switch("one", 2, None)).unwrap();
    let roots = state.0.join("elsewhere");
    fs::create_dir(&roots).unwrap();
    let network = |lab: &Lab| {
        let link = lab.command("n1", "readlink").unwrap().arg("/proc/self/ns/net").output();
        text(&link.unwrap())
    };
    // At least once, 64 nodes start in less than 3 s and end in less than 2 s; other programs use
    // this machine too.
    let quick = (0..4).any(|_| {
        let spec = Spec::switch("two", 64, Some(1_000_000_000));
        let started = now_ns();
        let two = Lab::up(state, Spec { roots: Some(roots.clone()), ..spec }).unwrap();
        let up = Duration::from_nanos(now_ns() - started);
        assert!(two.root("n64").unwrap().starts_with(&roots));
        assert_ne!(network(&one), network(&two));
        let started = now_ns();
        two.down().unwrap();
        let down = Duration::from_nanos(now_ns() - started);
        assert_eq!(fs::read_dir(&roots).unwrap().count(), 0);
        println!("64 nodes: up in {up:.2?}, down in {down:.2?}");
        up < Duration::from_secs(3) && down < Duration::from_secs(2)
    });
    assert!(quick, "64 nodes take longer to come and to go");
    assert_eq!(text(&one.command("n2", "hostname").unwrap().output().unwrap()), "n2");
}

fn killed_keeper_leaves_nothing(state: &StateDir) {
    let before = (processes(), networks_on_record());
    let lab = Lab::up(state, Spec::switch("lab", 2, Some(1_000_000_000))).unwrap();
    let mut asleep = lab.command("n1", "sleep").unwrap().arg("60").spawn().unwrap();
    signal(lab.keeper().pid, Signal::KILL).unwrap();
    assert_eq!(asleep.wait().unwrap().signal(), Some(9));
    eventually("nothing is left", || (processes(), networks_on_record()) == before);
    assert!(matches!(Lab::open(state, "lab"), Err(LabError::NotRunning { .. })));
    fs::write(lab.root("n1").unwrap().join("old"), "").unwrap();
    let lab = Lab::up(state, Spec::switch("lab", 1, None)).unwrap();
    assert_eq!(fs::read_dir(lab.root("n1").unwrap()).unwrap().count(), 0);
    signal(lab.keeper().pid, Signal::KILL).unwrap();
    eventually("the keeper ends", || Lab::open(state, "lab").is_err());
    assert!(!Lab::end(state, "lab").unwrap());
    assert_eq!(fs::read_dir(state.0.join("labs")).unwrap().count(), 0);
}

fn keeper_ends_with_its_starter(_: &StateDir) {
    let before = processes();
    let mut keeper = Command::new("/proc/self/exe")
        .args(["lab-keeper", "orphan"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = keeper.stdin.take().unwrap();
    writeln!(input, "{}", serde_json::to_string(&Spec::switch("orphan", 1, None)).unwrap())
        .unwrap();
    let answer = first_line(&mut keeper);
    assert!(answer.contains("\"Ok\""), "{answer}");
    keeper.wait().unwrap();
    assert_eq!(processes(), before + 1);
    drop(input);
    eventually("the keeper ends", || processes() == before);
}

fn down_stays_inside(state: &StateDir) {
    let lab = Lab::up(state, Spec::switch("lab", 1, None)).unwrap();
    let precious = state.0.join("precious");
    fs::create_dir(&precious).unwrap();
    fs::write(precious.join("file"), "kept").unwrap();
    let root = lab.root("n1").unwrap();
    symlink(&precious, root.join("way-out")).unwrap();
    fs::create_dir(root.join("closed")).unwrap();
    fs::write(root.join("closed/file"), "").unwrap();
    fs::set_permissions(root.join("closed"), PermissionsExt::from_mode(0o500)).unwrap();
    lab.down().unwrap();
    assert!(!root.exists());
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "kept");
}

fn enter_the_head(state: &StateDir) {
    let _lab = Lab::up(state, Spec::switch("lab", 1, None)).unwrap();
    let mut part = Command::new("/proc/self/exe");
    part.args(["part", "enter"]).arg(&state.0).arg("lab");
    assert_eq!(text(&part.output().unwrap()), "n0 n1");
}

fn flips_one_byte(state: &StateDir) {
    let lab = Lab::up(state, Spec::switch("lab", 2, Some(1_000_000_000))).unwrap();
    assert_eq!(transfer(&lab), format!("{} bytes, 0 differ", super::parts::BYTES));
    for (node, way) in [("n2", LinkDirection::In), ("n1", LinkDirection::Out)] {
        fault::flip(&lab, node, way, 20).unwrap();
        assert_eq!(transfer(&lab), format!("{} bytes, 1 differ", super::parts::BYTES));
    }
    assert_eq!(transfer(&lab), format!("{} bytes, 0 differ", super::parts::BYTES));
    fault::flip(&lab, "n2", LinkDirection::In, 20).unwrap();
    fault::clear_flips(&lab).unwrap();
    assert_eq!(transfer(&lab), format!("{} bytes, 0 differ", super::parts::BYTES));
}

fn cuts_silently(state: &StateDir) {
    let lab = Lab::up(state, Spec::switch("lab", 2, None)).unwrap();
    let carrier = || {
        let ip = lab.command("n2", "/sbin/ip").unwrap().args(["-br", "link"]).output();
        text(&ip.unwrap()).contains("LOWER_UP>")
    };
    // On a busy machine it may take long to reach a node that can be reached; others are never
    // reached.
    let reached_within = |seconds: &str| {
        let mut receiver = listen(&lab, "n2");
        let address = lab.address("n2").unwrap().to_string();
        let send = lab_send(&lab, &address, seconds).output().unwrap();
        receiver.kill().unwrap();
        receiver.wait().unwrap();
        // In a lab without root the program ends a moment after its guard, and the next one listens
        // at the same port.
        receiver.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap();
        send.status.success()
    };
    assert!(reached_within("60"));
    fault::cut(&lab, "n2").unwrap();
    assert!(carrier());
    assert!(!reached_within("1"));
    fault::restore(&lab, "n2").unwrap();
    assert!(reached_within("60"));
}

/// Sends from n1 to n2, with a timeout in seconds.
fn lab_send(lab: &Lab, address: &str, seconds: &str) -> Command {
    let mut command = lab.command("n1", "timeout").unwrap();
    command.arg(seconds).arg(super::own_path()).args(["part", "send", address]);
    command
}

fn transfer(lab: &Lab) -> String {
    let mut receiver = listen(lab, "n2");
    let address = lab.address("n2").unwrap().to_string();
    let mut sender = lab.command("n1", super::own_path()).unwrap();
    assert!(sender.args(["part", "send", &address]).status().unwrap().success());
    let line = first_line(&mut receiver);
    receiver.wait().unwrap();
    line.trim().to_owned()
}

/// Starts a receiver on a node and waits until it listens.
fn listen(lab: &Lab, node: &str) -> Child {
    let mut receiver = lab.command(node, super::own_path()).unwrap();
    let mut receiver = receiver.args(["part", "receive"]).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(first_line(&mut receiver).trim(), "listening");
    receiver
}

/// Reads one line byte by byte, so that the next call reads the next line.
pub fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    let output = child.stdout.as_mut().unwrap();
    BufReader::with_capacity(1, output).read_line(&mut line).unwrap();
    line
}

/// Returns the number of processes in the PID namespace of this run.
pub fn processes() -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| Identity::from_pid(*pid).is_ok_and(|process| process.is_alive())).count()
}

/// Returns the number of namespace mounts that any process of this run can see.
pub fn networks_on_record() -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let tables =
        entries.filter_map(|entry| fs::read_to_string(entry.path().join("mountinfo")).ok());
    tables.map(|table| table.matches(" nsfs ").count()).sum()
}

/// Waits for a condition that becomes true unless something hangs, however busy this machine is.
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    let patience = now_ns() + 60_000_000_000;
    while !holds() {
        assert!(now_ns() < patience, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
