//! Copies that find no room on some agents wait for it, together with others that do.

use garland_testkit::{Running, Scratch, until};

use crate::lab_faults::stage::{Stage, names, verdict};

/// Starts a copy to the nodes of `list`, under `/NAME`.
fn start(stage: &Stage<'_>, name: &str, list: &str) -> Running {
    stage.garland.start(&["cp", "--json", "source.bin", &format!("{list}:/{name}")])
}

/// Two copies that have all the room there is until their heads, which are stopped, may go on.
struct Holders([Running; 2]);

impl Holders {
    #[track_caller]
    fn take_all(stage: &Stage<'_>, list: &str, nodes: impl Fn() -> Vec<String>) -> Self {
        let heads = ["x", "y"].map(|name| {
            let before: Vec<usize> =
                nodes().iter().map(|node| names(&stage.root(node)).len()).collect();
            let head = start(stage, name, list);
            until(&format!("/{name} everywhere"), || {
                let now = nodes().into_iter().map(|node| names(&stage.root(&node)).len());
                now.zip(&before).all(|(now, before)| now > *before)
            });
            head.process().stop();
            head
        });
        Self(heads)
    }

    #[track_caller]
    fn end(self) {
        self.0.iter().for_each(|head| head.process().go_on());
        for head in self.0 {
            let _ = head.end().with_code(0);
        }
    }
}

/// Waits until a copy has said that it waits.
fn await_waiting(copy: &Running) {
    copy.await_err("busy with other copies");
}

fn assert_files(stage: &Stage<'_>, wanted: &[&str]) {
    let source = std::fs::read(&stage.source).expect("the file exists");
    for node in stage.nodes() {
        assert_eq!(names(&stage.root(&node)), wanted, "{node}");
        for name in wanted {
            let got = std::fs::read(stage.root(&node).join(name)).expect("the file exists");
            assert!(got == source, "{node}:/{name}");
        }
    }
}

#[test]
fn a_third_large_copy_says_whom_it_waits_for_and_comes_next() {
    let scratch = Scratch::new("queue");
    let stage = Stage::for_copies(&scratch, 3);
    // All that hold anything hold it on the last two nodes only.
    let last = format!("lab:n[{}-{}]", stage.scale.nodes - 1, stage.scale.nodes);
    let few = || stage.nodes().skip(stage.scale.nodes as usize - 2).collect::<Vec<_>>();
    let holders = Holders::take_all(&stage, &last, few);
    let waiter = stage.garland.start(&["cp", "source.bin", &format!("{}:/z", stage.list())]);
    await_waiting(&waiter);
    for node in stage.nodes() {
        assert!(!names(&stage.root(&node)).contains(&"z".to_owned()));
    }
    holders.end();
    let said = waiter.end().with_code(0);
    let line = format!("waiting: {last} are busy with other copies\n");
    assert!(said.err.contains(&line), "{}", said.err);
    assert!(said.out.contains(" · waiting "), "{}", said.out);
    for node in stage.nodes() {
        assert!(names(&stage.root(&node)).contains(&"z".to_owned()), "{node}");
    }
    stage.end();
}

#[test]
fn many_copies_in_all_orders_wait_for_each_other_and_all_succeed() {
    let scratch = Scratch::new("queue-many");
    let stage = Stage::for_copies(&scratch, 7);
    let count = stage.scale.nodes;
    let orders = (0..7).map(|copy: u32| {
        let turned = (0..count).map(|at| (at + copy) % count + 1);
        let numbers: Vec<u32> = if copy.is_multiple_of(2) {
            turned.collect()
        } else {
            turned.collect::<Vec<_>>().into_iter().rev().collect()
        };
        numbers.iter().map(|n| format!("lab:n{n}")).collect::<Vec<_>>().join(",")
    });
    let files = ["a", "b", "c", "d", "e", "f", "g"];
    let copies: Vec<Running> =
        orders.zip(files).map(|(list, name)| start(&stage, name, &list)).collect();
    for copy in copies {
        stage.assert_memory(&copy.end().with_code(0).json());
    }
    assert_files(&stage, &files);
    stage.end();
}

/// A slow disk leaves all buffers of a copy full. What an ended copy leaves to the allocator stays
/// there beside the buffers of the next two.
#[test]
fn agents_keep_to_their_memory_while_slow_disks_fill_all_buffers() {
    let scratch = Scratch::new("queue-slow");
    let stage = Stage::of_slow_disks(&scratch, 7, "12MB/s");
    let files = ["a", "b", "c", "d", "e", "f", "g"];
    let copies: Vec<Running> =
        files.iter().map(|name| start(&stage, name, &stage.list())).collect();
    for copy in copies {
        stage.assert_memory(&copy.end().with_code(0).json());
    }
    assert_files(&stage, &files);
    stage.end();
}

#[test]
fn waiting_heads_that_are_killed_or_interrupted_free_their_places() {
    let scratch = Scratch::new("queue-killed");
    let stage = Stage::for_copies(&scratch, 3);
    let holders = Holders::take_all(&stage, &stage.list(), || stage.nodes().collect());
    let killed = start(&stage, "killed", &stage.list());
    let interrupted = start(&stage, "interrupted", &stage.list());
    await_waiting(&killed);
    await_waiting(&interrupted);
    let last = start(&stage, "z", &stage.list());
    await_waiting(&last);
    killed.process().kill();
    interrupted.process().interrupt();
    let result = interrupted.end().with_code(130).json();
    for node in stage.nodes() {
        assert_eq!(verdict(&result, &node), ("failed", "interrupted"));
    }
    let _ = killed.end();
    holders.end();
    let _ = last.end().with_code(0);
    assert_files(&stage, &["x", "y", "z"]);
    stage.end();
}

#[test]
fn heads_that_are_killed_at_work_make_room_at_once() {
    let scratch = Scratch::new("queue-heads");
    let stage = Stage::for_copies(&scratch, 1);
    let holders = Holders::take_all(&stage, &stage.list(), || stage.nodes().collect());
    let waiter = stage.start(&[]);
    await_waiting(&waiter);
    holders.0.iter().for_each(|head| head.process().kill());
    let _ = waiter.end().with_code(0);
    stage.assert_whole(stage.nodes());
    stage.end();
}

#[test]
fn an_agent_that_dies_while_it_is_waited_for_is_dead_and_the_others_get_the_file() {
    let scratch = Scratch::new("queue-death");
    let stage = Stage::for_copies(&scratch, 3);
    let holders = Holders::take_all(&stage, &stage.list(), || stage.nodes().collect());
    let waiter = stage.start(&[]);
    await_waiting(&waiter);
    let [victim, silent] = ["n2", "n3"];
    stage.agent(victim).iter().for_each(|agent| agent.kill());
    stage.agent(silent).iter().for_each(|agent| agent.stop());
    holders.0.iter().for_each(|head| head.process().kill());
    let result = waiter.end().with_code(1).json();
    stage.agent(silent).iter().for_each(|agent| agent.go_on());
    for node in stage.nodes() {
        let wanted = if [victim, silent].contains(&node.as_str()) { "dead" } else { "ok" };
        assert_eq!(verdict(&result, &node).0, wanted, "{node}");
    }
    stage.end();
}
