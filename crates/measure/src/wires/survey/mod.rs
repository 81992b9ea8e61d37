//! The survey: measures every pair of nodes, rail by rail and round by round. If agents fail or the
//! user interrupts, the results so far are kept.

mod proof;

use std::collections::{BTreeMap, BTreeSet};

use garland_analysis::conditions::Conditions;
use garland_analysis::pairs::{MatchUp, Matrix, Tolerance, accuse, rounds};
use garland_protocol::measure::Task;
use garland_protocol::operation::PairEnd;
use garland_protocol::operation::wires::{LoadRates, PairFindings, Rail, meeting, ping, streams};
use garland_terminal::failure::Failure;

use super::meetings::Meetings;

/// Pairs measured at once count as undisturbed if their median rate is at least this fraction of
/// the rate of a pair measured alone.
const UNDISTURBED: f64 = 0.9;

/// The number of times that suspected pairs are measured again. Noise disappears; a fault remains.
const SECOND_LOOKS: usize = 2;

/// The maximum number of pairs that are measured again alone, for about a second each.
const MOST_ALONE: usize = 64;

/// A survey and its measurements. Nodes are identified by their index in the node list.
pub struct Survey<'a> {
    meetings: Meetings<'a>,
    streams: u16,
    nodes: usize,
    /// The index of the rail that is being measured.
    now: usize,
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

impl<'a> Survey<'a> {
    /// Creates a survey over `rails` rails. For each node, `out` has the error if it has no agent.
    pub fn new(
        meetings: Meetings<'a>,
        out: Vec<Option<String>>,
        rails: usize,
        streams: u16,
    ) -> Self {
        Self {
            meetings,
            streams,
            nodes: out.len(),
            now: 0,
            rails: (0..rails).map(|_| Rail::new(&out)).collect(),
            out,
            bisection: None,
            conditions: BTreeMap::new(),
        }
    }

    /// Returns whether the user interrupted the survey.
    pub fn interrupted(&self) -> bool {
        self.meetings.interrupted
    }

    /// Measures all rails, then the bisection. Calls `tell` with a line of progress before each
    /// round.
    pub fn run(&mut self, tell: &mut dyn FnMut(String)) -> Result<(), Failure> {
        let all: Vec<usize> = (0..self.nodes).filter(|&node| self.out[node].is_none()).collect();
        let indexed = |pairs: &Vec<MatchUp>| -> Vec<MatchUp> {
            let of_node = |pair: &MatchUp| MatchUp::new(all[pair.one], all[pair.other]).sorted();
            pairs.iter().map(of_node).collect()
        };
        let tournament: Vec<Vec<MatchUp>> = rounds(all.len()).iter().map(indexed).collect();
        for rail in 0..self.rails.len() {
            self.now = rail;
            if let Some(first) = tournament.first() {
                self.load(first)?;
            }
            let at_once = self.rail().at_once.max(1);
            let apart = tournament.iter().flat_map(|round| round.chunks(at_once));
            let apart: Vec<Vec<MatchUp>> = apart.map(<[MatchUp]>::to_vec).collect();
            for (done, round) in apart.iter().enumerate() {
                let of_rail =
                    if self.rails.len() > 1 { format!(" of rail {rail}") } else { String::new() };
                tell(format!("measuring: round {} of {}{of_rail}", done + 1, apart.len()));
                self.round(round)?;
            }
            self.retry()?;
            self.separate(tell)?;
            self.repeat_suspects()?;
            self.prove()?;
        }
        self.bisect(&all)
    }

    fn rail(&mut self) -> &mut Rail {
        &mut self.rails[self.now]
    }

