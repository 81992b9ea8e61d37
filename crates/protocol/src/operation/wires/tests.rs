//! Runs whole surveys by the messages of their agents and by times, without sockets.

use std::net::SocketAddr;

use garland_analysis::pairs::Component;

use super::super::interface::{AgentEvent, Operation, Orders};
use super::super::meetings::{MeetingKeys, MeetingRound, Pair};
use super::*;
use crate::copy::CopyId;
use crate::measure::{Complaint, Finding, PingSample, RxStats, Summary, Task, TxStats};
use crate::wire::Secret;
use crate::{FromAgent, ToAgent};

/// The rate of a healthy stream in bytes per second.
const RATE: f64 = 100e6;

const SECOND_NS: u64 = 1_000_000_000;

/// What the agents of a pair do in a meeting.
enum Answer {
    /// They measure these rates of each stream there and back, in bytes per second. Each stream
    /// has 1000 segments; so many of them are sent again there and back.
    Rates([f64; 2], [u32; 2]),
    /// This node complains at once.
    Complaint(usize, &'static str),
    /// This node never ends the meeting.
    Silence(usize),
    /// The agent of this node exits.
    Exit(usize),
    /// The user interrupts.
    Interrupt,
}

/// A meeting that a survey orders.
struct Ordered {
    pair: Pair,
    /// The number of meetings at the same time.
    at_once: usize,
    /// The number of steps before.
    step: usize,
}

impl Ordered {
    fn is_of(&self, node: usize) -> bool {
        self.pair.from == node || self.pair.to == node
    }

    fn ends(&self) -> MatchUp {
        MatchUp::new(self.pair.from, self.pair.to).sorted()
    }

    /// The warm-up and the shortest and longest measurement of a stream, in milliseconds; `None` of
    /// a ping.
    fn limits(&self) -> Option<[u32; 3]> {
        match &self.pair.task {
            Task::Stream(task) => Some([task.warm_up_ms, task.least_ms, task.most_ms]),
            Task::Ping(_) => None,
        }
    }
}

/// A survey, and what happens around it.
struct Run {
    survey: Survey,
    closed: Vec<Option<String>>,
    now_ns: u64,
    /// The meetings of each step.
    steps: Vec<Vec<Ordered>>,
    progress: Vec<Progress>,
}

/// Runs a survey of `nodes` nodes with `rails` addresses, whose pairs answer as `answer` says.
fn run_survey(nodes: usize, rails: usize, answer: impl FnMut(&Ordered) -> Answer) -> Run {
    let mut run = Run {
        survey: Survey::new(vec![None; nodes], rails, 4),
        closed: vec![None; nodes],
        now_ns: 0,
        steps: Vec::new(),
        progress: Vec::new(),
    };
    run.hold(rails, answer);
    run
}

fn address(node: usize, rail: usize) -> SocketAddr {
    format!("10.0.{rail}.{node}:7").parse().expect("an address")
}

impl Run {
    fn hold(&mut self, rails: usize, mut answer: impl FnMut(&Ordered) -> Answer) {
        while let Some(Step { meetings, progress }) = self.survey.begin_step() {
            self.progress.extend(progress);
            let at_once = meetings.len();
            let step = self.steps.len();
            let ordered: Vec<Ordered> =
                meetings.into_iter().map(|pair| Ordered { pair, at_once, step }).collect();
            let met = self.meet(rails, &ordered, &mut answer);
            self.survey.end_step(met, &self.closed);
            self.steps.push(ordered);
        }
    }

