//! Nodes that are killed, that hang, and whose wires are cut without a word.

use garland_lab::fault;
use garland_testkit::Scratch;

use crate::lab_faults::scale::chosen;
use crate::lab_faults::stage::{Stage, seconds, verdict};

/// What happens to a node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Blow {
    Kill,
    Stop,
    Cut,
}

/// Which nodes it happens to, by where they stand in the chain.
#[derive(Clone, Copy)]
enum Place {
    First,
    Middle,
    Last,
    /// Three in a row.
    Row,
    /// The first, one in the middle, the last.
    Apart,
}

/// What a death may cost at most on a machine that is busy with other things, in seconds; only a
/// hang costs more. What it costs on a quiet one is printed.
const COST: f64 = 8.0;

impl Place {
    fn nodes(self, count: u32) -> Vec<String> {
        let middle = count / 2;
        let numbers = match self {
            Self::First => vec![1],
            Self::Middle => vec![middle],
            Self::Last => vec![count],
            Self::Row => vec![middle - 1, middle, middle + 1],
            Self::Apart => vec![1, middle, count],
        };
        numbers.into_iter().map(|number| format!("n{number}")).collect()
    }
}

impl Blow {
    fn strike(self, stage: &Stage<'_>, node: &str) {
        match self {
            Self::Kill => assert_eq!(fault::kill(&stage.lab, node).expect("it can be killed"), 1),
            Self::Stop => assert_eq!(fault::stop(&stage.lab, node).expect("it can be stopped"), 1),
            Self::Cut => fault::cut(&stage.lab, node).expect("its wire can be cut"),
        }
    }

    fn undo(self, stage: &Stage<'_>, node: &str) {
        match self {
            Self::Kill => {}
            Self::Stop => drop(fault::resume(&stage.lab, node).expect("it can go on")),
            Self::Cut => fault::restore(&stage.lab, node).expect("its wire can be mended"),
        }
    }
}

/// Copies in which `blow` strikes at each of `places`, at a random moment: the others have the
/// file, the dead are named, and what they leave is gone once they are back.
#[track_caller]
fn survives(test: &str, blow: Blow, places: &[Place]) {
    let scratch = Scratch::new(test);
    let stage = Stage::new(&scratch);
    let peace = stage.copy_in_peace();
    for (turn, place) in places.iter().enumerate() {
        let victims = place.nodes(stage.scale.nodes);
        let moment = chosen(&format!("{test}/{turn}"), stage.scale.stream_ms() * 4 / 5);
        let copy = stage.start(&[]);
        stage.await_moment(moment);
        victims.iter().for_each(|victim| blow.strike(&stage, victim));
        let result = copy.end().with_code(1).json();
        for node in stage.nodes() {
            let (verdict, reason) = verdict(&result, &node);
            if victims.contains(&node) {
                assert_eq!(verdict, "dead", "{node}: {reason}");
                assert!(!reason.contains("os error"), "{node}: {reason}");
            } else {
                assert_eq!((verdict, reason), ("ok", ""), "{node} of {result}");
            }
        }
        let cost = seconds(&result) - peace;
        eprintln!("{test}: {blow:?} of {victims:?} at {moment} ms costs {cost:.2} s of {peace:.2}");
        assert!(cost < COST, "{cost:.2} s more than without a death");
        stage.assert_whole(stage.nodes().filter(|node| !victims.contains(node)));
        recover(&stage, blow, &victims);
    }
    stage.copy_in_peace();
    stage.end();
}

/// Brings the dead back.
#[track_caller]
fn recover(stage: &Stage<'_>, blow: Blow, victims: &[String]) {
    victims.iter().for_each(|victim| blow.undo(stage, victim));
    if blow == Blow::Kill {
        // They couldn't remove their partial files; the next copy does.
        let _ = stage.garland.run(&["up", &stage.list()]).with_code(0);
    } else {
        stage.await_empty(victims.iter().cloned());
    }
}

#[test]
fn killed_nodes() {
    use Place::{Apart, First, Last, Middle, Row};
    survives("kill", Blow::Kill, &[Middle, First, Last, Row, Apart]);
}

#[test]
fn hanging_nodes() {
    survives("stop", Blow::Stop, &[Place::Middle, Place::First, Place::Last, Place::Row]);
}

#[test]
fn nodes_with_cut_wires() {
    survives("cut", Blow::Cut, &[Place::Middle, Place::Apart]);
}

#[test]
fn agents_that_nobody_keeps_die_as_quickly() {
    let scratch = Scratch::new("cold");
    let stage = Stage::without_agents(&scratch);
    let peace = stage.copy_in_peace();
    for blow in [Blow::Kill, Blow::Stop] {
        let copy = stage.start(&[]);
        stage.await_moment(chosen("cold", stage.scale.stream_ms() / 2));
        blow.strike(&stage, "n2");
        let result = copy.end().with_code(1).json();
        assert_eq!(verdict(&result, "n2").0, "dead", "{result}");
        let cost = seconds(&result) - peace;
        eprintln!("cold: {blow:?} costs {cost:.2} s of {peace:.2}");
        assert!(cost < COST, "{cost:.2} s more than without a death");
        stage.assert_whole(stage.nodes().filter(|node| node != "n2"));
    }
    stage.copy_in_peace();
    stage.end();
}

/// Silence shorter than `--dead-after` loses nobody; a short one costs little more than itself.
#[test]
fn nodes_that_are_silent_for_less_than_five_seconds_have_the_file() {
    let scratch = Scratch::new("mend");
    let stage = Stage::new(&scratch);
    let peace = stage.copy_in_peace();
    let all: Vec<String> = stage.nodes().collect();
    let one = |node: &str| vec![node.to_owned()];
    let cases = [
        (Blow::Cut, one("n2"), 400),
        (Blow::Stop, one("n3"), 3000),
        (Blow::Cut, one("n2"), 4000),
        (Blow::Stop, one("n6"), 4000),
        (Blow::Cut, all.clone(), 2000),
        (Blow::Stop, all, 3000),
    ];
    for (turn, (blow, victims, ms)) in cases.into_iter().enumerate() {
        let copy = stage.start(&[]);
        stage.await_moment(chosen(&format!("mend/{turn}"), stage.scale.stream_ms() / 2));
        victims.iter().for_each(|victim| blow.strike(&stage, victim));
        std::thread::sleep(std::time::Duration::from_millis(ms));
        victims.iter().for_each(|victim| blow.undo(&stage, victim));
        let result = copy.end().with_code(0).json();
        let cost = seconds(&result) - peace;
        eprintln!("mend: {blow:?} of {victims:?} for {ms} ms costs {cost:.2} s of {peace:.2}");
        assert!(cost < ms as f64 / 1e3 + COST, "{cost:.2} s more than in peace");
        stage.assert_whole(stage.nodes());
    }
    stage.end();
}
