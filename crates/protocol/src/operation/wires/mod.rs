//! The survey of `garland wires`: every pair of nodes is measured, rail by rail and round by round.
//!
//! A [`Survey`] decides which pairs meet next, what of their findings is believed, what is measured
//! again, which nodes are left out, and when all is done. Its driver holds the meetings of each
//! [`Step`] ([`MeetingRound`](super::MeetingRound) has their time limits) and returns what came of
//! them. If agents fail or the user interrupts, the results so far are kept.

mod findings;
mod rail;
mod step;
mod suspicion;
mod task;

use std::collections::{BTreeMap, VecDeque};

use garland_analysis::conditions::Conditions;
use garland_analysis::pairs::{Accusation, MatchUp, Tolerance, accuse, rounds};

use super::meetings::PairEnd;
pub use findings::{MetPair, PairFindings};
pub use rail::{AtOnce, DirectionRates, GRACE_NS, LoadRates, Rail};
use step::{Begins, Kind, Measurement};
pub use step::{Progress, Step};
use suspicion::{disjoint, suspects, worst};
pub use task::{meeting, packets, ping};

/// Pairs measured at once count as undisturbed if their median rate is at least this fraction of
/// the rate of a pair measured alone.
const UNDISTURBED: f64 = 0.9;

/// The number of times that suspected pairs are measured again. Noise disappears; a fault remains.
const SECOND_LOOKS: usize = 2;

/// The maximum number of pairs that are measured again alone, for about a second each.
const ALONE_MAX: usize = 64;

/// The maximum number of parts that lose segments, the worst first, for which a stream of a second
/// is measured.
const LOSSY_MAX: usize = 8;

/// The machine of a survey, and its measurements. Nodes are identified by their index in the node
/// list.
#[derive(Debug)]
pub struct Survey {
    /// The number of streams of a pair when several are measured.
    streams: u16,
    /// The nodes that have an agent.
    present: Vec<usize>,
    /// The pairs of these nodes, in rounds of pairs without a common node.
    tournament: Vec<Vec<MatchUp>>,
    /// The index of the rail that is being measured.
    now: usize,
    /// What follows when all planned steps are done.
    stage: Stage,
    /// The steps that follow, the next one first.
    planned: VecDeque<Measurement>,
    /// The step whose findings are missing.
    underway: Option<Underway>,
    /// The rates of the best pairs so far with the present number of pairs, the lowest first.
    best: Vec<f64>,
    /// Whether the user interrupted the survey.
    pub interrupted: bool,
    /// For each node, why it is excluded from all rails; none if it is not.
    pub out: Vec<Option<String>>,
    /// For each rail, its measurements.
    pub rails: Vec<Rail>,
    /// The sum of the rates between the first half of the nodes and the other half, over all rails
    /// at once and in both directions, in bytes per second; none if it was not measured.
    pub bisection: Option<f64>,
    /// For each rail and node, conditions that may influence rates.
    pub conditions: BTreeMap<(usize, usize), Conditions>,
}

/// The stages of a survey. All but the last two are those of one rail.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// The rail with this index begins: how many pairs may be measured at once?
    Load(usize),
    /// All pairs are measured.
    Rounds,
    /// Pairs that failed are measured again.
    Retry,
    /// What others may have slowed down is measured alone.
    Separate,
    /// Suspected pairs are measured again, so many more times.
    Suspects(usize),
    /// It is measured what accused parts do to a copy.
    Prove,
    /// The rates between both halves of the nodes are measured.
    Bisect,
    Over,
}

/// A step that has begun.
#[derive(Debug)]
struct Underway {
    kind: Kind,
    /// The pairs that meet, in the order of the step's meetings.
    pairs: Vec<MatchUp>,
}

impl Survey {
    /// Creates a survey over `rails` rails. For each node, `out` has the error if it has no agent.
    #[must_use]
    pub fn new(out: Vec<Option<String>>, rails: usize, streams: u16) -> Self {
        let present: Vec<usize> = (0..out.len()).filter(|&node| out[node].is_none()).collect();
        let indexed = |pairs: &Vec<MatchUp>| -> Vec<MatchUp> {
            let pair = |at: &MatchUp| MatchUp::new(present[at.one], present[at.other]).sorted();
            pairs.iter().map(pair).collect()
        };
        Self {
            streams,
            tournament: rounds(present.len()).iter().map(indexed).collect(),
            present,
            now: 0,
            stage: if rails == 0 { Stage::Bisect } else { Stage::Load(0) },
            planned: VecDeque::new(),
            underway: None,
            best: Vec::new(),
            interrupted: false,
            rails: (0..rails).map(|_| Rail::new(&out)).collect(),
            out,
            bisection: None,
            conditions: BTreeMap::new(),
        }
    }

