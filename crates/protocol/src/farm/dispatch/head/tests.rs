use garland_core::farm::{Checkpoint, Command, Engine, Outcome};

use super::super::tries::Tries;
use super::*;
use crate::farm::jobs::OutputFile;
use crate::farm::placement::Pull;

mod moves;

const MS: u64 = 1_000_000;

/// The beginning of each run in monotonic nanoseconds.
const BEGAN: u64 = 1_000 * MS;

/// The resources of each node.
const FACTS: NodeFacts =
    NodeFacts { cores: 1, memory: 1 << 30, memory_free: 0, share: 1000, mhz: None };

const OUTPUT: OutputFile = OutputFile { length: 7, modified: (0, 0), mode: 0o644 };

/// A job with an input and an output.
fn staged_job(number: u32) -> Job {
    let job = Job::new(number, Text::from("x"), Command::Line("x".into()));
    Job { inputs: vec!["a/in".into()], outputs: vec!["b/out".into()], ..job }
}

fn plain_job(number: u32) -> Job {
    Job::new(number, Text::from("x"), Command::Line("x".into()))
}

/// The task of a job; its command is `restore` if it goes on from its checkpoint.
fn task(job: &Job, _: u32, restored: bool) -> Task {
    let saved = job.checkpoint.as_ref();
    let restore = saved.filter(|_| restored).map(|saved| Command::Line(saved.restore.clone()));
    let state = saved.filter(|_| !job.inputs.is_empty()).map(|saved| saved.state.clone());
    Task {
        job: job.number,
        command: restore.unwrap_or_else(|| job.command.clone()),
        own_folder: !job.inputs.is_empty(),
        outputs: Vec::new(),
        cores: job.cores,
        timeout_ns: job.timeout.map(|timeout| timeout.0),
        checkpoint: saved.map(|saved| saved.command.clone()),
        state: state.unwrap_or_default(),
    }
}

fn work_of(jobs: Vec<Job>, nodes: usize) -> FarmWork<'static> {
    let staged = jobs.iter().any(|job| !job.inputs.is_empty());
    FarmWork {
        jobs,
        names: (0..nodes).map(|node| format!("n{node}")).collect(),
        rules: Rules { tries: Tries::of_all(2), at_once: false, staged, engine: Engine::Agents },
        placement: Box::new(Pull),
        slots: None,
        folder: "own".into(),
        task: &task,
        migrate: false,
        streamed: false,
        openings: vec![None; nodes],
        began_ns: BEGAN,
    }
}

/// A run in which each turn takes a millisecond.
struct Run {
    head: FarmHead<'static>,
    now_ns: u64,
}

impl Run {
    fn new(work: FarmWork<'static>) -> Self {
        let gone = vec![None; work.names.len()];
        Self { head: FarmHead::new(work, gone, BEGAN), now_ns: BEGAN }
    }

    /// A run whose nodes are ready; returns it with the orders of the first turn with jobs.
    fn ready(jobs: Vec<Job>, nodes: usize) -> (Self, Vec<FarmHeadOrder>) {
        Self::ready_for(work_of(jobs, nodes))
    }

    fn ready_for(work: FarmWork<'static>) -> (Self, Vec<FarmHeadOrder>) {
        let nodes = work.names.len();
        let mut run = Self::new(work);
        run.turn();
        (0..nodes).for_each(|node| run.event(node, FarmEvent::Opened(FACTS)));
        let orders = run.turn();
        (run, orders)
    }

    /// Returns the orders of the next turn, without its end.
    fn turn(&mut self) -> Vec<FarmHeadOrder> {
        self.now_ns += MS;
        let mut orders = self.head.turn(self.now_ns);
        orders.retain(|order| !matches!(order, FarmHeadOrder::News(FarmNews::Turn(_))));
        orders
    }

    fn event(&mut self, node: usize, event: FarmEvent) {
        self.head.heard(node, FromAgent::Farm(Box::new(event)), self.now_ns);
    }

    /// Notes that the node of this job was asked to return it.
    fn recall(&mut self, job: u32) {
        let at = self.head.places[&job];
        self.head.live.get_mut(&at).expect("the job has a node").is_recalled = true;
    }

