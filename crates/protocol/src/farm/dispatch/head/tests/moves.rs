//! Running jobs that move to other nodes.

use super::*;
use crate::farm::placement::Turns;

const SECOND: u64 = 1_000 * MS;

/// The files of the checkpoint.
const STATE: [&str; 2] = ["s/map", "image"];

fn with_checkpoint(job: Job) -> Job {
    let state = STATE.map(Text::from).to_vec();
    let saved = Checkpoint { command: "save".into(), restore: "restore".into(), state };
    Job { checkpoint: Some(saved), ..job }
}

impl Run {
    /// A job of `kind` is slow on node 0, from which it is ordered to move to node 1: the second
    /// job needed 10 s of a processor, and the first one got a tenth of it. Further nodes are idle,
    /// too.
    fn moving(kind: impl Fn(u32) -> Job, nodes: usize) -> Self {
        Self::moving_with_tries(kind, nodes, 1)
    }

    fn moving_with_tries(kind: impl Fn(u32) -> Job, nodes: usize, tries: u32) -> Self {
        let mut run = Self::slow(kind, nodes, tries);
        run.report(0, &[(1, 300), (1, 400), (1, 500)]);
        assert_eq!(run.turn(), [leave(0, 1)]);
        run
    }

    /// As [`Self::moving`], before the last reports of the CPU time.
    fn slow(kind: impl Fn(u32) -> Job, nodes: usize, tries: u32) -> Self {
        let mut work = work_of((1..=2).map(kind).collect(), nodes);
        (work.migrate, work.rules.tries) = (true, Tries::of_all(tries));
        // One job for each node, also in advance.
        work.placement = Box::new(Turns::default());
        let (mut run, mut orders) = Self::ready_for(work);
        while sent(&orders).is_empty() {
            for order in &orders {
                if let FarmHeadOrder::Transfer(transfer) = order {
                    run.head.moved(transfer, Ok(5), run.now_ns);
                } else if let FarmHeadOrder::Send(node, FarmOrder::Make(job, _)) = order {
                    run.event(*node, FarmEvent::Made(*job, None));
                }
            }
            orders = run.turn();
        }
        assert_eq!(sent(&orders), [(0, 1), (1, 2)]);
        run.report(0, &[(1, 100), (1, 200)]);
        assert_eq!(run.turn(), []);
        run.finish(1, 2, 10 * SECOND);
        if let Some(FarmHeadOrder::Transfer(back)) = run.turn().first() {
            run.head.moved(&back.clone(), Ok(7), run.now_ns);
            run.turn();
        }
        run
    }

    /// The job has used so many milliseconds of CPU time, in reports one second apart.
    fn report(&mut self, node: usize, used: &[(u32, u64)]) {
        for &(job, millis) in used {
            self.now_ns += SECOND;
            let jobs = vec![(job, millis * MS)];
            self.event(node, FarmEvent::Used { at_ns: self.now_ns, jobs });
        }
    }

    /// The end of a job that has used this CPU time, and nothing but its processor.
    fn end(&self, job: u32, cpu_ns: u64, outcome: Outcome) -> TaskEnd {
        TaskEnd {
            job,
            started_ns: self.now_ns - cpu_ns,
            ended_ns: self.now_ns,
            outcome,
            cpu_ns,
            memory: 2,
            bytes_out: 3,
            last_words: Vec::new(),
        }
    }

    fn finish(&mut self, node: usize, job: u32, cpu_ns: u64) {
        self.now_ns += cpu_ns;
        self.event(node, FarmEvent::Results(job, vec![OUTPUT]));
        let end = self.end(job, cpu_ns, Outcome::Exit(0));
        self.event(node, FarmEvent::Ended(vec![end]));
    }

    /// Job 1 leaves node 0, with this number of state files, after 500 ms of CPU time.
    fn leave(&mut self, files: usize) {
        self.event(0, FarmEvent::Results(1, vec![OUTPUT; files]));
        let end = self.end(1, 500 * MS, Outcome::Signal(9));
        self.event(0, FarmEvent::Left(end));
    }
}

