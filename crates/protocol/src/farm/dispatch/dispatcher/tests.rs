use garland_core::farm::{Command, Journal, Text};
use proptest::prelude::*;

use super::*;
use crate::farm::placement::{Pull, Turns};

fn jobs(count: u32) -> Vec<Job> {
    let job = |number| Job::new(number, Text::from("x"), Command::Line("x".into()));
    (1..=count).map(job).collect()
}

fn node(name: &str, cores: u32) -> Candidate {
    Candidate {
        name: name.to_owned(),
        is_alive: true,
        cores,
        speed: 1.0,
        busy: 0,
        waiting: 0,
        load: None,
        memory: Some(1 << 30),
        memory_free: None,
    }
}

fn rules() -> Rules {
    Rules { tries: Tries::of_all(3), at_once: false, staged: false, engine: Engine::Agents }
}

fn done(started: f64, ended: f64, outcome: Outcome) -> Try {
    Try { started: Some(started), ended: Some(ended), ..Try::failed(outcome) }
}

/// The jobs that were sent, as (node, job).
fn given(steps: &[Step]) -> Vec<(usize, usize)> {
    let give = |step: &Step| match step {
        Step::Give { node, job } => Some((*node, *job)),
        _ => None,
    };
    steps.iter().filter_map(give).collect()
}

fn over(steps: Vec<Step>) -> Vec<Record> {
    let over = |step| if let Step::Over(record) = step { Some(*record) } else { None };
    steps.into_iter().filter_map(over).collect()
}

#[test]
fn no_node_gets_a_job_in_advance_while_another_is_idle() {
    let rules = Rules { staged: true, ..rules() };
    let nodes = vec![node("a", 1), node("b", 1)];
    let mut farm = Dispatcher::new(jobs(4), nodes, Box::new(Pull), rules);
    assert_eq!(given(&farm.steps(0.0)), [(0, 0), (0, 2), (1, 1), (1, 3)]);
}

#[test]
fn long_jobs_are_pulled_one_by_one() {
    let mut farm =
        Dispatcher::new(jobs(5), vec![node("a", 1), node("b", 2)], Box::new(Pull), rules());
    assert_eq!(given(&farm.steps(0.0)), [(0, 0), (1, 1), (1, 2)]);
    farm.tried(1, 2, done(0.0, 10.0, Outcome::Exit(0)), 10.0);
    let steps = farm.steps(10.0);
    assert_eq!(given(&steps), [(1, 3)]);
    let records = over(steps);
    assert_eq!((records[0].job, records[0].node.as_deref(), records[0].tries), (3, Some("b"), 1));
    assert_eq!(farm.open(), 4);
}

/// Ends all jobs that node `at` has, and gives it the next ones. Returns how many it has then.
fn end_all(farm: &mut Dispatcher, at: usize, now: f64) -> usize {
    for job in farm.nodes[at].given_jobs() {
        farm.tried(at, job, done(now - 1e5, now, Outcome::Exit(0)), now);
    }
    let _ = farm.steps(now);
    farm.nodes[at].given_jobs().len()
}

#[test]
fn a_node_that_claims_too_much_gets_no_more_than_its_portion_until_it_has_done_something() {
    let mut nodes: Vec<Candidate> = (0..10).map(|_| node("honest", 8)).collect();
    nodes.push(node("liar", 8192));
    let mut farm = Dispatcher::new(jobs(20_000), nodes, Box::new(Pull), rules());
    let _ = farm.steps(0.0);
    let has = |farm: &Dispatcher, at: usize| farm.nodes[at].given_jobs().len();
    assert_eq!(has(&farm, 10), 512);
    assert!((0..10).all(|at| has(&farm, at) == 8), "others get theirs");
    // As the others end theirs, it still gets nothing.
    assert_eq!(end_all(&mut farm, 0, 1e5), 8);
    assert_eq!(has(&farm, 10), 512);
    // One that does its jobs soon has as many as it says that it can run.
    let grown: Vec<usize> =
        (2..5).map(|round| end_all(&mut farm, 10, 1e5 * f64::from(round))).collect();
    assert_eq!(grown, [1536, 4608, 8192]);
}