    fn lose(&mut self, node: usize) {
        self.head.lost(node, "dead".to_owned(), self.now_ns);
    }

    fn ended(&mut self, node: usize, job: u32, outcome: Outcome) {
        let end = TaskEnd {
            job,
            started_ns: self.now_ns - MS,
            ended_ns: self.now_ns,
            outcome,
            cpu_ns: 1,
            memory: 2,
            bytes_out: 3,
            last_words: Vec::new(),
        };
        self.event(node, FarmEvent::Ended(vec![end]));
    }

    /// Does what orders demand, as the nodes and the stager.
    fn obey(&mut self, orders: &[FarmHeadOrder]) {
        for order in orders {
            match order {
                FarmHeadOrder::Send(node, FarmOrder::Make(job, _)) => {
                    self.event(*node, FarmEvent::Made(*job, None));
                }
                FarmHeadOrder::Send(node, FarmOrder::Run(tasks)) => {
                    for task in tasks {
                        self.event(*node, FarmEvent::Results(task.job, vec![OUTPUT]));
                        self.ended(*node, task.job, Outcome::Exit(0));
                    }
                }
                FarmHeadOrder::Send(_, FarmOrder::Clear(_)) => {}
                FarmHeadOrder::Transfer(transfer) => {
                    self.head.moved(transfer, Ok(5), self.now_ns);
                }
                order => panic!("{order:?}"),
            }
        }
    }
}

fn lost(node: usize, reason: &str) -> FarmHeadOrder {
    FarmHeadOrder::News(FarmNews::Lost(node, reason.to_owned()))
}

fn files_failed(why: &str) -> Result<u64, TransferFailure> {
    Err(TransferFailure::Files(why.to_owned()))
}

/// The jobs that are sent to nodes to be run, as (node, number).
fn sent(orders: &[FarmHeadOrder]) -> Vec<(usize, u32)> {
    let mut sent = Vec::new();
    for order in orders {
        if let FarmHeadOrder::Send(node, FarmOrder::Run(tasks)) = order {
            sent.extend(tasks.iter().map(|task| (*node, task.job)));
        }
    }
    sent
}

fn records_of(orders: Vec<FarmHeadOrder>) -> Vec<Record> {
    let record = |order| match order {
        FarmHeadOrder::News(FarmNews::Over(record)) => Some(*record),
        _ => None,
    };
    orders.into_iter().filter_map(record).collect()
}

#[test]
fn jobs_wait_until_each_node_is_ready_or_gone_and_late_nodes_get_none() {
    let mut work = work_of(vec![plain_job(1), plain_job(2), plain_job(3)], 4);
    let opening = Opening {
        folder: "x".into(),
        address: ([10, 0, 0, 1], 1).into(),
        key: [0; 32],
        keys: [[0; 32]; 2],
    };
    work.openings = vec![None, None, Some(opening.clone()), Some(opening.clone())];
    let gone = vec![Some("unreachable".to_owned()), None, None, None];
    let mut run = Run { head: FarmHead::new(work, gone, BEGAN), now_ns: BEGAN };
    let first = run.turn();
    let open = FarmHeadOrder::Send(
        3,
        FarmOrder::Open { slots: None, folder: "own".into(), metered: false, streamed: false },
    );
    assert!(first.contains(&open) && first.contains(&FarmHeadOrder::Probe(3)), "{first:?}");
    let mounts = first
        .iter()
        .filter(|order| matches!(order, FarmHeadOrder::Send(2 | 3, FarmOrder::Mount(_))));
    assert_eq!(mounts.count(), 2);
    (1..4).for_each(|node| run.event(node, FarmEvent::Opened(FACTS)));
    run.event(2, FarmEvent::Mounted(Some("no mount".to_owned())));
    run.lose(2);
    run.now_ns = BEGAN + 10_000 * MS - 2 * MS;
    assert_eq!(run.turn(), [], "node 3 may still mount");
    run.head.silent(1, "silent".to_owned(), run.now_ns);
    assert_eq!(run.head.nodes()[1].gone, None, "silence does not count yet");
    let orders = run.turn();
    let wanted = [
        lost(0, "unreachable"),
        lost(2, "no mount"),
        lost(3, "its agent was not ready for jobs within 10 s"),
    ];
    assert_eq!(orders[..3], wanted);
    assert_eq!(sent(&orders), [(1, 1)]);
    assert_eq!(run.head.nodes()[1].gone, None);
    // Too late: the node gets no jobs, though two wait.
    run.event(3, FarmEvent::Mounted(None));
    run.event(2, FarmEvent::Opened(FACTS));
    assert_eq!(run.turn(), []);
    let reason = |node: &FarmNode| node.gone.is_some();
    let gone: Vec<bool> = run.head.nodes().iter().map(reason).collect();
    assert_eq!(gone, [true, false, true, true]);
    run.head.silent(1, "silent".to_owned(), run.now_ns);
    assert_eq!(run.head.nodes()[1].gone.as_deref(), Some("silent"));
}

