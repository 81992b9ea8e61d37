//! The measurements of one rail, which is one NIC of every node.

use std::collections::{BTreeMap, BTreeSet};

use garland_analysis::pairs::{Component, Expected, MatchUp, Matrix, median, rounds};

use crate::measure::{Summary, TxStats};

/// The number of different partners in a row with which a node must fail to be excluded.
const STRIKES: usize = 2;

/// Nanoseconds that are added to every round trip before they are compared: smaller differences
/// come from schedulers and interrupts.
pub const GRACE_NS: u64 = 250_000;

/// The fraction of lost segments that is added to every loss before they are compared, and how many
/// segments: fewer are lost when a stream starts, or are sent again although they only came late.
const GRACE_LOST: f64 = 1e-3;
const GRACE_SEGMENTS: f64 = 3.0;

/// The number of streams of a direction from which on the one that lost the most does not count.
const SEVERAL: usize = 3;

/// A rate below this fraction of what both nodes reach elsewhere may come from pairs measured at
/// once.
const WHOLE: f64 = 0.93;

/// The rates of one direction of a pair in bytes per second; none if not measured.
#[derive(Clone, Debug, Default)]
pub struct DirectionRates {
    /// The rate of one stream alone.
    pub one: Option<f64>,
    /// The rate of one stream while another one runs in the opposite direction.
    pub two_way: Option<f64>,
    /// The total rate of several streams; measured in one direction of each pair only.
    pub many: Option<f64>,
    /// The statistics of the single stream from the sender's kernel.
    pub went: Option<TxStats>,
    /// Of each single stream, the segments that were sent, and of these the retransmitted ones.
    sent: Vec<(u32, u32)>,
}

impl DirectionRates {
    /// Returns the segments that were sent and the retransmitted ones.
    pub fn sent(&self) -> (f64, f64) {
        sum(&self.sent)
    }

    /// Returns the same of several streams without the one that lost the most: a queue that
    /// overflows once is no fault.
    fn sent_usually(&self) -> (f64, f64) {
        let lost = |(segments, again): (u32, u32)| f64::from(again) / f64::from(segments);
        let mut streams = self.sent.clone();
        streams.sort_by(|a, b| lost(*a).total_cmp(&lost(*b)));
        if streams.len() >= SEVERAL {
            streams.pop();
        }
        sum(&streams)
    }
}

/// Returns the sums of both numbers.
fn sum(streams: &[(u32, u32)]) -> (f64, f64) {
    let sum_of = |of: fn(&(u32, u32)) -> u32| streams.iter().map(|it| f64::from(of(it))).sum();
    (sum_of(|it| it.0), sum_of(|it| it.1))
}

/// Pairs between two groups of nodes, measured at once.
#[derive(Clone, Copy, Debug)]
pub struct AtOnce {
    /// The number of pairs.
    pub pairs: usize,
    /// The sum of their rates in bytes per second.
    pub rate: f64,
}

/// The rates that pairs reached when a number of them were measured at once.
#[derive(Clone, Debug)]
pub struct LoadRates {
    /// The number of pairs measured at once.
    pub pairs: usize,
    /// For each pair, the rate of its stream in bytes per second; the lowest first.
    pub rates: Vec<f64>,
}

/// The measurements of one rail. Nodes are identified by their index in the node list.
#[derive(Clone, Debug)]
pub struct Rail {
    /// For each node, the partners with which it failed since it last succeeded with any.
    strikes: Vec<BTreeSet<usize>>,
    /// For each node, why it is excluded from this rail; none if it is not.
    pub out: Vec<Option<String>>,
    /// For each sender and receiver, the rates in this direction.
    pub directions: BTreeMap<(usize, usize), DirectionRates>,
    /// For each pair, the distribution of its round trips of 8 bytes.
    pub latencies: BTreeMap<MatchUp, Summary>,
    /// For each pair that could not be measured, the reason.
    pub failed: BTreeMap<MatchUp, String>,
    /// The rates with growing numbers of pairs at once.
    pub loads: Vec<LoadRates>,
    /// The number of pairs that may be measured at once without disturbing each other.
    pub at_once: usize,
    /// The pairs that were measured while no other one was.
    pub alone: BTreeSet<MatchUp>,
    /// The number of pairs whose rates were removed.
    pub forgotten: usize,
    /// For an accused link between two groups, what it carries of several pairs.
    pub across: BTreeMap<Component, AtOnce>,
    /// For a part that loses segments, the rate of a stream of a second, in bytes per second.
    pub sustained: BTreeMap<Component, f64>,
    /// The number of rounds so far.
    pub rounds: usize,
}

impl Rail {
    /// Creates a rail without measurements. For each node, `out` has the error if it has no agent.
    pub fn new(out: &[Option<String>]) -> Self {
        Self {
            strikes: vec![BTreeSet::new(); out.len()],
            out: out.to_vec(),
            directions: BTreeMap::new(),
            latencies: BTreeMap::new(),
            failed: BTreeMap::new(),
            loads: Vec::new(),
            at_once: 1,
            alone: BTreeSet::new(),
            forgotten: 0,
            across: BTreeMap::new(),
            sustained: BTreeMap::new(),
            rounds: 0,
        }
    }