#[test]
fn nodes_of_usual_sizes_get_all_that_they_can_run_at_once() {
    let sizes: [&[u32]; 6] =
        [&[512], &[512, 512], &[512, 1, 1], &[128, 128, 4, 4], &[4, 256], &[8, 16, 64, 8]];
    for cores in sizes {
        let nodes: Vec<Candidate> = cores.iter().map(|cores| node("a", *cores)).collect();
        let mut farm = Dispatcher::new(jobs(2000), nodes, Box::new(Pull), rules());
        let _ = farm.steps(0.0);
        let has: Vec<usize> = farm.nodes.iter().map(|node| node.given_jobs().len()).collect();
        let wanted: Vec<usize> = cores.iter().map(|cores| *cores as usize).collect();
        assert_eq!(has, wanted);
    }
}

#[test]
fn few_nodes_that_claim_too_much_together_do_not_take_each_others_word() {
    let mut nodes: Vec<Candidate> = (0..7).map(|_| node("honest", 64)).collect();
    nodes.extend((0..3).map(|_| node("liar", 8192)));
    let mut farm = Dispatcher::new(jobs(20_000), nodes, Box::new(Pull), rules());
    let _ = farm.steps(0.0);
    // Seven times 64, and of the two others 16 times 64 each.
    assert!((7..10).all(|at| farm.nodes[at].given_jobs().len() == 7 * 64 + 2 * 1024));
}

#[test]
fn a_job_larger_than_a_portion_is_run_where_it_fits() {
    let large = jobs(2).into_iter().map(|job| Job { cores: 1000, ..job }).collect();
    let nodes = vec![node("a", 4), node("b", 1024), node("c", 4)];
    let mut farm = Dispatcher::new(large, nodes, Box::new(Pull), rules());
    assert_eq!(given(&farm.steps(0.0)), [(1, 0)]);
    farm.tried(1, 0, done(0.0, 10.0, Outcome::Exit(0)), 10.0);
    assert_eq!(given(&farm.steps(10.0)), [(1, 1)]);
}

#[test]
fn short_jobs_are_handed_ahead_and_asked_back() {
    let nodes = vec![node("a", 1), node("b", 1)];
    let mut farm = Dispatcher::new(jobs(100), nodes, Box::new(Pull), rules());
    assert_eq!(given(&farm.steps(0.0)).len(), 2);
    farm.tried(0, 0, done(0.0, 0.001, Outcome::Exit(0)), 0.001);
    let ahead = given(&farm.steps(0.001));
    assert!(ahead.len() > 10 && ahead.len() < 50, "{ahead:?}");
    assert!(ahead.iter().all(|&(node, _)| node == 0), "{ahead:?}");
    // The other node ends its long job and takes the rest of the queue; then the first is stuck.
    farm.tried(1, 1, done(0.0, 0.001, Outcome::Exit(0)), 0.002);
    let mut now = 0.002;
    while !farm.queue.is_empty() || !farm.nodes[1].is_idle() {
        let last = farm.nodes[1].given_jobs();
        last.into_iter().for_each(|job| {
            farm.tried(1, job, done(now, now + 0.001, Outcome::Exit(0)), now);
        });
        farm.steps(now);
        now += 0.01;
    }
    farm.steps(now);
    let steps = farm.steps(now + 1.0);
    let Some(Step::Recall { node: 0, jobs }) = steps.first() else { panic!("{steps:?}") };
    farm.returned(0, jobs);
    assert!(given(&farm.steps(now + 1.0)).iter().any(|&(node, _)| node == 1));
}

#[test]
fn a_failed_job_is_tried_on_other_nodes_and_then_reported() {
    let nodes = vec![node("a", 2), node("b", 1)];
    let mut farm = Dispatcher::new(jobs(1), nodes, Box::new(Pull), rules());
    for wanted in [0, 1, 0] {
        let steps = farm.steps(0.0);
        assert_eq!(given(&steps), [(wanted, 0)]);
        farm.tried(wanted, 0, done(0.0, 1.0, Outcome::Exit(3)), 1.0);
    }
    let records = over(farm.steps(1.0));
    assert_eq!((records[0].tries, &records[0].outcome), (3, &Outcome::Exit(3)));
    assert_eq!(farm.open(), 0);
}

