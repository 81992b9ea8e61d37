//! Measures every pair of nodes, round by round, and keeps what was found whatever happens.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use garland_core::analysis::pairs::{MatchUp, Matrix, Tolerance, accuse, rounds};
use garland_core::proto::{
    Finding, PingKind, PingMeans, PingPoint, PingTask, PingWait, StreamTask, StreamWent, Summary,
    TargetState, Task,
};
use garland_node::{Pair, PairEnd, Party};
use garland_sys::signal::Interrupts;

use crate::failure::{Failure, OrFailure};

/// Bytes of one write where nothing else is asked for.
const WRITE: u32 = 128 << 10;

/// The share of what it gets alone that a pair must get beside others, or the network isn't free of
/// contention with so many at once.
const UNDISTURBED: f64 = 0.9;

/// A node that has failed with so many partners in a row is out.
const STRIKES: u32 = 2;

/// What is granted to every round trip before they are compared: below that, wires aren't told from
/// what schedulers and interrupts do.
pub const GRACE_NS: u64 = 250_000;

/// What is at fault in a first look is measured so many times again: noise passes, a fault stays.
const SECOND_LOOKS: usize = 2;

/// One way of a pair.
#[derive(Clone, Debug, Default)]
pub struct Way {
    /// One stream, in bytes per second.
    pub one: Option<f64>,
    /// Beside one the other way.
    pub two_way: Option<f64>,
    /// Several streams together.
    pub many: Option<f64>,
    /// The kernel's account of the one stream.
    pub went: Option<StreamWent>,
}

/// So many pairs at once.
#[derive(Clone, Debug)]
pub struct Load {
    /// How many.
    pub pairs: usize,
    /// What they got, one way each, in bytes per second; the lowest first.
    pub rates: Vec<f64>,
}

/// What was measured.
pub struct Survey<'a> {
    party: Party,
    interrupts: &'a Interrupts,
    streams: u16,
    nodes: usize,
    strikes: Vec<u32>,
    /// Why a node is out, by its place.
    pub out: Vec<Option<String>>,
    /// Both ways of every pair.
    pub ways: BTreeMap<(usize, usize), Way>,
    /// Round trips of 8 bytes by pair.
    pub latencies: BTreeMap<MatchUp, Summary>,
    /// Pairs that couldn't be measured, and why.
    pub failed: BTreeMap<MatchUp, String>,
    /// Pairs at once.
    pub loads: Vec<Load>,
    /// Half of the nodes with the other half, all at once and both ways: the sum in bytes per
    /// second.
    pub bisection: Option<f64>,
    /// How many pairs were measured at once.
    pub at_once: usize,
    /// Rounds.
    pub rounds: usize,
    /// Whether the user gave up.
    pub interrupted: bool,
}

/// What came of one meeting.
#[derive(Default)]
struct Got {
    forward: f64,
    backward: f64,
    went: [Option<StreamWent>; 2],
    latency: Option<Summary>,
}

impl<'a> Survey<'a> {
    /// Nothing measured yet between the agents of `party`; `out` are the nodes without one.
    pub fn new(
        party: Party,
        out: Vec<Option<String>>,
        streams: u16,
        interrupts: &'a Interrupts,
    ) -> Self {
        let nodes = out.len();
        Self {
            party,
            interrupts,
            streams,
            nodes,
            strikes: vec![0; nodes],
            out,
            ways: BTreeMap::new(),
            latencies: BTreeMap::new(),
            failed: BTreeMap::new(),
            loads: Vec::new(),
            bisection: None,
            at_once: 1,
            rounds: 0,
            interrupted: false,
        }
    }

    /// Measures everything; `progress` is told of rounds done and in all.
    pub fn run(&mut self, progress: &mut dyn FnMut(usize, usize)) -> Result<(), Failure> {
        let all: Vec<usize> = (0..self.nodes).filter(|&node| self.out[node].is_none()).collect();
        let seated = |pairs: &Vec<MatchUp>| -> Vec<MatchUp> {
            pairs.iter().map(|&(a, b)| (all[a].min(all[b]), all[a].max(all[b]))).collect()
        };
        let tournament: Vec<Vec<MatchUp>> = rounds(all.len()).iter().map(seated).collect();
        if let Some(first) = tournament.first() {
            self.load(first)?;
        }
        let apart = tournament.iter().flat_map(|round| round.chunks(self.at_once.max(1)));
        let apart: Vec<Vec<MatchUp>> = apart.map(<[MatchUp]>::to_vec).collect();
        for (done, round) in apart.iter().enumerate() {
            progress(done, apart.len());
            self.round(round)?;
        }
        self.retry()?;
        self.look_again()?;
        self.bisect(&all)
    }