    /// Begins the next step. Returns `None` when the survey is over, or was interrupted: nothing
    /// that did not run is counted or warned of.
    pub fn begin_step(&mut self) -> Option<Step> {
        if self.interrupted {
            return None;
        }
        while self.planned.is_empty() {
            if matches!(self.stage, Stage::Over) {
                return None;
            }
            self.plan();
        }
        let Measurement { pairs, kind, begins } = self.planned.pop_front()?;
        let progress = self.begin(&pairs, begins);
        let (streams, task) = kind.task(self.streams);
        let rails = match kind {
            Kind::Bisection => 0..self.rails.len(),
            _ => self.now..self.now + 1,
        };
        let tried = rails.flat_map(|rail| pairs.iter().map(move |pair| (rail, *pair)));
        let tried: Vec<(usize, MatchUp)> =
            tried.filter(|(rail, pair)| self.rails[*rail].may(pair)).collect();
        let meetings = tried.iter().map(|(rail, pair)| meeting(*pair, *rail, streams, &task));
        let meetings = meetings.collect();
        let pairs = tried.into_iter().map(|(_, pair)| pair).collect();
        self.underway = Some(Underway { kind, pairs });
        Some(Step { meetings, progress })
    }

    /// Ends the step that began last. `met` are its results, in the order of its meetings; `closed`
    /// says of each node why its agent is gone, `None` if it is not.
    pub fn end_step(&mut self, met: Vec<MetPair>, closed: &[Option<String>]) {
        let Some(Underway { kind, pairs }) = self.underway.take() else { return };
        let is_judged = !matches!(kind, Kind::Bisection);
        let mut found = Vec::new();
        for (pair, met) in pairs.into_iter().zip(met) {
            match met {
                Ok(findings) => {
                    if is_judged {
                        self.rail().succeed(pair);
                    }
                    found.push((pair, findings));
                }
                Err(PairEnd::Interrupted) => self.interrupted = true,
                Err(PairEnd::Failed(node, reason)) if is_judged => {
                    let is_gone = closed[node].is_some();
                    self.strike(pair, node, is_gone, &reason);
                }
                Err(_) => {}
            }
        }
        // Only some of the pairs may have met, and less at once than was planned.
        let is_load = matches!(kind, Kind::Load { .. } | Kind::Across(_) | Kind::Bisection);
        if !(self.interrupted && is_load) {
            self.note(kind, found);
        }
    }

    fn rail(&mut self) -> &mut Rail {
        &mut self.rails[self.now]
    }

    /// Records what begins with a step of `pairs`. Returns how far the survey is.
    fn begin(&mut self, pairs: &[MatchUp], begins: Begins) -> Option<Progress> {
        let progress = match begins {
            Begins::Nothing => return None,
            Begins::Round(progress) => progress,
            Begins::Repetition => {
                self.rail().failed.retain(|pair, _| !pairs.contains(pair));
                None
            }
        };
        self.rail().rounds += 1;
        if let [pair] = pairs {
            self.rail().alone.insert(*pair);
        }
        progress
    }

    /// Records that a pair failed, which may exclude its nodes from the rail ([`Rail::fail`]). If
    /// the agent of `node` has exited, `node` is excluded from all rails.
    fn strike(&mut self, pair: MatchUp, node: usize, is_gone: bool, reason: &str) {
        self.rail().fail(pair, reason);
        for side in pair.nodes() {
            // A node without an agent is excluded from all rails; otherwise its other NICs are
            // tried.
            if side == node && is_gone {
                let others = self.rails.iter_mut();
                others.for_each(|rail| {
                    rail.out[side].get_or_insert_with(|| reason.to_owned());
                });
            }
            if self.rails.iter().all(|rail| rail.out[side].is_some()) {
                self.out[side].get_or_insert_with(|| reason.to_owned());
            }
        }
    }
}

/// What is measured next.
impl Survey {
    /// Plans the steps of the next stage, which may be none.
    fn plan(&mut self) {
        self.stage = match self.stage {
            Stage::Load(rail) => {
                self.now = rail;
                self.plan_load();
                Stage::Rounds
            }
            Stage::Rounds => {
                self.plan_rounds();
                Stage::Retry
            }
            Stage::Retry => {
                self.plan_retry();
                Stage::Separate
            }
            Stage::Separate => {
                self.plan_separate();
                Stage::Suspects(SECOND_LOOKS)
            }
            Stage::Suspects(0) => Stage::Prove,
            Stage::Suspects(looks) => {
                self.plan_suspects();
                match self.planned.is_empty() {
                    true => Stage::Prove,
                    false => Stage::Suspects(looks - 1),
                }
            }
            Stage::Prove => {
                self.plan_proof();
                match self.now + 1 < self.rails.len() {
                    true => Stage::Load(self.now + 1),
                    false => Stage::Bisect,
                }
            }
            Stage::Bisect => {
                self.plan_bisection();
                Stage::Over
            }
            Stage::Over => Stage::Over,
        };
    }