#[test]
fn a_dead_nodes_jobs_go_to_the_others() {
    let nodes = vec![node("a", 1), node("b", 1)];
    let mut farm = Dispatcher::new(jobs(4), nodes, Box::new(Turns::default()), rules());
    assert_eq!(given(&farm.steps(0.0)), [(0, 0), (1, 1)]);
    farm.lost(0, 1.0);
    assert_eq!(farm.tries(0), 1);
    assert_eq!(farm.tries(2), 0, "it cannot have begun");
    farm.tried(1, 1, done(0.0, 1.0, Outcome::Exit(0)), 1.0);
    farm.lost(1, 2.0);
    let records = over(farm.steps(2.0));
    assert_eq!(farm.open(), 0);
    let lost = records.iter().filter(|record| record.outcome == Outcome::NodeLost).count();
    assert_eq!((records.len(), lost), (4, 1), "{records:?}");
}

/// A job whose command has ended still belongs to its node while its results are fetched.
#[test]
fn a_job_whose_results_are_being_fetched_is_tried_again_when_its_node_is_lost() {
    let rules = Rules { staged: true, ..rules() };
    let nodes = vec![node("a", 1), node("b", 1)];
    let mut farm = Dispatcher::new(jobs(1), nodes, Box::new(Pull), rules);
    assert_eq!(given(&farm.steps(0.0)), [(0, 0)]);
    farm.freed(0, 0, 1.0);
    farm.lost(0, 2.0);
    assert_eq!(given(&farm.steps(2.0)), [(1, 0)]);
    farm.freed(1, 0, 1.0);
    farm.tried(1, 0, done(2.0, 3.0, Outcome::Exit(0)), 3.0);
    let records = over(farm.steps(3.0));
    assert_eq!((records.len(), farm.open()), (1, 0));
    assert_eq!((records[0].node.as_deref(), records[0].tries), (Some("b"), 2));
    // The node that ran the job has nothing of it left.
    farm.lost(1, 4.0);
    assert_eq!(over(farm.steps(4.0)), []);
}

#[test]
fn a_job_too_large_for_all_nodes_fails() {
    let mut list = jobs(2);
    list[0].memory = Some(1 << 40);
    let mut farm = Dispatcher::new(list, vec![node("a", 1)], Box::new(Pull), rules());
    let steps = farm.steps(0.0);
    assert_eq!(given(&steps), [(0, 1)]);
    let records = over(steps);
    assert!(
        matches!(&records[0].outcome, Outcome::Failed(why) if why.contains("no node is large"))
    );
}

/// Jobs that request these amounts of memory, in GiB.
fn large(gib: &[u64]) -> Vec<Job> {
    let mut list = jobs(gib.len() as u32);
    for (job, gib) in list.iter_mut().zip(gib) {
        job.memory = Some(gib << 30);
    }
    list
}

/// A node with 8 GiB of memory, of which `free` GiB are free.
fn roomy(name: &str, free: u64) -> Candidate {
    Candidate { memory: Some(8 << 30), memory_free: Some(free << 30), ..node(name, 4) }
}

#[test]
fn memory_that_running_jobs_asked_for_is_not_given_twice() {
    for at_once in [false, true] {
        for turns in [false, true] {
            let placement: Box<dyn Placement> =
                if turns { Box::new(Turns::default()) } else { Box::new(Pull) };
            let rules = Rules { at_once, ..rules() };
            let nodes = vec![roomy("a", 6), roomy("b", 4)];
            let mut farm = Dispatcher::new(large(&[3, 3, 3, 3]), nodes, placement, rules);
            let first = given(&farm.steps(0.0));
            let at = |node: usize| first.iter().filter(|(at, _)| *at == node).count();
            assert_eq!((at(0), at(1)), (2, 1), "{first:?}");
            let &(node, job) = first.iter().find(|(at, _)| *at == 1).unwrap();
            farm.tried(node, job, done(0.0, 5.0, Outcome::Exit(0)), 5.0);
            assert_eq!(given(&farm.steps(5.0)), [(1, 3)]);
        }
    }
}