    /// The rates of one stream one way, in bytes per second.
    pub fn rates(&self) -> Matrix {
        Matrix::by(self.nodes, |from, to| self.ways.get(&(from, to))?.one)
    }

    /// How many shortest round trips of 8 bytes go into a second, each with [`GRACE_NS`] added.
    pub fn round_trips(&self) -> Matrix {
        Matrix::by(self.nodes, |from, to| {
            let latency = self.latencies.get(&(from.min(to), from.max(to)))?;
            Some(1e9 / (latency.min + GRACE_NS) as f64)
        })
    }

    /// Everything of a round's pairs.
    fn round(&mut self, pairs: &[MatchUp]) -> Result<(), Failure> {
        self.rounds += 1;
        self.latency(pairs)?;
        self.one_way(pairs)?;
        for (&(a, b), got) in pairs.iter().zip(self.meet(pairs, 2, &streams(1, 60, 150, 150))?) {
            let Some(got) = got else { continue };
            self.way(a, b).two_way = Some(got.forward);
            self.way(b, a).two_way = Some(got.backward);
        }
        let many = self.streams;
        for (&(a, b), got) in
            pairs.iter().zip(self.meet(pairs, many, &streams(many, 60, 150, 150))?)
        {
            if let Some(got) = got {
                self.way(a, b).many = Some(got.forward);
            }
        }
        Ok(())
    }

    /// Round trips. Where there are some already, those with the shortest count.
    fn latency(&mut self, pairs: &[MatchUp]) -> Result<(), Failure> {
        for (&pair, got) in pairs.iter().zip(self.meet(pairs, 1, &ping())?) {
            let Some(latency) = got.and_then(|got| got.latency) else { continue };
            if self.latencies.get(&pair).is_none_or(|before| latency.min < before.min) {
                self.latencies.insert(pair, latency);
            }
        }
        Ok(())
    }

    /// One stream each way, one after the other. Where there is a rate already, the larger counts:
    /// what else goes on takes away and never gives.
    fn one_way(&mut self, pairs: &[MatchUp]) -> Result<(), Failure> {
        for forward in [1, 0] {
            let got = self.meet(pairs, 1, &streams(forward, 60, 80, 300))?;
            for (&(a, b), got) in pairs.iter().zip(got) {
                let Some(got) = got else { continue };
                let (from, to) = if forward == 1 { (a, b) } else { (b, a) };
                let rate = got.forward + got.backward;
                let way = self.way(from, to);
                if way.one.is_none_or(|before| before < rate) {
                    way.one = Some(rate);
                    way.went = got.went.into_iter().flatten().next();
                }
            }
        }
        Ok(())
    }