    /// Holds the meetings of one step, all at the same time.
    fn meet(
        &mut self,
        rails: usize,
        meetings: &[Ordered],
        answer: &mut impl FnMut(&Ordered) -> Answer,
    ) -> Vec<MetPair> {
        let addresses = |node| (0..rails).map(|rail| address(node, rail)).collect();
        let addresses: Vec<Vec<SocketAddr>> = (0..self.closed.len()).map(addresses).collect();
        let pairs = meetings
            .iter()
            .enumerate()
            .map(|(at, it)| (it.pair.clone(), MeetingKeys { id: id(at), secret: Secret([1; 32]) }));
        let mut round = MeetingRound::new(pairs, &addresses);
        let mut orders = Orders::default();
        for (node, reason) in self.closed.iter().enumerate() {
            if let Some(reason) = reason.clone() {
                round.handle(self.now_ns, node, AgentEvent::Lost(reason), &mut orders);
            }
        }
        round.begin(self.now_ns, &mut orders);
        for (node, order) in orders.take() {
            let ToAgent::Probe(meeting) = order else { panic!("{order:?}") };
            let Pair { from, to, rail, .. } = meetings[usize::from(meeting.id.0[0])].pair;
            let dial = (node == from).then(|| address(to, rail));
            assert_eq!(meeting.dial, dial, "{node} of {from} to {to}");
        }
        for (at, ordered) in meetings.iter().enumerate() {
            let answered = answer(ordered);
            self.answer(&mut round, id(at), ordered, answered);
        }
        while !round.is_over() {
            self.now_ns += SECOND_NS / 10;
            round.tick(self.now_ns, &mut orders);
        }
        let ends = round.into_ends().zip(meetings);
        let met = ends.map(|((end, found), ordered)| match end {
            PairEnd::Done => Ok(Box::new(PairFindings::combine(found, &ordered.pair))),
            end => Err(end),
        });
        met.collect()
    }

    fn answer(&mut self, round: &mut MeetingRound, id: CopyId, it: &Ordered, answer: Answer) {
        let mut orders = Orders::default();
        let ends = [it.pair.from, it.pair.to];
        let mut say = |node, message| {
            round.handle(self.now_ns, node, AgentEvent::Message(message), &mut orders);
        };
        match answer {
            Answer::Rates(rates, again) => {
                for (node, finding) in found(&it.pair, rates, again) {
                    say(node, FromAgent::Found(id, Box::new(finding)));
                }
                ends.into_iter().for_each(|node| say(node, FromAgent::ProbeEnded(id, None)));
            }
            Answer::Complaint(node, reason) => {
                let complaint = Complaint { reason: reason.to_owned(), left_alone: false };
                say(node, FromAgent::ProbeEnded(id, Some(complaint)));
            }
            Answer::Silence(silent) => {
                let other = ends.into_iter().filter(|node| *node != silent);
                other.for_each(|node| say(node, FromAgent::ProbeEnded(id, None)));
            }
            Answer::Exit(node) => {
                let reason = "its agent exited";
                self.closed[node] = Some(reason.to_owned());
                round.handle(self.now_ns, node, AgentEvent::Lost(reason.to_owned()), &mut orders);
            }
            Answer::Interrupt => {
                round.interrupt(self.now_ns, &mut orders);
            }
        }
    }

    /// Returns all meetings that were held.
    fn meetings(&self) -> impl Iterator<Item = &Ordered> {
        self.steps.iter().flatten()
    }

    fn rail(&self) -> &Rail {
        &self.survey.rails[0]
    }