#[test]
fn the_run_begins_with_the_last_node_and_not_at_the_deadline() {
    let mut run = Run::new(work_of(vec![plain_job(1)], 2));
    run.turn();
    run.event(0, FarmEvent::Opened(FACTS));
    assert_eq!(run.turn(), []);
    run.lose(1);
    let orders = run.turn();
    assert_eq!((&orders[0], sent(&orders)), (&lost(1, "dead"), vec![(0, 1)]));
}

#[test]
fn a_job_is_made_staged_run_and_fetched() {
    let (mut run, orders) = Run::ready(vec![staged_job(1)], 1);
    let folders = vec!["a".into(), "b".into()];
    assert_eq!(orders, [FarmHeadOrder::Send(0, FarmOrder::Make(1, folders))]);
    // The node's clock is 500 s ahead.
    let ahead = 500_000 * MS;
    let now = run.now_ns;
    run.head.heard(0, FromAgent::Clock(now - 2, now - 1 + ahead, now - 1 + ahead), now);
    run.event(0, FarmEvent::Made(1, None));
    let orders = run.turn();
    let [FarmHeadOrder::Transfer(there)] = &orders[..] else { panic!("{orders:?}") };
    assert_eq!((there.way, &there.names, there.tries), (Direction::There, &vec!["a/in".into()], 1));
    run.head.moved(there, Ok(5), run.now_ns);
    let staged_in = run.now_ns;
    let orders = run.turn();
    assert_eq!(sent(&orders), [(0, 1)]);
    run.event(0, FarmEvent::Output(1, b"text".to_vec()));
    run.event(0, FarmEvent::Results(1, vec![OUTPUT]));
    let ended_ns = run.now_ns;
    run.now_ns += ahead;
    run.ended(0, 1, Outcome::Exit(0));
    run.now_ns = ended_ns;
    let orders = run.turn();
    let [FarmHeadOrder::News(FarmNews::Output(1, _)), FarmHeadOrder::Transfer(back)] = &orders[..]
    else {
        panic!("{orders:?}")
    };
    assert_eq!((back.way, &back.outputs), (Direction::Back, &vec![OUTPUT]));
    run.head.moved(back, Ok(7), run.now_ns);
    let staged_out = run.now_ns;
    let orders = run.turn();
    assert_eq!(orders[0], FarmHeadOrder::Send(0, FarmOrder::Clear(1)));
    let record = records_of(orders).remove(0);
    let seconds = |ns: u64| Some((ns - BEGAN) as f64 / 1e9);
    assert_eq!((record.staged_in, record.staged_out), (seconds(staged_in), seconds(staged_out)));
    assert_eq!((record.started, record.ended), (seconds(ended_ns - MS), seconds(ended_ns)));
    assert_eq!((record.bytes_in, record.bytes_out, record.outcome), (5, 7, Outcome::Exit(0)));
    assert!(run.head.is_over());
}