    fn way(&mut self, from: usize, to: usize) -> &mut Way {
        self.ways.entry((from, to)).or_default()
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
            let alone = self.loads.first().and_then(|load| load.rates.last().copied());
            // The upper median: a slow pair or two among them aren't contention.
            let middle = best.get(best.len() / 2).copied();
            if let (Some(alone), Some(middle)) = (alone, middle)
                && middle >= UNDISTURBED * alone
            {
                self.at_once = count;
            }
            self.loads.push(Load { pairs: count, rates: best });
        }
        Ok(())
    }

    /// Pairs that failed between nodes that are there have a second chance.
    fn retry(&mut self) -> Result<(), Failure> {
        let there = |pair: &MatchUp| self.out[pair.0].is_none() && self.out[pair.1].is_none();
        let again: Vec<MatchUp> = self.failed.keys().copied().filter(there).collect();
        for pair in again {
            self.failed.remove(&pair);
            self.round(&[pair])?;
        }
        Ok(())
    }

    /// What the first look accuses is looked at again.
    fn look_again(&mut self) -> Result<(), Failure> {
        for _ in 0..SECOND_LOOKS {
            let rates = suspects(&self.rates(), &Tolerance::RATES);
            let latencies = suspects(&self.round_trips(), &Tolerance::LATENCIES);
            if self.interrupted || (rates.is_empty() && latencies.is_empty()) {
                return Ok(());
            }
            for round in rounds(self.nodes) {
                let among = |suspects: &BTreeSet<MatchUp>| -> Vec<MatchUp> {
                    round.iter().copied().filter(|pair| suspects.contains(pair)).collect()
                };
                for pairs in among(&rates).chunks(self.at_once.max(1)) {
                    self.rounds += 1;
                    self.one_way(pairs)?;
                }
                for pairs in among(&latencies).chunks(self.at_once.max(1)) {
                    self.rounds += 1;
                    self.latency(pairs)?;
                }
            }
        }
        Ok(())
    }

    /// The first half of the nodes with the other half.
    fn bisect(&mut self, all: &[usize]) -> Result<(), Failure> {
        let (one, other) = all.split_at(all.len() / 2);
        let pairs: Vec<MatchUp> = one.iter().copied().zip(other.iter().copied()).collect();
        let got = self.meet(&pairs, 2, &streams(1, 60, 250, 250))?;
        let sum: f64 = got.iter().flatten().map(|got| got.forward + got.backward).sum();
        self.bisection = Some(sum).filter(|&sum| sum > 0.0);
        Ok(())
    }

    /// Lets pairs meet at once; what each found, none for those that failed or weren't tried.
    fn meet(
        &mut self,
        pairs: &[MatchUp],
        streams: u16,
        task: &Task,
    ) -> Result<Vec<Option<Got>>, Failure> {
        let mut got: Vec<Option<Got>> = pairs.iter().map(|_| None).collect();
        let fit = |&(a, b): &MatchUp| self.out[a].is_none() && self.out[b].is_none();
        let known = |pair: &MatchUp| !self.failed.contains_key(pair);
        let tried: Vec<usize> = (0..pairs.len())
            .filter(|&at| !self.interrupted && fit(&pairs[at]) && known(&pairs[at]))
            .collect();
        let meetings: Vec<Pair> =
            tried.iter().map(|&at| meeting(pairs[at], streams, task)).collect();
        let mut found: Vec<Got> = tried.iter().map(|_| Got::default()).collect();
        let ends = self
            .party
            .round(&meetings, Some(self.interrupts), &mut |at, node, finding| {
                if let (Some(got), Some(pair)) = (found.get_mut(at), meetings.get(at)) {
                    got.take(&finding, node == pair.to);
                }
            })
            .or_nothing("waiting for the agents")?;
        for ((&at, end), found) in tried.iter().zip(ends).zip(found) {
            let (a, b) = pairs[at];
            match end {
                PairEnd::Done => {
                    (self.strikes[a], self.strikes[b]) = (0, 0);
                    got[at] = Some(found);
                }
                PairEnd::Interrupted => self.interrupted = true,
                PairEnd::Failed(node, reason) => self.strike(pairs[at], node, &reason),
            }
        }
        Ok(got)
    }

    /// A pair has failed, by the fault of `node` as it seems.
    fn strike(&mut self, pair: MatchUp, node: usize, reason: &str) {
        self.failed.insert(pair, reason.to_owned());
        for side in [pair.0, pair.1] {
            self.strikes[side] += 1;
            let gone = side == node && !self.party.has(node);
            if (gone || self.strikes[side] >= STRIKES) && self.out[side].is_none() {
                self.out[side] = Some(reason.to_owned());
            }
        }
    }
}

impl Got {
    /// A finding, of the agent that was dialled or of the one that dialled.
    fn take(&mut self, finding: &Finding, dialled: bool) {
        match finding {
            Finding::StreamCame(came) => {
                let rate = came.bytes as f64 * 1e9 / came.elapsed_ns.max(1) as f64;
                *(if dialled { &mut self.forward } else { &mut self.backward }) += rate;
            }
            Finding::StreamWent(went) => self.went[usize::from(dialled)] = Some(*went),
            Finding::Ping(took) => self.latency = Some(took.sojourn),
            Finding::Timer(_) | Finding::Conditions(_) | Finding::Fabric(_) => {}
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

fn meeting((from, to): MatchUp, streams: u16, task: &Task) -> Pair {
    let limit = Duration::from_secs(3);
    Pair { from, to, rail: 0, streams, limit, pin: None, task: task.clone() }
}

fn streams(forward: u16, warm_up_ms: u32, least_ms: u32, most_ms: u32) -> Task {
    Task::Stream(StreamTask { forward, write: WRITE, warm_up_ms, least_ms, most_ms })
}

/// Messages of 8 bytes there and back.
fn ping() -> Task {
    let point = PingPoint {
        kind: PingKind::Msg,
        size: 8,
        depth: 1,
        rate: None,
        count: Some(100),
        time_ms: 100,
    };
    Task::Ping(PingTask {
        provider: None,
        means: PingMeans::Tcp,
        wait: PingWait::Block,
        target: TargetState::Asleep,
        points: vec![point],
    })
}