    /// Returns the parts that the rates of the first rail accuse.
    fn accused(&self) -> Vec<Component> {
        accuse(&self.rail().rates(), &Tolerance::RATES).into_iter().map(|it| it.part).collect()
    }
}

/// The id of a step's meeting.
fn id(at: usize) -> CopyId {
    CopyId([u8::try_from(at).expect("a step has few meetings"); 16])
}

/// Returns what the agents of a pair find, each with the node that reports it.
fn found(pair: &Pair, rates: [f64; 2], again: [u32; 2]) -> Vec<(usize, Finding)> {
    let conditions =
        |node: usize| (node, Finding::Conditions(vec![("node".to_owned(), node.to_string())]));
    let Task::Stream(task) = &pair.task else {
        let sojourn = Summary {
            count: 100,
            min: 20_000,
            mean: 20_000,
            p50: 20_000,
            p99: 20_000,
            p999: 20_000,
            max: 20_000,
            median_between: (20_000, 20_000),
        };
        let sample = PingSample {
            point: 0,
            count: 100,
            elapsed_ns: 1,
            sojourn,
            timed_together: 1,
            writes: 1,
            writing_ns: 1,
            initiator_ns: 1,
            target_ns: 1,
        };
        let ping = (pair.from, Finding::Ping(sample));
        return vec![conditions(pair.from), conditions(pair.to), ping];
    };
    let streams = (0..pair.streams).flat_map(|number| {
        let is_back = number >= task.forward;
        let ends = if is_back { [pair.to, pair.from] } else { [pair.from, pair.to] };
        let bytes = rates[usize::from(is_back)] as u64;
        let retransmits = again[usize::from(is_back)];
        let came = RxStats { number, bytes, elapsed_ns: SECOND_NS, steady: true };
        let went = TxStats { number, segments: 1000, retransmits, ..TxStats::default() };
        [(ends[0], Finding::TxStats(went)), (ends[1], Finding::RxStats(came))]
    });
    streams.collect()
}

const HEALTHY: Answer = Answer::Rates([RATE; 2], [0; 2]);

/// Both directions of a pair have this rate.
fn rate(rate: f64) -> Answer {
    Answer::Rates([rate; 2], [0; 2])
}

#[test]
fn all_pairs_of_healthy_nodes_are_measured_with_several_at_once() {
    let run = run_survey(4, 1, |_| HEALTHY);
    let number = |number| Progress::Round { number, count: 3, rail: None };
    assert_eq!(run.progress, [number(1), number(2), number(3)]);
    let rail = run.rail();
    assert_eq!((rail.at_once, rail.rounds), (2, 3));
    let loads: Vec<_> = rail.loads.iter().map(|load| (load.pairs, load.rates.clone())).collect();
    assert_eq!(loads, [(1, vec![RATE]), (2, vec![RATE; 2])]);
    assert_eq!(rail.directions.len(), 12);
    for ((from, to), way) in &rail.directions {
        assert_eq!((way.one, way.two_way), (Some(RATE), Some(RATE)), "{from} to {to}");
        // One direction of each pair is enough.
        assert_eq!(way.many, (from < to).then_some(4.0 * RATE), "{from} to {to}");
        assert_eq!(way.sent(), (2000.0, 0.0), "{from} to {to}");
    }
    assert_eq!(rail.latencies.len(), 6);
    assert_eq!(run.survey.bisection, Some(4.0 * RATE));
    assert_eq!(run.survey.conditions[&(0, 3)], [("node".to_owned(), "3".to_owned())]);
    // Both pairs of the first round alone, then at once; five steps in each of three rounds; the
    // bisection.
    let at_once: Vec<usize> = run.steps.iter().map(Vec::len).collect();
    assert_eq!(at_once, [vec![1, 1], vec![2; 17]].concat());
    let streams = |at: usize| run.steps[at][0].limits();
    assert_eq!(
        [3, 4, 5, 6, 7].map(streams),
        [
            None,
            Some([60, 80, 300]),
            Some([60, 80, 300]),
            Some([60, 150, 150]),
            Some([60, 150, 150]),
        ]
    );
    assert!(!run.survey.interrupted);
}

#[test]
fn pairs_that_disturb_each_other_are_measured_one_after_the_other() {
    let run = run_survey(4, 1, |it| rate(RATE / it.at_once as f64));
    assert_eq!((run.rail().at_once, run.rail().rounds), (1, 6));
    assert_eq!(run.rail().loads[1].rates, [RATE / 2.0; 2]);
    assert!(run.rail().directions.values().all(|way| way.one == Some(RATE)));
    // All but the load and the bisection.
    let rounds = &run.steps[3..run.steps.len() - 1];
    assert!(rounds.iter().all(|step| step.len() == 1));
    assert_eq!(rounds.len(), 6 * 5);
}

#[test]
fn a_slow_pair_is_not_what_several_at_once_are_compared_with() {
    let slow = |it: &Ordered| rate(if it.is_of(0) { RATE / 10.0 } else { RATE });
    let run = run_survey(8, 1, slow);
    let loads: Vec<_> = run.rail().loads.iter().map(|load| (load.pairs, load.rates[0])).collect();
    assert_eq!(loads, [(1, RATE), (2, RATE / 10.0), (4, RATE / 10.0)]);
    assert_eq!(run.rail().at_once, 4, "one slow pair is no contention");
}

#[test]
fn nodes_without_an_agent_meet_nobody() {
    let mut run = run_survey(0, 1, |_| HEALTHY);
    let gone = Some("no route".to_owned());
    run.survey = Survey::new(vec![None, gone.clone(), None, None], 1, 4);
    run.closed = vec![None, gone.clone(), None, None];
    run.hold(1, |_| HEALTHY);
    assert!(run.meetings().all(|it| !it.is_of(1)));
    assert_eq!(run.rail().directions.len(), 6);
    assert_eq!(run.survey.out, [None, gone, None, None]);
    run.survey = Survey::new(vec![None, Some("no route".to_owned())], 2, 4);
    run.hold(2, |it| panic!("{:?}", it.pair));
    assert_eq!(run.survey.bisection, None);
}

#[test]
fn a_node_that_fails_with_two_partners_in_a_row_is_left_out_and_asked_nothing_more() {
    let run = run_survey(5, 1, |it| match it.is_of(4) {
        true => Answer::Complaint(4, "no buffers"),
        false => HEALTHY,
    });
    assert_eq!(run.meetings().filter(|it| it.is_of(4)).count(), 2);
    assert_eq!(run.rail().out[4].as_deref(), Some("no buffers"));
    assert_eq!(run.survey.out[4].as_deref(), Some("no buffers"));
    assert!(run.survey.out[..4].iter().all(Option::is_none), "its partners are not left out");
    assert_eq!(run.rail().directions.len(), 12);
    assert_eq!(run.rail().failed.len(), 2);
}

#[test]
fn the_other_nic_of_a_node_is_measured() {
    let run = run_survey(5, 2, |it| match it.is_of(4) && it.pair.rail == 0 {
        true => Answer::Complaint(4, "no route"),
        false => HEALTHY,
    });
    let [first, second] = &run.survey.rails[..] else { panic!("two rails") };
    assert_eq!((first.out[4].as_deref(), &second.out[4]), (Some("no route"), &None));
    assert_eq!(run.survey.out, [const { None }; 5]);
    assert_eq!((first.directions.len(), second.directions.len()), (12, 20));
    assert!(run.progress.contains(&Progress::Round { number: 1, count: 5, rail: Some(1) }));
    // Both rails at once: 0 and 2, 1 and 3 on each, in both directions.
    assert_eq!(run.steps.last().map(Vec::len), Some(4));
    assert_eq!(run.survey.bisection, Some(8.0 * RATE));
}

#[test]
fn a_node_whose_agent_exits_is_left_out_of_all_rails_at_once() {
    let mut exited = 0;
    let run = run_survey(5, 2, |it| match it.is_of(2) && it.step >= 10 {
        true => {
            exited += 1;
            Answer::Exit(2)
        }
        false => HEALTHY,
    });
    assert_eq!(exited, 1);
    let reasons = run.survey.rails.iter().map(|rail| rail.out[2].as_deref());
    assert!(reasons.chain([run.survey.out[2].as_deref()]).all(|it| it == Some("its agent exited")));
    // What was measured before is kept.
    assert!(run.rail().directions.keys().any(|(from, _)| *from == 2));
    assert_eq!(run.survey.rails[1].directions.len(), 12);
}

#[test]
fn a_pair_that_failed_is_measured_once_more() {
    let suspect = MatchUp::new(1, 3);
    let mut failures = 0;
    let once = run_survey(4, 1, |it| {
        if it.ends() == suspect && std::mem::replace(&mut failures, 1) == 0 {
            return Answer::Complaint(3, "connection reset");
        }
        HEALTHY
    });
    assert_eq!((once.rail().failed.len(), once.rail().directions.len()), (0, 12));
    assert_eq!((once.rail().rounds, once.rail().out.clone()), (4, vec![None; 4]));
    let always = run_survey(4, 1, |it| match it.ends() == suspect {
        true => Answer::Complaint(3, "connection reset"),
        false => HEALTHY,
    });
    assert_eq!(always.rail().failed, [(suspect, "connection reset".to_owned())].into());
    assert_eq!(always.meetings().filter(|it| it.ends() == suspect).count(), 2);
    assert_eq!(always.survey.out, [const { None }; 4], "one partner says nothing of a node");
}

#[test]
fn a_silent_node_is_waited_for_twice() {
    let healthy = run_survey(5, 1, |_| HEALTHY);
    assert_eq!(healthy.now_ns, 0);
    let run = run_survey(5, 1, |it| match it.is_of(3) {
        true => Answer::Silence(3),
        false => HEALTHY,
    });
    let reason = "its agent did not end the measurement in time";
    assert_eq!(run.survey.out[3].as_deref(), Some(reason));
    // The time limit of a meeting and its grace.
    assert_eq!(run.now_ns / SECOND_NS, 2 * 13);
    assert_eq!(run.rail().directions.len(), 12);
}

#[test]
fn suspected_pairs_are_measured_again_and_the_highest_rate_is_believed() {
    let pairs_of_2 = |run: &Run| {
        let alone = run.steps.iter().flatten().filter(|it| it.at_once == 1 && it.is_of(2));
        alone.filter(|it| it.limits() == Some([60, 80, 300])).count()
    };
    let noise = run_survey(6, 1, |it| match it.is_of(2) && it.at_once > 1 {
        true => rate(RATE / 2.0),
        false => HEALTHY,
    });
    assert_eq!(noise.accused(), [], "noise disappears");
    assert_eq!(pairs_of_2(&noise), 5 * 2, "another look is not needed");
    assert_eq!(noise.rail().rounds, 5 + 5);
    let fault = run_survey(6, 1, |it| match it.is_of(2) {
        true => rate(RATE / 2.0),
        false => HEALTHY,
    });
    assert_eq!(fault.accused(), [Component::Node(2)]);
    assert_eq!(pairs_of_2(&fault), 2 * 5 * 2, "a fault remains");
}

#[test]
fn what_others_may_have_slowed_down_is_measured_alone() {
    // The pairs of the second round share a wire.
    let sharing = rounds(6)[1].clone();
    let run = run_survey(6, 1, |it| match it.at_once > 1 && sharing.contains(&it.ends()) {
        true => rate(RATE / 2.0),
        false => HEALTHY,
    });
    let alone = |number| Progress::Alone { number, count: 3 };
    assert_eq!(run.progress[5..], [alone(1), alone(2), alone(3)]);
    assert_eq!((run.rail().rounds, run.rail().forgotten), (5 + 3, 0));
    assert!(run.rail().directions.values().all(|way| way.one == Some(RATE)));
}

#[test]
fn of_too_many_pairs_that_share_wires_the_rates_are_dropped() {
    let sharing: Vec<MatchUp> = rounds(24)[1..8].concat();
    let run = run_survey(24, 1, |it| match it.at_once > 1 && sharing.contains(&it.ends()) {
        true => rate(RATE / 2.0),
        false => HEALTHY,
    });
    assert_eq!(run.rail().forgotten, sharing.len() - ALONE_MAX);
    assert_eq!(run.progress.last(), Some(&Progress::Alone { number: ALONE_MAX, count: ALONE_MAX }));
    assert!(run.rail().directions.values().all(|way| way.one == Some(RATE)));
}

#[test]
fn what_an_accused_link_carries_of_several_pairs_is_measured() {
    let run = run_survey(8, 1, |it| match (it.pair.from < 4) != (it.pair.to < 4) {
        true => rate(RATE / 4.0),
        false => HEALTHY,
    });
    let [part] = &run.accused()[..] else { panic!("{:?}", run.accused()) };
    assert_eq!(*part, Component::Between(vec![0, 1, 2, 3], vec![4, 5, 6, 7]));
    let across = run.rail().across[part];
    assert_eq!((across.pairs, across.rate), (4, RATE));
    let step = run.steps.iter().find(|step| step[0].limits() == Some([60, 300, 300]));
    let ends = step.into_iter().flatten().map(Ordered::ends);
    assert!(ends.eq((0..4).map(|node| MatchUp::new(node, node + 4))));
}

#[test]
fn a_stream_of_a_second_shows_what_a_loss_costs() {
    let run = run_survey(6, 1, |it| match (it.is_of(2), it.limits()) {
        (true, Some([60, 1000, 1000])) => rate(RATE / 5.0),
        (true, _) => Answer::Rates([RATE; 2], [20; 2]),
        (false, _) => HEALTHY,
    });
    assert_eq!(run.rail().sustained, [(Component::Node(2), RATE / 5.0)].into());
    assert_eq!(run.meetings().filter(|it| it.limits() == Some([60, 1000, 1000])).count(), 1);
}

#[test]
fn an_interrupted_survey_keeps_what_was_measured_and_looks_at_no_suspects() {
    let slow = |it: &Ordered| rate(if it.is_of(2) { RATE / 2.0 } else { RATE });
    let looks = |run: &Run| {
        let alone = run.meetings().filter(|it| it.at_once == 1 && it.is_of(2));
        alone.filter(|it| it.limits() == Some([60, 80, 300])).count()
    };
    let whole = run_survey(6, 1, slow);
    assert_eq!((whole.survey.interrupted, looks(&whole)), (false, 2 * 5 * 2));
    // In the last of five rounds.
    let run = run_survey(6, 1, |it| match it.step < 26 {
        true => slow(it),
        false => Answer::Interrupt,
    });
    assert!(run.survey.interrupted);
    assert_eq!((run.rail().directions.len(), looks(&run)), (4 * 6, 0));
    assert_eq!((run.rail().failed.len(), run.survey.bisection), (0, None));
    assert_eq!(run.survey.out, [const { None }; 6]);
}

#[test]
fn nothing_is_said_of_loads_and_rounds_that_an_interrupt_left_out() {
    // At the second load, of two pairs at once: after three turns of one pair.
    let run = run_survey(6, 1, |it| if it.step < 3 { rate(RATE) } else { Answer::Interrupt });
    let rail = run.rail();
    let loads: Vec<usize> = rail.loads.iter().map(|load| load.pairs).collect();
    assert_eq!((loads, rail.at_once, rail.rounds), (vec![1], 1, 0));
    assert_eq!((rail.directions.len(), rail.forgotten), (0, 0));
    assert!(run.survey.interrupted);
}

#[test]
fn conditions_are_those_before_the_load_except_changes_of_the_clock() {
    let mut survey = Survey::new(vec![None; 2], 1, 1);
    let named = |names: &[&str]| -> Conditions {
        names.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect()
    };
    survey.note_conditions(0, named(&["governor", "load"]));
    survey.note_conditions(0, named(&["load", "clock"]));
    assert_eq!(survey.conditions[&(0, 0)], named(&["governor", "load", "clock"]));
}