/// Each costs the head a file.
#[test]
fn the_output_of_a_try_is_reported_once() {
    let (mut run, orders) = Run::ready(vec![plain_job(1)], 2);
    assert_eq!(sent(&orders), [(0, 1)]);
    let outputs = |run: &mut Run, node: usize| {
        for text in ["first", "second", "third"] {
            run.event(node, FarmEvent::Output(1, text.into()));
        }
        let mut orders = run.turn();
        orders.retain(|order| matches!(order, FarmHeadOrder::News(FarmNews::Output(..))));
        orders
    };
    let first = FarmHeadOrder::News(FarmNews::Output(1, b"first".to_vec()));
    assert_eq!(outputs(&mut run, 0), [first]);
    assert_eq!(outputs(&mut run, 0), []);
    run.ended(0, 1, Outcome::Exit(1));
    let orders = run.turn();
    assert_eq!(sent(&orders), [(1, 1)]);
    assert_eq!(outputs(&mut run, 1).len(), 1, "another try has its own");
}

/// Messages and transfers of job 1 that arrive late, from its first try on node 0.
fn late(run: &mut Run) {
    run.event(0, FarmEvent::Made(1, Some("late".to_owned())));
    run.event(0, FarmEvent::Output(1, Vec::new()));
    run.event(0, FarmEvent::Results(1, vec![OUTPUT; 3]));
    run.ended(0, 1, Outcome::Exit(9));
    run.event(0, FarmEvent::Returned(vec![1]));
    for way in [Direction::There, Direction::Back] {
        let names = Vec::new();
        let state = Vec::new();
        let outputs = Vec::new();
        let transfer =
            Transfer { node: 0, job: 0, number: 1, tries: 1, way, names, state, outputs };
        run.head.moved(&transfer, files_failed("late"), run.now_ns);
    }
}

/// The second node does everything again, whatever arrives of the first try.
#[test]
fn a_job_whose_node_dies_at_any_step_is_tried_elsewhere() {
    let steps = [
        JobStep::Make,
        JobStep::Stage(Direction::There),
        JobStep::Run,
        JobStep::Stage(Direction::Back),
    ];
    for (count, step) in steps.into_iter().enumerate() {
        let (mut run, mut orders) = Run::ready(vec![staged_job(1)], 2);
        for _ in 0..count {
            run.obey(&orders);
            orders = run.turn();
        }
        assert_eq!(run.head.live[&0].step, step);
        run.lose(0);
        late(&mut run);
        let mut orders = run.turn();
        assert_eq!(orders.remove(0), lost(0, "dead"));
        late(&mut run);
        let mut turns = 0;
        while !run.head.is_over() {
            assert!(orders.iter().all(|order| !matches!(order, FarmHeadOrder::Send(0, _))));
            run.obey(&orders);
            orders = run.turn();
            turns += 1;
        }
        assert_eq!(turns, 4, "after {step:?}");
        let record = records_of(orders).remove(0);
        assert_eq!(
            (record.node.as_deref(), record.tries, record.outcome, record.bytes_out),
            (Some("n1"), 2, Outcome::Exit(0), 5)
        );
    }
}

#[test]
fn a_late_transfer_of_an_older_try_on_the_same_node_does_not_count() {
    let (mut run, orders) = Run::ready(vec![staged_job(1)], 1);
    run.obey(&orders);
    let orders = run.turn();
    let [FarmHeadOrder::Transfer(first)] = &orders[..] else { panic!("{orders:?}") };
    run.head.moved(first, files_failed("no input"), run.now_ns);
    let orders = run.turn();
    assert_eq!(orders[0], FarmHeadOrder::Send(0, FarmOrder::Clear(1)));
    run.event(0, FarmEvent::Made(1, None));
    let orders = run.turn();
    let [FarmHeadOrder::Transfer(second)] = &orders[..] else { panic!("{orders:?}") };
    assert_eq!((first.tries, second.tries), (1, 2));
    run.head.moved(first, Ok(5), run.now_ns);
    assert_eq!(run.turn(), []);
    run.head.moved(second, files_failed("no input"), run.now_ns);
    let record = records_of(run.turn()).remove(0);
    assert_eq!(record.outcome, Outcome::Failed("no input".to_owned()));
}

#[test]
fn a_message_counts_only_in_its_step() {
    let (mut run, _) = Run::ready(vec![staged_job(1)], 1);
    // The job has not run.
    run.ended(0, 1, Outcome::Exit(0));
    run.event(0, FarmEvent::Returned(vec![1]));
    assert_eq!(run.turn(), []);
    run.event(0, FarmEvent::Made(1, None));
    assert_eq!(run.turn().len(), 1);
    // A second reply transfers nothing again.
    run.event(0, FarmEvent::Made(1, None));
    run.event(0, FarmEvent::Made(2, None));
    assert_eq!(run.turn(), []);
}