fn leave(node: usize, job: u32) -> FarmHeadOrder {
    FarmHeadOrder::Send(node, FarmOrder::Leave(job))
}

/// The commands that are sent to nodes.
fn commands(orders: &[FarmHeadOrder]) -> Vec<(usize, String)> {
    let mut commands = Vec::new();
    for order in orders {
        if let FarmHeadOrder::Send(node, FarmOrder::Run(tasks)) = order {
            for task in tasks {
                let Command::Line(line) = &task.command else { panic!("{task:?}") };
                commands.push((*node, line.to_string()));
            }
        }
    }
    commands
}

/// The moves of the record, as (from, to, kind).
fn moves(record: &Record) -> Vec<(&str, Option<&str>, MoveKind)> {
    record.moves.iter().map(|one| (one.from.as_str(), one.to.as_deref(), one.kind)).collect()
}

#[test]
fn a_slow_job_restarts_on_an_idle_node_and_its_tries_do_not_count() {
    let mut run = Run::moving(plain_job, 2);
    run.leave(0);
    assert_eq!(commands(&run.turn()), [(1, "x".to_owned())]);
    run.finish(1, 1, 10 * SECOND);
    let record = records_of(run.turn()).remove(0);
    assert_eq!((record.tries, record.node.as_deref()), (1, Some("n1")));
    assert_eq!(moves(&record), [("n0", Some("n1"), MoveKind::Restart)]);
    assert_eq!((record.worked(), record.ran()), (Some(10.0), Some(10.0)));
    assert!(run.head.is_over());
}

#[test]
fn a_node_that_lets_no_job_leave_is_lost_with_it() {
    let mut run = Run::moving_with_tries(plain_job, 2, 2);
    let mut orders = Vec::new();
    let mut seconds = 0;
    while sent(&orders).is_empty() {
        seconds += 1;
        assert!(seconds < 200, "it stays there: {:?}", run.head.live);
        run.now_ns += 999 * MS;
        orders = run.turn();
    }
    assert!((90..=92).contains(&seconds), "{seconds}");
    assert_eq!(orders[0], lost(0, "it did not let job 1 leave within 90 s"));
    assert_eq!(sent(&orders), [(1, 1)]);
}

#[test]
fn a_job_with_a_checkpoint_goes_on_where_files_are_shared() {
    let mut run = Run::moving(|number| with_checkpoint(plain_job(number)), 2);
    run.leave(0);
    assert_eq!(commands(&run.turn()), [(1, "restore".to_owned())]);
    run.finish(1, 1, 9 * SECOND);
    let record = records_of(run.turn()).remove(0);
    assert_eq!(moves(&record), [("n0", Some("n1"), MoveKind::Migrated)]);
    assert_eq!((record.worked(), record.ran()), (Some(9.5), Some(9.5)));
}

#[test]
fn the_state_of_a_staged_job_is_copied_with_its_inputs() {
    let mut run = Run::moving(|number| with_checkpoint(staged_job(number)), 2);
    run.leave(2);
    let orders = run.turn();
    let [FarmHeadOrder::Transfer(back)] = &orders[..] else { panic!("{orders:?}") };
    assert_eq!((back.way, back.node, back.names.len()), (Direction::Back, 0, 0));
    assert_eq!((back.state.len(), back.outputs.len()), (2, 2));
    run.head.moved(back, Ok(14), run.now_ns);
    let orders = run.turn();
    let folders = ["a", "b", "s"].map(Text::from).to_vec();
    let make = FarmHeadOrder::Send(1, FarmOrder::Make(1, folders));
    assert_eq!(orders, [FarmHeadOrder::Send(0, FarmOrder::Clear(1)), make]);
    run.event(1, FarmEvent::Made(1, None));
    let orders = run.turn();
    let [FarmHeadOrder::Transfer(there)] = &orders[..] else { panic!("{orders:?}") };
    assert_eq!((there.way, there.node), (Direction::There, 1));
    assert_eq!((&there.names, &there.state), (&vec!["a/in".into()], &back.state));
    run.head.moved(there, Ok(19), run.now_ns);
    assert_eq!(commands(&run.turn()), [(1, "restore".to_owned())]);
}