    fn plan_step(&mut self, pairs: &[MatchUp], kind: Kind, begins: Begins) {
        self.planned.push_back(Measurement { pairs: pairs.to_vec(), kind, begins });
    }

    /// Plans 1, 2, 4 and so on up to all of a round's pairs at once.
    fn plan_load(&mut self) {
        let Some(pairs) = self.tournament.first().cloned() else { return };
        let mut counts: Vec<usize> = std::iter::successors(Some(1), |count| Some(count * 2))
            .take_while(|&count| count < pairs.len())
            .collect();
        counts.push(pairs.len());
        for count in counts {
            // A single pair may be a faulty one: measure three and take the best.
            let turns = if count == 1 { pairs.len().min(3) } else { 1 };
            for turn in 0..turns {
                let kind = Kind::Load { count, is_last: turn + 1 == turns };
                self.plan_step(&pairs[turn..turn + count], kind, Begins::Nothing);
            }
        }
    }

    /// Plans all pairs, as many at once as do not disturb each other.
    fn plan_rounds(&mut self) {
        let at_once = self.rail().at_once.max(1);
        let apart = self.tournament.iter().flat_map(|round| round.chunks(at_once));
        let apart: Vec<Vec<MatchUp>> = apart.map(<[MatchUp]>::to_vec).collect();
        let count = apart.len();
        let rail = (self.rails.len() > 1).then_some(self.now);
        for (done, pairs) in apart.iter().enumerate() {
            let progress = Progress::Round { number: done + 1, count, rail };
            self.plan_round(pairs, Begins::Round(Some(progress)));
        }
    }

    /// Plans the round trips and all kinds of rates of `pairs`.
    fn plan_round(&mut self, pairs: &[MatchUp], begins: Begins) {
        self.plan_step(pairs, Kind::Latency, begins);
        self.plan_one_way(pairs, Begins::Nothing);
        self.plan_step(pairs, Kind::TwoWay, Begins::Nothing);
        self.plan_step(pairs, Kind::Many, Begins::Nothing);
    }

    /// Plans one stream in each direction of `pairs`, first one direction and then the other.
    fn plan_one_way(&mut self, pairs: &[MatchUp], begins: Begins) {
        self.plan_step(pairs, Kind::OneWay { is_forward: true }, begins);
        self.plan_step(pairs, Kind::OneWay { is_forward: false }, Begins::Nothing);
    }

    /// Plans failed pairs again, except those with an excluded node.
    fn plan_retry(&mut self) {
        let rail = self.rail();
        let is_there = |pair: &MatchUp| pair.nodes().iter().all(|node| rail.out[*node].is_none());
        let again: Vec<MatchUp> = rail.failed.keys().copied().filter(is_there).collect();
        for pair in again {
            self.plan_round(&[pair], Begins::Repetition);
        }
    }

    /// Plans alone what others may have slowed down. Beyond [`ALONE_MAX`] pairs, such rates are
    /// dropped.
    fn plan_separate(&mut self) {
        let doubtful = self.rail().doubtful();
        let (again, dropped) = doubtful.split_at(doubtful.len().min(ALONE_MAX));
        let count = again.len();
        for (done, pair) in again.iter().enumerate() {
            let progress = Progress::Alone { number: done + 1, count };
            self.plan_round(&[*pair], Begins::Round(Some(progress)));
        }
        dropped.iter().for_each(|pair| self.rail().forget(*pair));
    }

    /// Plans suspected pairs again, each alone.
    fn plan_suspects(&mut self) {
        let mut rates = suspects(&self.rail().rates(), &Tolerance::RATES);
        rates.extend(suspects(&self.rail().losses(), &Tolerance::LOSSES));
        let latencies = suspects(&self.rail().round_trips(), &Tolerance::LATENCIES);
        for pair in rates.into_iter().take(ALONE_MAX) {
            self.plan_one_way(&[pair], Begins::Round(None));
        }
        for pair in latencies.into_iter().take(ALONE_MAX) {
            self.plan_step(&[pair], Kind::Latency, Begins::Round(None));
        }
    }