#[test]
fn a_job_fails_without_descriptions_of_its_outputs_or_without_its_directories() {
    let (mut run, mut orders) = Run::ready(vec![staged_job(1)], 1);
    for _ in 0..2 {
        run.obey(&orders);
        orders = run.turn();
    }
    assert_eq!(sent(&orders), [(0, 1)]);
    run.ended(0, 1, Outcome::Exit(0));
    let orders = run.turn();
    assert!(!orders.iter().any(|order| matches!(order, FarmHeadOrder::Transfer(_))));
    assert_eq!(run.head.farm.tries(0), 2, "the first try has failed");
    run.event(0, FarmEvent::Made(1, Some("no space".to_owned())));
    let record = records_of(run.turn()).remove(0);
    assert_eq!(record.outcome, Outcome::Failed("no space".to_owned()));
}

#[test]
fn outputs_that_cannot_be_fetched_fail_the_job_and_do_not_count() {
    let (mut run, mut orders) = Run::ready(vec![staged_job(1)], 1);
    for _ in 0..2 {
        for _ in 0..3 {
            run.obey(&orders);
            orders = run.turn();
        }
        let [FarmHeadOrder::Transfer(back)] = &orders[..] else { panic!("{orders:?}") };
        run.head.moved(back, files_failed("no room"), run.now_ns);
        orders = run.turn();
    }
    let record = records_of(orders).remove(0);
    assert_eq!((record.tries, record.outcome), (2, Outcome::Failed("no room".to_owned())));
    assert_eq!((record.bytes_in, record.bytes_out, record.staged_out), (5, 0, None));
    assert!(record.ended.is_some(), "the command has run");
}

#[test]
fn the_record_of_a_command_that_is_too_long_is_reported_also_if_it_is_the_last() {
    let mut job = plain_job(1);
    job.command = Command::Line(vec![b'x'; COMMAND_MAX + 1].into());
    let (mut run, orders) = Run::ready(vec![job], 1);
    assert_eq!(orders, []);
    let mut all = Vec::new();
    for _ in 0..3 {
        assert!(!run.head.is_over());
        all.extend(run.turn());
        if run.head.is_over() {
            break;
        }
    }
    assert!(run.head.is_over());
    let records = records_of(all);
    assert_eq!((records.len(), records[0].tries), (1, 2));
    let why = "its command is longer than 32768 bytes";
    assert_eq!(records[0].outcome, Outcome::Failed(why.to_owned()));
}

#[test]
fn a_returned_job_is_given_to_another_node_without_using_a_try() {
    let (mut run, orders) = Run::ready((1..=2).map(plain_job).collect(), 2);
    assert_eq!(sent(&orders), [(0, 1), (1, 2)]);
    run.ended(0, 1, Outcome::Exit(0));
    run.recall(2);
    run.event(1, FarmEvent::Returned(vec![2, 1, 7]));
    let orders = run.turn();
    let given = sent(&orders);
    assert_eq!(given.len(), 1);
    assert_eq!((given[0].1, run.head.farm.tries(1)), (2, 1));
    assert_eq!(records_of(orders).len(), 1);
}

#[test]
fn a_node_that_returns_a_job_unasked_gets_no_more() {
    let (mut run, orders) = Run::ready((1..=2).map(plain_job).collect(), 2);
    assert_eq!(sent(&orders), [(0, 1), (1, 2)]);
    run.event(1, FarmEvent::Returned(vec![2]));
    let orders = run.turn();
    assert_eq!(orders, [lost(1, "protocol error: it returned job 2 unasked")]);
    run.ended(0, 1, Outcome::Exit(0));
    assert_eq!(sent(&run.turn()), [(0, 2)]);
}