#[test]
fn a_staged_job_whose_state_is_not_there_restarts() {
    for (files, copied) in [(1, None), (2, Some(files_failed("no room")))] {
        let mut run = Run::moving(|number| with_checkpoint(staged_job(number)), 2);
        run.leave(files);
        let mut orders = run.turn();
        if let Some(copied) = copied {
            let FarmHeadOrder::Transfer(back) = orders.remove(0) else { panic!("{orders:?}") };
            run.head.moved(&back, copied, run.now_ns);
            orders = run.turn();
        }
        let told = |order: &FarmHeadOrder| match order {
            FarmHeadOrder::News(FarmNews::NotMoved(1, 0, what)) => what.starts_with("starts over"),
            _ => false,
        };
        assert!(orders.iter().any(told), "{orders:?}");
        run.event(1, FarmEvent::Made(1, None));
        let orders = run.turn();
        let [FarmHeadOrder::Transfer(there)] = &orders[..] else { panic!("{orders:?}") };
        assert_eq!(there.state, []);
        run.head.moved(there, Ok(5), run.now_ns);
        assert_eq!(commands(&run.turn()), [(1, "x".to_owned())]);
    }
}

#[test]
fn a_job_that_ends_before_it_would_be_killed_has_its_result() {
    let mut run = Run::moving(plain_job, 2);
    run.finish(0, 1, SECOND);
    run.leave(0);
    let orders = run.turn();
    assert_eq!(sent(&orders), []);
    let record = records_of(orders).remove(0);
    assert_eq!((record.outcome, record.node.as_deref()), (Outcome::Exit(0), Some("n0")));
    assert_eq!(record.moves, []);
    // One that fails just then has used up its try.
    let mut run = Run::moving(plain_job, 2);
    run.ended(0, 1, Outcome::Exit(3));
    run.leave(0);
    assert_eq!(records_of(run.turn())[0].outcome, Outcome::Exit(3));
    assert!(run.head.is_over());
}

#[test]
fn a_job_stays_after_a_failed_checkpoint_and_is_not_asked_again() {
    let mut run = Run::moving(|number| with_checkpoint(plain_job(number)), 2);
    run.event(0, FarmEvent::Stays(1, "exit code 1".to_owned()));
    let what = "stays there: exit code 1".to_owned();
    assert_eq!(run.turn(), [FarmHeadOrder::News(FarmNews::NotMoved(1, 0, what))]);
    run.report(0, &[(1, 500), (1, 600), (1, 700)]);
    assert_eq!(run.turn(), []);
    run.leave(0);
    assert_eq!(run.turn(), [], "it was not asked");
    run.finish(0, 1, 10 * SECOND);
    assert_eq!(records_of(run.turn())[0].outcome, Outcome::Exit(0));
}

#[test]
fn a_job_whose_new_node_is_lost_goes_on_elsewhere() {
    // Before the job has left; what it saved remains.
    let mut run = Run::moving(|number| with_checkpoint(plain_job(number)), 3);
    run.lose(1);
    run.leave(0);
    let orders = run.turn();
    assert_eq!(orders[0], lost(1, "dead"));
    assert_eq!(commands(&orders), [(2, "restore".to_owned())]);
    run.finish(2, 1, 9 * SECOND);
    let record = records_of(run.turn()).remove(0);
    assert_eq!(moves(&record), [("n0", Some("n2"), MoveKind::Migrated)]);
    // Afterwards: this is a try as any other.
    let mut run = Run::moving(|number| with_checkpoint(plain_job(number)), 3);
    run.leave(0);
    assert_eq!(commands(&run.turn()), [(1, "restore".to_owned())]);
    run.lose(1);
    let record = records_of(run.turn()).remove(0);
    assert_eq!((record.outcome, record.tries), (Outcome::NodeLost, 1));
}