    /// Returns the rates of one stream in bytes per second, by sender and receiver.
    pub fn rates(&self) -> Matrix {
        Matrix::by(self.out.len(), |from, to| self.directions.get(&(from, to))?.one)
    }

    /// Returns, for each pair, the inverse of its shortest round trip plus [`GRACE_NS`], per
    /// second. Higher values are better, as for rates.
    pub fn round_trips(&self) -> Matrix {
        Matrix::by(self.out.len(), |from, to| {
            let latency = self.latencies.get(&MatchUp::new(from, to).sorted())?;
            Some(1e9 / latency.min.saturating_add(GRACE_NS) as f64)
        })
    }

    /// Returns, for each direction, the inverse of the fraction of segments that were lost, with
    /// [`GRACE_LOST`] and [`GRACE_SEGMENTS`] added. Higher values are better, as for rates.
    pub fn losses(&self) -> Matrix {
        let sent: BTreeMap<(usize, usize), (f64, f64)> =
            self.directions.iter().map(|(ends, way)| (*ends, way.sent_usually())).collect();
        // The same grace for all: directions that were measured again have no less of it than
        // others.
        let segments = sent.values().map(|sent| sent.0).filter(|segments| *segments > 0.0);
        let grace = GRACE_LOST + GRACE_SEGMENTS / median(segments.collect()).unwrap_or(1.0);
        Matrix::by(self.out.len(), |from, to| {
            let (segments, again) = sent.get(&(from, to)).filter(|sent| sent.0 > 0.0)?;
            Some(1.0 / (again / segments + grace))
        })
    }

    /// Returns the pairs that were slower beside others than their nodes are elsewhere: they may
    /// share a wire with the others. Pairs without a common node follow each other.
    pub fn doubtful(&self) -> Vec<MatchUp> {
        let rates = self.rates();
        let expected = Expected::from_matrix(&rates);
        let is_low = |from, to| expected.share(from, to).is_some_and(|share| share < WHOLE);
        let is_doubtful = |pair: &MatchUp| {
            let &MatchUp { one, other } = pair;
            !self.alone.contains(pair) && (is_low(one, other) || is_low(other, one))
        };
        rounds(self.out.len()).concat().into_iter().filter(is_doubtful).collect()
    }

    /// Removes the rates of a pair, since others may have lowered them.
    pub fn forget(&mut self, pair: MatchUp) {
        self.forgotten += 1;
        let is_of_pair = |from, to| MatchUp::new(from, to).sorted() == pair.sorted();
        self.directions.retain(|&(from, to), _| !is_of_pair(from, to));
    }

    /// Returns the rates from one node to another; adds an entry without rates if missing.
    pub fn way(&mut self, from: usize, to: usize) -> &mut DirectionRates {
        self.directions.entry((from, to)).or_default()
    }

    /// Records the round trips of a pair. Of several measurements, the one with the shortest round
    /// trip is kept.
    pub fn note_latency(&mut self, pair: MatchUp, latency: Summary) {
        if self.latencies.get(&pair).is_none_or(|before| latency.min < before.min) {
            self.latencies.insert(pair, latency);
        }
    }

    /// Records the rate of one stream. Of several measurements, the highest is kept, since other
    /// traffic only lowers rates.
    pub fn note_rate(&mut self, from: usize, to: usize, rate: f64, went: Option<TxStats>) {
        self.note_sent(from, to, went);
        let way = self.way(from, to);
        if way.one.is_none_or(|before| before < rate) {
            way.one = Some(rate);
            way.went = went;
        }
    }

    /// Records what a single stream lost, if that is known.
    pub fn note_sent(&mut self, from: usize, to: usize, went: Option<TxStats>) {
        let sent = went.filter(|went| went.segments > 0);
        self.way(from, to).sent.extend(sent.map(|went| (went.segments, went.retransmits)));
    }

    /// Records that a pair was measured, which clears both of its nodes.
    pub fn succeed(&mut self, pair: MatchUp) {
        for node in pair.nodes() {
            self.strikes[node].clear();
        }
    }

    /// Records that a pair failed for `reason`. A node that has failed with [`STRIKES`] different
    /// partners in a row is excluded. Failing again with the same one says nothing of it: that one
    /// may be at fault, or hostile.
    pub fn fail(&mut self, pair: MatchUp, reason: &str) {
        self.failed.insert(pair.sorted(), reason.to_owned());
        for (node, partner) in [(pair.one, pair.other), (pair.other, pair.one)] {
            self.strikes[node].insert(partner);
            if self.strikes[node].len() >= STRIKES {
                self.out[node].get_or_insert_with(|| reason.to_owned());
            }
        }
    }