/// The node answers again later: it was not lost.
#[test]
fn a_job_whose_node_does_not_answer_while_its_files_are_copied_spends_no_try() {
    let mut work = work_of(vec![staged_job(1)], 2);
    work.rules.tries = Tries::again(0);
    let (mut run, orders) = Run::ready_for(work);
    run.obey(&orders);
    let orders = run.turn();
    let [FarmHeadOrder::Transfer(there)] = &orders[..] else { panic!("{orders:?}") };
    let silent = || Err(TransferFailure::Node("no message from its agent for 5 s".to_owned()));
    run.head.moved(there, silent(), run.now_ns);
    let mut orders = run.turn();
    assert_eq!(orders.remove(0), FarmHeadOrder::Send(0, FarmOrder::Clear(1)));
    while !run.head.is_over() {
        assert!(orders.iter().all(|order| !matches!(order, FarmHeadOrder::Send(0, _))));
        run.obey(&orders);
        orders = run.turn();
    }
    let record = records_of(orders).remove(0);
    assert_eq!((record.node.as_deref(), record.tries), (Some("n1"), 1));
    assert_eq!(record.outcome, Outcome::Exit(0));
}

#[test]
fn a_job_that_no_node_answers_for_fails_after_some_nodes() {
    let mut work = work_of(vec![staged_job(1)], 1);
    work.rules.tries = Tries::again(0);
    let (mut run, mut orders) = Run::ready_for(work);
    let mut copies = 0;
    while !run.head.is_over() {
        assert!(copies < 10, "it goes on for ever");
        for order in &orders {
            match order {
                FarmHeadOrder::Transfer(there) => {
                    copies += 1;
                    let silent = TransferFailure::Node("silence".to_owned());
                    run.head.moved(there, Err(silent), run.now_ns);
                }
                order => run.obey(std::slice::from_ref(order)),
            }
        }
        orders = run.turn();
    }
    let record = records_of(orders).remove(0);
    assert_eq!((record.outcome, copies), (Outcome::Failed("silence".to_owned()), 4));
}

#[test]
fn results_that_a_silent_node_keeps_are_made_elsewhere() {
    let mut work = work_of(vec![staged_job(1)], 2);
    work.rules.tries = Tries::again(0);
    let (mut run, mut orders) = Run::ready_for(work);
    for _ in 0..3 {
        run.obey(&orders);
        orders = run.turn();
    }
    let [FarmHeadOrder::Transfer(back)] = &orders[..] else { panic!("{orders:?}") };
    let silent = TransferFailure::Node("silence".to_owned());
    run.head.moved(back, Err(silent), run.now_ns);
    let orders = run.turn();
    assert!(
        orders.iter().any(|order| matches!(order, FarmHeadOrder::Send(1, FarmOrder::Make(1, _)))),
        "{orders:?}"
    );
}

#[test]
fn a_node_that_makes_no_directories_holds_neither_its_job_nor_the_others() {
    let jobs = vec![staged_job(1), staged_job(2), staged_job(3)];
    let (mut run, mut orders) = Run::ready(jobs, 2);
    let mut ended = Vec::new();
    let mut seconds = 0;
    // The first node sends heartbeats, and answers no order.
    while !run.head.is_over() {
        seconds += 1;
        assert!(seconds < 200, "job 1 stays where it is: {:?}", run.head.live);
        let answered = |order: &FarmHeadOrder| {
            !matches!(order, FarmHeadOrder::Send(0, _) | FarmHeadOrder::News(_))
        };
        let obeyed: Vec<_> = orders.extract_if(.., |order| answered(order)).collect();
        run.obey(&obeyed);
        ended.extend(records_of(orders));
        run.now_ns += 999 * MS;
        orders = run.turn();
    }
    ended.extend(records_of(orders));
    let ends: Vec<_> =
        ended.iter().map(|it| (it.job, it.node.as_deref(), it.tries, it.outcome.clone())).collect();
    let done = |number| (number, Some("n1"), 1, Outcome::Exit(0));
    assert_eq!(ends, [done(2), done(3), done(1)]);
    assert!((60..70).contains(&seconds), "{seconds}");
    assert_eq!(run.head.nodes()[0].gone, None, "it is not lost");
}

