//! Measures every pair of nodes, rail by rail and round by round, and keeps what was found whatever
//! happens.

mod meets;
mod rail;
pub mod task;

use std::collections::{BTreeMap, BTreeSet};

use garland_analysis::conditions::Conditions;
use garland_analysis::pairs::{MatchUp, Matrix, Tolerance, accuse, rounds};
use garland_protocol::Task;

pub use self::meets::{Got, Meets, Met};
pub use self::rail::{DirectionRates, GRACE_NS, LoadRates, Rail};
use self::task::{meeting, ping, streams};
use garland_terminal::failure::Failure;

/// The share of what it gets alone that a pair must get beside others, or the network isn't free of
/// contention with so many at once.
const UNDISTURBED: f64 = 0.9;

/// A node that has failed with so many partners in a row is out.
const STRIKES: u32 = 2;

/// What is at fault in a first look is measured so many times again: noise passes, a fault stays.
const SECOND_LOOKS: usize = 2;

/// How far a survey is.
pub struct Progress {
    /// The rail.
    pub rail: usize,
    /// Rounds that are done.
    pub done: usize,
    /// Rounds in all.
    pub all: usize,
}

/// What was measured.
pub struct Survey<'a> {
    meets: Meets<'a>,
    streams: u16,
    nodes: usize,
    /// The rail that is measured now.
    now: usize,
    /// Why a node is out, by its place.
    pub out: Vec<Option<String>>,
    /// Rail by rail.
    pub rails: Vec<Rail>,
    /// Half of the nodes with the other half, by all rails at once and both ways: the sum in bytes
    /// per second.
    pub bisection: Option<f64>,
    /// What about a node may have an influence, by rail and node.
    pub conditions: BTreeMap<(usize, usize), Conditions>,
}

impl<'a> Survey<'a> {
    /// Nothing measured yet between the nodes that meet, by so many rails; `out` are the nodes without
    /// an agent.
    pub fn new(meets: Meets<'a>, out: Vec<Option<String>>, rails: usize, streams: u16) -> Self {
        Self {
            meets,
            streams,
            nodes: out.len(),
            now: 0,
            rails: (0..rails).map(|_| Rail::new(&out)).collect(),
            out,
            bisection: None,
            conditions: BTreeMap::new(),
        }
    }

    /// Whether the user gave up.
    pub fn interrupted(&self) -> bool {
        self.meets.interrupted
    }

    /// Measures everything; `progress` is told of rounds done and in all.
    pub fn run(&mut self, progress: &mut dyn FnMut(Progress)) -> Result<(), Failure> {
        let all: Vec<usize> = (0..self.nodes).filter(|&node| self.out[node].is_none()).collect();
        let seated = |pairs: &Vec<MatchUp>| -> Vec<MatchUp> {
            pairs.iter().map(|&(a, b)| (all[a].min(all[b]), all[a].max(all[b]))).collect()
        };
        let tournament: Vec<Vec<MatchUp>> = rounds(all.len()).iter().map(seated).collect();
        for rail in 0..self.rails.len() {
            self.now = rail;
            if let Some(first) = tournament.first() {
                self.load(first)?;
            }
            let at_once = self.rail().at_once.max(1);
            let apart = tournament.iter().flat_map(|round| round.chunks(at_once));
            let apart: Vec<Vec<MatchUp>> = apart.map(<[MatchUp]>::to_vec).collect();
            for (done, round) in apart.iter().enumerate() {
                progress(Progress { rail, done, all: apart.len() });
                self.round(round)?;
            }
            self.retry()?;
            self.look_again()?;
        }
        self.bisect(&all)
    }

    fn rail(&mut self) -> &mut Rail {
        &mut self.rails[self.now]
    }

    /// Everything of a round's pairs.
    fn round(&mut self, pairs: &[MatchUp]) -> Result<(), Failure> {
        self.rail().rounds += 1;
        self.latency(pairs)?;
        self.one_way(pairs)?;
        for (&(a, b), got) in pairs.iter().zip(self.meet(pairs, 2, &streams(1, 60, 150, 150))?) {
            let Some(got) = got else { continue };
            self.rail().way(a, b).two_way = Some(got.forward);
            self.rail().way(b, a).two_way = Some(got.backward);
        }
        let many = self.streams;
        let task = streams(many, 60, 150, 150);
        for (&(a, b), got) in pairs.iter().zip(self.meet(pairs, many, &task)?) {
            if let Some(got) = got {
                self.rail().way(a, b).many = Some(got.forward);
            }
        }
        Ok(())
    }

    /// Round trips, and the nodes' conditions.
    fn latency(&mut self, pairs: &[MatchUp]) -> Result<(), Failure> {
        for (&(a, b), got) in pairs.iter().zip(self.meet(pairs, 1, &ping())?) {
            let Some(got) = got else { continue };
            for (node, conditions) in [a, b].into_iter().zip(got.conditions) {
                self.note_conditions(node, conditions);
            }
            if let Some(latency) = got.latency {
                self.rail().note_latency((a, b), latency);
            }
        }
        Ok(())
    }

    /// The first ones count: later the load is of what is measured. What happened to the clock
    /// meanwhile counts always.
    fn note_conditions(&mut self, node: usize, mut conditions: Conditions) {
        let known = self.conditions.entry((self.now, node)).or_default();
        if !known.is_empty() {
            conditions.retain(|(name, _)| name == "clock");
        }
        known.append(&mut conditions);
    }