    /// Returns whether a pair can be measured: neither of its nodes is excluded from this rail, and
    /// the pair has not failed on it.
    pub fn may(&self, pair: &MatchUp) -> bool {
        let is_there = pair.nodes().iter().all(|node| self.out[*node].is_none());
        is_there && !self.failed.contains_key(&pair.sorted())
    }
}

#[cfg(test)]
mod tests {
    use garland_analysis::pairs::{Tolerance, accuse};

    use super::*;

    #[test]
    fn a_hostile_partner_excludes_itself_and_nobody_else() {
        let mut rail = Rail::new(&[None, None, None]);
        let hostile = 2;
        // Its pair with an honest node fails, and again when it is repeated.
        for _ in 0..3 {
            rail.fail(MatchUp::new(0, hostile), "closed");
        }
        assert_eq!(rail.out, [None, None, None]);
        rail.succeed(MatchUp::new(0, 1));
        rail.fail(MatchUp::new(hostile, 1), "closed");
        assert_eq!(rail.out, [None, None, Some("closed".to_owned())]);
        // Whoever fails with several in a row is excluded, unless one succeeds in between.
        let mut rail = Rail::new(&[None, None, None, None]);
        rail.fail(MatchUp::new(0, 1), "closed");
        rail.succeed(MatchUp::new(0, 2));
        rail.fail(MatchUp::new(0, 3), "closed");
        assert!(rail.out.iter().all(Option::is_none));
        rail.fail(MatchUp::new(1, 0), "no route");
        assert_eq!(rail.out[0].as_deref(), Some("no route"));
    }

    /// A rail of six nodes on which all pairs were measured at the rate that `rate` returns, in two
    /// streams of 1000 segments, of which `again` were retransmitted.
    fn rail(rate: impl Fn(usize, usize) -> f64, again: impl Fn(usize, usize) -> u32) -> Rail {
        let mut rail = Rail::new(&[const { None }; 6]);
        for (from, to) in (0..6).flat_map(|from| (0..6).map(move |to| (from, to))) {
            if from != to {
                rail.note_rate(from, to, rate(from, to), Some(sent(again(from, to))));
                rail.note_sent(from, to, Some(sent(again(from, to))));
            }
        }
        rail
    }

    fn sent(retransmits: u32) -> TxStats {
        TxStats { segments: 1000, retransmits, ..TxStats::default() }
    }

    fn accused(rail: &Rail) -> Vec<Component> {
        accuse(&rail.losses(), &Tolerance::LOSSES).into_iter().map(|found| found.part).collect()
    }

    #[test]
    fn pairs_that_may_have_shared_a_wire_are_doubtful_until_they_were_measured_alone() {
        let slow = |from: usize, to: usize| if from == 5 || to == 5 { 30.0 } else { 94.0 };
        assert_eq!(rail(slow, |_, _| 0).doubtful(), [], "a slow node's wire is its own");
        let beside = |from: usize, to: usize| if from + to == 5 { 47.0 } else { 94.0 };
        let mut first = rail(beside, |_, _| 0);
        assert_eq!(first.doubtful().len(), 3, "{:?}", first.doubtful());
        first.alone.insert(MatchUp::new(0, 5));
        first.note_rate(1, 4, 94.0, None);
        first.note_rate(4, 1, 94.0, None);
        assert_eq!(first.doubtful(), [MatchUp::new(2, 3)]);
        first.forget(MatchUp::new(2, 3));
        assert_eq!((first.doubtful(), first.rates().get(3, 2)), (vec![], None));
    }

    #[test]
    fn the_end_that_loses_is_named_and_a_queue_that_overflows_once_is_not() {
        assert_eq!(accused(&rail(|_, _| 94.0, |_, _| 0)), []);
        let both = rail(|_, _| 94.0, |from, to| if from == 2 || to == 2 { 20 } else { 0 });
        assert_eq!(accused(&both), [Component::Node(2)]);
        let sends = rail(|_, _| 94.0, |from, _| if from == 2 { 10 } else { 1 });
        assert_eq!(accused(&sends), [Component::Sending(2)]);
        // All lose as much as the others: that is how these wires are.
        assert_eq!(accused(&rail(|_, _| 94.0, |_, _| 20)), []);
        // Directions of other pairs were measured more often than those of the node that loses.
        let mut often = rail(|_, _| 94.0, |_, to| if to == 1 { 15 } else { 0 });
        for (from, to) in [(2, 3), (3, 2), (4, 5), (5, 4), (2, 5), (3, 4), (4, 2), (5, 0), (0, 4)] {
            (0..6).for_each(|_| often.note_sent(from, to, Some(sent(0))));
        }
        assert_eq!(accused(&often), [Component::Receiving(1)]);
        let mut burst = rail(|_, _| 94.0, |_, _| 0);
        burst.note_sent(0, 1, Some(sent(100)));
        assert_eq!(accused(&burst), []);
    }
}