    /// Measures the round trips and all kinds of rates for the pairs of one round.
    fn round(&mut self, pairs: &[MatchUp]) -> Result<(), Failure> {
        self.rail().rounds += 1;
        if let [pair] = pairs {
            self.rail().alone.insert(*pair);
        }
        self.latency(pairs)?;
        self.one_way(pairs)?;
        let met = self.meet(pairs, 2, &streams(1, 60, 150, 150))?;
        for (&MatchUp { one, other }, got) in pairs.iter().zip(met) {
            let Some(got) = got else { continue };
            self.rail().way(one, other).two_way = Some(got.forward);
            self.rail().way(other, one).two_way = Some(got.backward);
            self.rail().note_sent(one, other, got.went[0]);
            self.rail().note_sent(other, one, got.went[1]);
        }
        let many = self.streams;
        let task = streams(many, 60, 150, 150);
        for (pair, got) in pairs.iter().zip(self.meet(pairs, many, &task)?) {
            if let Some(got) = got {
                self.rail().way(pair.one, pair.other).many = Some(got.forward);
            }
        }
        Ok(())
    }

    /// Measures the round trips of `pairs`, and records the conditions of their nodes.
    fn latency(&mut self, pairs: &[MatchUp]) -> Result<(), Failure> {
        for (&pair, got) in pairs.iter().zip(self.meet(pairs, 1, &ping())?) {
            let Some(got) = got else { continue };
            for (node, conditions) in pair.nodes().into_iter().zip(got.conditions) {
                self.note_conditions(node, conditions);
            }
            if let Some(latency) = got.latency {
                self.rail().note_latency(pair, latency);
            }
        }
        Ok(())
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

    /// Measures one stream in each direction of `pairs`, first one direction and then the other.
    fn one_way(&mut self, pairs: &[MatchUp]) -> Result<(), Failure> {
        for forward in [1, 0] {
            let got = self.meet(pairs, 1, &streams(forward, 60, 80, 300))?;
            for (&MatchUp { one, other }, got) in pairs.iter().zip(got) {
                let Some(got) = got else { continue };
                let (from, to) = if forward == 1 { (one, other) } else { (other, one) };
                let went = got.went.into_iter().flatten().next();
                self.rail().note_rate(from, to, got.forward + got.backward, went);
            }
        }
        Ok(())
    }

    /// Measures 1, 2, 4 and so on up to all of a round's pairs at once, and sets `at_once` to the
    /// largest number of pairs that do not disturb each other.
    fn load(&mut self, pairs: &[MatchUp]) -> Result<(), Failure> {
        let mut counts: Vec<usize> = std::iter::successors(Some(1), |count| Some(count * 2))
            .take_while(|&count| count < pairs.len())
            .collect();
        counts.push(pairs.len());
        for count in counts {
            // A single pair may be a faulty one: measure three and take the best.
            let turns = if count == 1 { pairs.len().min(3) } else { 1 };
            let mut best: Vec<f64> = Vec::new();
            for turn in 0..turns {
                let got = self.meet(&pairs[turn..turn + count], 1, &streams(1, 60, 150, 300))?;
                let mut rates: Vec<f64> =
                    got.into_iter().flatten().map(|got| got.forward).collect();
                rates.sort_by(f64::total_cmp);
                if best.last() < rates.last() || count > 1 {
                    best = rates;
                }
            }
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
        Ok(())
    }

    /// Repeats the measurement of failed pairs, except those with an excluded node.
    fn retry(&mut self) -> Result<(), Failure> {
        let rail = self.rail();
        let is_there = |pair: &MatchUp| pair.nodes().iter().all(|node| rail.out[*node].is_none());
        let again: Vec<MatchUp> = rail.failed.keys().copied().filter(is_there).collect();
        for pair in again {
            self.rail().failed.remove(&pair);
            self.round(&[pair])?;
        }
        Ok(())
    }

    /// Measures alone what others may have slowed down. Beyond [`MOST_ALONE`] pairs, such rates are dropped.
    fn separate(&mut self, tell: &mut dyn FnMut(String)) -> Result<(), Failure> {
        let doubtful = self.rail().doubtful();
        let (again, dropped) = doubtful.split_at(doubtful.len().min(MOST_ALONE));
        for (done, pair) in again.iter().enumerate() {
            tell(format!("measuring: pair {} of {} alone", done + 1, again.len()));
            self.round(&[*pair])?;
        }
        dropped.iter().for_each(|pair| self.rail().forget(*pair));
        Ok(())
    }

    /// Measures suspected pairs again, each alone, [`SECOND_LOOKS`] times.
    fn repeat_suspects(&mut self) -> Result<(), Failure> {
        for _ in 0..SECOND_LOOKS {
            let mut rates = suspects(&self.rail().rates(), &Tolerance::RATES);
            rates.extend(suspects(&self.rail().losses(), &Tolerance::LOSSES));
            let latencies = suspects(&self.rail().round_trips(), &Tolerance::LATENCIES);
            if self.interrupted() || (rates.is_empty() && latencies.is_empty()) {
                return Ok(());
            }
            for pair in rates.into_iter().take(MOST_ALONE) {
                self.rail().rounds += 1;
                self.one_way(&[pair])?;
            }
            for pair in latencies.into_iter().take(MOST_ALONE) {
                self.rail().rounds += 1;
                self.latency(&[pair])?;
            }
        }
        Ok(())
    }

    /// Measures the rates between the first half of the nodes `all` and the other half, over all
    /// rails at once and in both directions.
    fn bisect(&mut self, all: &[usize]) -> Result<(), Failure> {
        let (left, right) = all.split_at(all.len() / 2);
        let task = streams(1, 60, 250, 250);
        let mut meetings = Vec::new();
        for (number, rail) in self.rails.iter().enumerate() {
            let pairs = left.iter().zip(right).map(|(&one, &other)| MatchUp::new(one, other));
            let pairs = pairs.filter(|pair| rail.may(pair));
            meetings.extend(pairs.map(|pair| meeting(pair, number, 2, &task)));
        }
        let met = self.meetings.round(&meetings)?;
        let sum = met.iter().flatten().map(|got| got.forward + got.backward);
        self.bisection = Some(sum.sum()).filter(|&sum: &f64| sum > 0.0);
        Ok(())
    }

    /// Measures `pairs` at once on the current rail. Returns the findings of each, in the same
    /// order; none for a pair that failed or was not tried.
    fn meet(
        &mut self,
        pairs: &[MatchUp],
        streams: u16,
        task: &Task,
    ) -> Result<Vec<Option<Box<PairFindings>>>, Failure> {
        let now = self.now;
        let rail = &self.rails[now];
        let tried: Vec<usize> = (0..pairs.len()).filter(|&at| rail.may(&pairs[at])).collect();
        let meetings: Vec<_> =
            tried.iter().map(|&at| meeting(pairs[at], now, streams, task)).collect();
        let met = self.meetings.round(&meetings)?;
        let mut all: Vec<Option<Box<PairFindings>>> = pairs.iter().map(|_| None).collect();
        for (&at, met) in tried.iter().zip(met) {
            match met {
                Ok(got) => {
                    self.rail().succeed(pairs[at]);
                    all[at] = Some(got);
                }
                Err(PairEnd::Failed(node, reason)) => self.strike(pairs[at], node, &reason),
                Err(_) => {}
            }
        }
        Ok(all)
    }

    /// Records that a pair failed, which may exclude its nodes from the rail ([`Rail::fail`]). If the
    /// agent of `node` has exited, `node` is excluded from all rails.
    fn strike(&mut self, pair: MatchUp, node: usize, reason: &str) {
        self.rail().fail(pair, reason);
        for side in pair.nodes() {
            let gone = side == node && !self.meetings.has(node);
            // A node without an agent is excluded from all rails; otherwise its other NICs are tried.
            if gone {
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

/// Returns the pairs of a matrix that are slower than 93 % of the median; none if the matrix shows
/// no fault.
fn suspects(matrix: &Matrix, tolerance: &Tolerance) -> BTreeSet<MatchUp> {
    if accuse(matrix, tolerance).is_empty() {
        return BTreeSet::new();
    }
    let mut values: Vec<f64> = matrix.measured().map(|cell| cell.2).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2).copied().unwrap_or(0.0);
    let low = matrix.measured().filter(|cell| cell.2 < 0.93 * middle);
    low.map(|(from, to, _)| MatchUp::new(from, to).sorted()).collect()
}