    /// One stream each way, one after the other.
    fn one_way(&mut self, pairs: &[MatchUp]) -> Result<(), Failure> {
        for forward in [1, 0] {
            let got = self.meet(pairs, 1, &streams(forward, 60, 80, 300))?;
            for (&(a, b), got) in pairs.iter().zip(got) {
                let Some(got) = got else { continue };
                let (from, to) = if forward == 1 { (a, b) } else { (b, a) };
                let went = got.went.into_iter().flatten().next();
                self.rail().note_rate(from, to, got.forward + got.backward, went);
            }
        }
        Ok(())
    }

    /// 1, 2, 4 .. all of a round's pairs at once: how many get as much as one alone does.
    fn load(&mut self, pairs: &[MatchUp]) -> Result<(), Failure> {
        let mut counts: Vec<usize> = std::iter::successors(Some(1), |count| Some(count * 2))
            .take_while(|&count| count < pairs.len())
            .collect();
        counts.push(pairs.len());
        for count in counts {
            // One pair alone may be the faulty one: so three are measured, and the best counts.
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
            // The upper median: a slow pair or two among them aren't contention.
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

    /// Pairs that failed between nodes that are there have a second chance.
    fn retry(&mut self) -> Result<(), Failure> {
        let rail = self.rail();
        let there = |pair: &MatchUp| rail.out[pair.0].is_none() && rail.out[pair.1].is_none();
        let again: Vec<MatchUp> = rail.failed.keys().copied().filter(there).collect();
        for pair in again {
            self.rail().failed.remove(&pair);
            self.round(&[pair])?;
        }
        Ok(())
    }

    /// What the first look accuses is looked at again.
    fn look_again(&mut self) -> Result<(), Failure> {
        for _ in 0..SECOND_LOOKS {
            let rates = suspects(&self.rail().rates(), &Tolerance::RATES);
            let latencies = suspects(&self.rail().round_trips(), &Tolerance::LATENCIES);
            if self.interrupted() || (rates.is_empty() && latencies.is_empty()) {
                return Ok(());
            }
            let at_once = self.rail().at_once.max(1);
            for round in rounds(self.nodes) {
                let among = |suspects: &BTreeSet<MatchUp>| -> Vec<MatchUp> {
                    round.iter().copied().filter(|pair| suspects.contains(pair)).collect()
                };
                for pairs in among(&rates).chunks(at_once) {
                    self.rail().rounds += 1;
                    self.one_way(pairs)?;
                }
                for pairs in among(&latencies).chunks(at_once) {
                    self.rail().rounds += 1;
                    self.latency(pairs)?;
                }
            }
        }
        Ok(())
    }

    /// The first half of the nodes with the other half, by all rails at once.
    fn bisect(&mut self, all: &[usize]) -> Result<(), Failure> {
        let (one, other) = all.split_at(all.len() / 2);
        let task = streams(1, 60, 250, 250);
        let mut meetings = Vec::new();
        for (number, rail) in self.rails.iter().enumerate() {
            let pairs = one.iter().copied().zip(other.iter().copied());
            let pairs = pairs.filter(|pair| rail.may(pair));
            meetings.extend(pairs.map(|pair| meeting(pair, number, 2, &task)));
        }
        let met = self.meets.round(&meetings)?;
        let sum = met.iter().map(|met| match met {
            Met::Got(got) => got.forward + got.backward,
            Met::Failed(..) | Met::Not => 0.0,
        });
        self.bisection = Some(sum.sum()).filter(|&sum: &f64| sum > 0.0);
        Ok(())
    }

    /// Lets pairs meet at once; what each found, none for those that failed or weren't tried.
    fn meet(
        &mut self,
        pairs: &[MatchUp],
        streams: u16,
        task: &Task,
    ) -> Result<Vec<Option<Box<Got>>>, Failure> {
        let (now, rail) = (self.now, &self.rails[self.now]);
        let tried: Vec<usize> = (0..pairs.len()).filter(|&at| rail.may(&pairs[at])).collect();
        let meetings: Vec<_> =
            tried.iter().map(|&at| meeting(pairs[at], now, streams, task)).collect();
        let met = self.meets.round(&meetings)?;
        let mut all: Vec<Option<Box<Got>>> = pairs.iter().map(|_| None).collect();
        for (&at, met) in tried.iter().zip(met) {
            let (a, b) = pairs[at];
            match met {
                Met::Got(got) => {
                    let strikes = &mut self.rail().strikes;
                    (strikes[a], strikes[b]) = (0, 0);
                    all[at] = Some(got);
                }
                Met::Failed(node, reason) => self.strike(pairs[at], node, &reason),
                Met::Not => {}
            }
        }
        Ok(all)
    }

    /// A pair has failed, by the fault of `node` as it seems.
    fn strike(&mut self, pair: MatchUp, node: usize, reason: &str) {
        self.rail().failed.insert(pair, reason.to_owned());
        for side in [pair.0, pair.1] {
            let gone = side == node && !self.meets.has(node);
            let rail = self.rail();
            rail.strikes[side] += 1;
            let struck_out = gone || rail.strikes[side] >= STRIKES;
            if struck_out {
                rail.out[side].get_or_insert_with(|| reason.to_owned());
            }
            // Whose agent is gone is out of all rails; else there are other NICs to be tried.
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

/// The pairs that are low in a matrix that accuses somebody.
fn suspects(matrix: &Matrix, tolerance: &Tolerance) -> BTreeSet<MatchUp> {
    if accuse(matrix, tolerance).is_empty() {
        return BTreeSet::new();
    }
    let mut values: Vec<f64> = matrix.measured().map(|cell| cell.2).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2).copied().unwrap_or(0.0);
    let low = matrix.measured().filter(|cell| cell.2 < 0.93 * middle);
    low.map(|(a, b, _)| (a.min(b), a.max(b))).collect()
}