#[test]
fn a_job_whose_node_is_lost_while_it_leaves_is_tried_elsewhere_from_its_beginning() {
    let mut run = Run::moving(|number| with_checkpoint(staged_job(number)), 2);
    run.leave(2);
    let orders = run.turn();
    let [FarmHeadOrder::Transfer(back)] = &orders[..] else { panic!("{orders:?}") };
    run.lose(0);
    run.head.moved(back, Ok(14), run.now_ns);
    let orders = run.turn();
    assert!(!orders.iter().any(|order| matches!(order, FarmHeadOrder::Send(..))), "{orders:?}");
    let record = records_of(orders).remove(0);
    assert_eq!((record.outcome, record.moves), (Outcome::NodeLost, Vec::new()));
}

#[test]
fn a_restored_job_that_fails_is_tried_again_from_its_beginning() {
    let kind = |number| with_checkpoint(plain_job(number));
    let mut run = Run::moving_with_tries(kind, 2, 2);
    run.leave(0);
    assert_eq!(commands(&run.turn()), [(1, "restore".to_owned())]);
    run.ended(1, 1, Outcome::Exit(1));
    assert_eq!(commands(&run.turn()), [(0, "x".to_owned())], "the move was no try");
    run.finish(0, 1, 10 * SECOND);
    let record = records_of(run.turn()).remove(0);
    assert_eq!((record.tries, record.moves[0].tries, record.worked()), (2, 1, Some(10.0)));
    assert_eq!(record.moves[0].to.as_deref(), Some("n1"));
}

#[test]
fn a_job_moves_twice_at_most_and_what_is_returned_is_still_saved() {
    let mut run = Run::moving(|number| with_checkpoint(plain_job(number)), 2);
    run.leave(0);
    assert_eq!(commands(&run.turn()), [(1, "restore".to_owned())]);
    run.recall(1);
    run.event(1, FarmEvent::Returned(vec![1]));
    let orders = run.turn();
    let [(node, command)] = &commands(&orders)[..] else { panic!("{orders:?}") };
    assert_eq!(command, "restore");
    let there = *node;
    let other = 1 - *node;
    run.report(there, &[(1, 0), (1, 100), (1, 200)]);
    assert_eq!(run.turn(), [leave(there, 1)]);
    let end = run.end(1, 200 * MS, Outcome::Signal(9));
    run.event(there, FarmEvent::Left(end));
    assert_eq!(commands(&run.turn()), [(other, "restore".to_owned())]);
    run.report(other, &[(1, 0), (1, 100), (1, 200)]);
    assert_eq!(run.turn(), []);
    run.finish(other, 1, 9 * SECOND);
    let record = records_of(run.turn()).remove(0);
    assert_eq!((record.moves.len(), record.tries, record.worked()), (2, 1, Some(9.7)));
}

#[test]
fn a_job_that_is_nearly_done_or_runs_fast_stays() {
    // 9 s of 10 s are done, and the rest takes 2 s at half a processor: less than 1.5 s and 1 s.
    let mut run = Run::slow(|number| with_checkpoint(plain_job(number)), 2, 1);
    run.report(0, &[(1, 8_000), (1, 8_500), (1, 9_000)]);
    let mut late = Run::slow(plain_job, 2, 1);
    late.report(0, &[(1, 2_000), (1, 3_000), (1, 4_000)]);
    for run in [&mut run, &mut late] {
        let of =
            |order: &FarmHeadOrder| matches!(order, FarmHeadOrder::Send(_, FarmOrder::Leave(_)));
        assert!(!run.turn().iter().any(of));
    }
}

#[test]
fn nothing_moves_unless_it_is_asked_for() {
    let (mut run, orders) = Run::ready(vec![plain_job(1), plain_job(2)], 2);
    assert_eq!(sent(&orders).len(), 2);
    run.finish(1, 2, 10 * SECOND);
    run.turn();
    run.report(0, &[(1, 0), (1, 100), (1, 200)]);
    assert_eq!(run.turn(), []);
}

#[test]
fn nothing_moves_before_a_job_is_done() {
    let mut work = work_of(vec![plain_job(1)], 2);
    work.migrate = true;
    let (mut run, _) = Run::ready_for(work);
    run.report(0, &[(1, 0), (1, 100), (1, 200)]);
    assert_eq!(run.turn(), []);
}