#[test]
fn a_job_whose_directories_no_node_makes_fails_with_the_reason() {
    let (mut run, _) = Run::ready(vec![staged_job(1)], 1);
    let mut ended = Vec::new();
    for _ in 0..500 {
        run.now_ns += 999 * MS;
        ended.extend(records_of(run.turn()));
    }
    let why = "cannot make the directories of job 1 on n0: no answer of its agent within 60 s";
    assert_eq!(ended.len(), 1, "it is tried for ever");
    assert_eq!(ended[0].outcome, Outcome::Failed(why.to_owned()));
    assert!(run.head.is_over());
}

/// A job of two with a limit of a minute, on a node that says it has more processors than there
/// are.
fn run_with_limits() -> Run {
    let limited = |number| {
        let timeout = Some(garland_core::units::Nanos(60_000 * MS));
        Job { timeout, ..plain_job(number) }
    };
    let (mut run, orders) = Run::ready(vec![limited(1), limited(2)], 2);
    assert_eq!(sent(&orders), [(0, 1), (1, 2)]);
    run.ended(1, 2, Outcome::Exit(0));
    run
}

#[test]
fn a_node_that_ends_no_job_loses_its_jobs_some_time_after_their_limit() {
    let mut run = run_with_limits();
    let mut orders = Vec::new();
    let mut seconds = 0;
    while !orders.iter().any(|order| matches!(order, FarmHeadOrder::News(FarmNews::Lost(..)))) {
        seconds += 1;
        assert!(seconds < 200, "it is never lost");
        run.now_ns += 999 * MS;
        orders = run.turn();
    }
    assert!((90..=92).contains(&seconds), "{seconds}");
    assert!(orders.contains(&lost(0, "it did not end job 1 within 30 s of its time limit")));
    // Its one other try is on the node that is left.
    assert_eq!(sent(&orders), [(1, 1)]);
    run.ended(0, 1, Outcome::Exit(0));
    assert!(!run.head.is_over(), "it is the other node's job now");
}

#[test]
fn a_head_that_stood_still_blames_no_node() {
    let mut run = run_with_limits();
    run.now_ns += 3_600_000 * MS;
    run.turn();
    run.ended(0, 1, Outcome::Exit(0));
    run.turn();
    assert!(run.head.is_over() && run.head.nodes()[0].gone.is_none());
}

#[test]
fn what_waits_on_a_node_does_not_run_yet() {
    let limited = |number| {
        let timeout = Some(garland_core::units::Nanos(60_000 * MS));
        Job { timeout, ..plain_job(number) }
    };
    let (mut run, _) = Run::ready((1..=40).map(limited).collect(), 1);
    // Short jobs, so that the node gets some in advance; then each takes nearly all of its time.
    run.ended(0, 1, Outcome::Exit(0));
    run.turn();
    for job in 2..=40 {
        for _ in 0..59 {
            run.now_ns += 999 * MS;
            run.turn();
        }
        assert!(run.head.live.len() > 1 || job > 35, "the next one waits there");
        run.ended(0, job, Outcome::Exit(0));
        run.turn();
        assert_eq!(run.head.nodes()[0].gone, None, "job {job}");
    }
    assert!(run.head.is_over());
}

#[test]
fn times_and_figures_that_cannot_be_true_are_bounded() {
    let (mut run, _) = Run::ready(vec![plain_job(1)], 1);
    // An answer to a probe that was never sent, from a clock without an end.
    run.head.heard(0, FromAgent::Clock(1 << 63, 0, 0), run.now_ns);
    let end = TaskEnd {
        job: 1,
        started_ns: u64::MAX,
        ended_ns: u64::MAX,
        outcome: Outcome::Exit(0),
        cpu_ns: u64::MAX,
        memory: u64::MAX,
        bytes_out: u64::MAX,
        last_words: Vec::new(),
    };
    run.event(0, FarmEvent::Ended(vec![end]));
    let record = records_of(run.turn()).remove(0);
    let now = (run.now_ns - BEGAN) as f64 / 1e9;
    assert!(record.ended.unwrap() <= now && record.started <= record.ended, "{record:?}");
    assert!(record.cpu.unwrap() < 1e5, "{record:?}");
    assert!(record.memory.unwrap() <= 1 << 50 && record.bytes_out <= 1 << 50, "{record:?}");
}