    /// Plans what accused parts do to a copy: whether pairs between two groups share one wire, and
    /// how fast a stream is that loses segments.
    fn plan_proof(&mut self) {
        for Accusation { part, .. } in accuse(&self.rail().rates(), &Tolerance::RATES) {
            let pairs = disjoint(&part);
            if pairs.len() > 1 {
                self.plan_step(&pairs, Kind::Across(part), Begins::Nothing);
            }
        }
        for Accusation { part, .. } in
            accuse(&self.rail().losses(), &Tolerance::LOSSES).into_iter().take(LOSSY_MAX)
        {
            if let Some(pair) = worst(self.rail(), &part) {
                self.plan_step(&[pair], Kind::Sustained(part), Begins::Nothing);
            }
        }
    }

    /// Plans the rates between the first half of the nodes and the other half, over all rails at
    /// once and in both directions.
    fn plan_bisection(&mut self) {
        let (left, right) = self.present.split_at(self.present.len() / 2);
        let pairs = left.iter().zip(right).map(|(&one, &other)| MatchUp::new(one, other));
        let pairs: Vec<MatchUp> = pairs.collect();
        self.plan_step(&pairs, Kind::Bisection, Begins::Nothing);
    }
}

/// What was found.
impl Survey {
    /// Records the findings of a step: those of each pair that was measured.
    fn note(&mut self, kind: Kind, found: Vec<(MatchUp, Box<PairFindings>)>) {
        match kind {
            Kind::Load { count, is_last } => {
                self.note_load(count, is_last, found.iter().map(|(_, got)| got.forward).collect());
            }
            Kind::Across(part) => {
                let rate = found.iter().map(|(_, got)| got.forward).sum();
                self.rail().across.insert(part, AtOnce { pairs: found.len(), rate });
            }
            Kind::Sustained(part) => {
                if let Some((_, got)) = found.first() {
                    self.rail().sustained.insert(part, got.forward);
                }
            }
            Kind::Bisection => {
                let sum = found.iter().map(|(_, got)| got.forward + got.backward).sum();
                self.bisection = Some(sum).filter(|&sum: &f64| sum > 0.0);
            }
            kind => found.into_iter().for_each(|(pair, got)| self.note_pair(&kind, pair, *got)),
        }
    }

    /// Records the findings of one pair.
    fn note_pair(&mut self, kind: &Kind, pair: MatchUp, got: PairFindings) {
        let MatchUp { one, other } = pair;
        match kind {
            Kind::Latency => {
                for (node, conditions) in pair.nodes().into_iter().zip(got.conditions) {
                    self.note_conditions(node, conditions);
                }
                if let Some(latency) = got.latency {
                    self.rail().note_latency(pair, latency);
                }
            }
            Kind::OneWay { is_forward } => {
                let (from, to) = if *is_forward { (one, other) } else { (other, one) };
                let went = got.went.into_iter().flatten().next();
                self.rail().note_rate(from, to, got.forward + got.backward, went);
            }
            Kind::TwoWay => {
                self.rail().way(one, other).two_way = Some(got.forward);
                self.rail().way(other, one).two_way = Some(got.backward);
                self.rail().note_sent(one, other, got.went[0]);
                self.rail().note_sent(other, one, got.went[1]);
            }
            Kind::Many => self.rail().way(one, other).many = Some(got.forward),
            _ => {}
        }
    }

    /// Records the rates of `count` pairs at once; after the last step with so many, the best ones
    /// count. Sets `at_once` to the largest number of pairs that do not disturb each other.
    fn note_load(&mut self, count: usize, is_last: bool, mut rates: Vec<f64>) {
        rates.sort_by(f64::total_cmp);
        if self.best.last() < rates.last() || count > 1 {
            self.best = rates;
        }
        if !is_last {
            return;
        }
        let best = std::mem::take(&mut self.best);
        let alone = self.rail().loads.first().and_then(|load| load.rates.last().copied());
        // The upper median: one or two slow pairs are no contention.
        let middle = best.get(best.len() / 2).copied();
        if let (Some(alone), Some(middle)) = (alone, middle)
            && middle >= UNDISTURBED * alone
        {
            self.rail().at_once = count;
        }
        self.rail().loads.push(LoadRates { pairs: count, rates: best });
    }

    /// Records a node's conditions. Later values of a condition are ignored, since the measurement
    /// itself is a load by then; changes of the clock are always recorded.
    fn note_conditions(&mut self, node: usize, mut conditions: Conditions) {
        let known = self.conditions.entry((self.now, node)).or_default();
        if !known.is_empty() {
            conditions.retain(|(name, _)| name == "clock");
        }
        known.append(&mut conditions);
    }
}

#[cfg(test)]
mod tests;