#[test]
fn a_job_that_wants_more_than_is_free_waits_for_a_node_of_its_own() {
    let nodes = vec![roomy("a", 2), roomy("b", 2)];
    let list = large(&[1, 1, 7, 1]);
    let mut farm = Dispatcher::new(list, nodes, Box::new(Pull), rules());
    let first = given(&farm.steps(0.0));
    assert!(first.iter().all(|(_, job)| *job != 2), "{first:?}");
    let mut now = 0.0;
    for (node, job) in first {
        now += 1.0;
        farm.tried(node, job, done(now - 1.0, now, Outcome::Exit(0)), now);
    }
    assert_eq!(given(&farm.steps(now)).len(), 1, "the node has nothing else to run");
}

#[test]
fn a_job_waits_for_the_node_with_enough_free_memory_though_others_are_idle() {
    let nodes = vec![roomy("a", 2), roomy("b", 6)];
    let mut farm = Dispatcher::new(large(&[5, 5]), nodes, Box::new(Pull), rules());
    assert_eq!(given(&farm.steps(0.0)), [(1, 0)]);
    farm.lost(1, 1.0);
    // The only remaining node has enough memory, but not enough of it is free.
    assert_eq!(given(&farm.steps(1.0)).len(), 1);
}

#[test]
fn at_once_jobs_start_without_waiting_for_processors() {
    let rules = Rules { at_once: true, ..rules() };
    let nodes = vec![node("a", 1), node("b", 1)];
    let mut farm = Dispatcher::new(jobs(24), nodes, Box::new(Pull), rules);
    let steps = given(&farm.steps(0.0));
    assert_eq!(steps.len(), 24);
    assert_eq!(steps.iter().filter(|(node, _)| *node == 0).count(), 12);
}

proptest! {
    /// Whatever fails, dies or is returned: every job ends once, and none exceeds its tries.
    #[test]
    fn each_job_ends_once(
        events in proptest::collection::vec((0..7_u8, 0..3_usize, 0..8_usize), 0..300),
        count in 1..60_u32,
        turns: bool,
        staged: bool,
    ) {
        let nodes = vec![node("a", 1), node("b", 2), node("c", 4)];
        let placement: Box<dyn Placement> =
            if turns { Box::new(Turns::default()) } else { Box::new(Pull) };
        let rules = Rules { staged, ..rules() };
        let mut farm = Dispatcher::new(jobs(count), nodes, placement, rules);
        let mut journal = Journal::default();
        let mut ended = 0;
        let mut now = 0.0;
        let mut held: Vec<(usize, usize)> = Vec::new();
        let turn = |farm: &mut Dispatcher, held: &mut Vec<(usize, usize)>, now: f64| {
            let mut records = Vec::new();
            for step in farm.steps(now) {
                match step {
                    Step::Give { node, job } => held.push((node, job)),
                    Step::Recall { node, jobs } => {
                        let back: Vec<usize> = jobs.into_iter().skip(1).collect();
                        held.retain(|&(at, job)| at != node || !back.contains(&job));
                        farm.returned(node, &back);
                    }
                    Step::Over(record) => records.push(*record),
                }
            }
            records
        };
        for (kind, node, pick) in events.into_iter().chain(std::iter::repeat_n((0, 0, 0), 500)) {
            now += 0.07;
            for record in turn(&mut farm, &mut held, now) {
                ended += 1;
                prop_assert!(record.tries <= 3);
                journal.note(record);
            }
            if kind == 5 && node > 0 {
                held.retain(|&(at, _)| at != node);
                farm.lost(node, now);
            } else if kind == 6 && !held.is_empty() {
                let (node, job) = held[pick % held.len()];
                farm.freed(node, job, 0.01);
            } else if !held.is_empty() {
                let (node, job) = held.remove(pick % held.len());
                let outcome = if kind == 4 { Outcome::Exit(1) } else { Outcome::Exit(0) };
                farm.tried(node, job, done(now - 0.01, now, outcome), now);
            }
        }
        ended += turn(&mut farm, &mut held, now).len();
        prop_assert_eq!(farm.open(), 0);
        prop_assert_eq!(ended, count as usize);
    }
}
