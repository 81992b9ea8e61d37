//! Evidence for the cause of a fault, and for what it costs.

use garland_analysis::pairs::{Component, median};
use garland_core::units::Rate;
use garland_protocol::operation::wires::{DirectionRates, Rail, Survey};

/// A loss below this percentage is no evidence.
const LOST: f64 = 0.1;

/// A stream that is slower by this factor shows what a loss costs.
const COSTS: f64 = 1.05;

/// Several pairs at once that get no more than this factor of one pair's rate share a wire.
const SHARED: f64 = 1.3;

/// What the kernel counted of the streams over a part, and what further measurements of it have
/// shown.
pub struct Evidence {
    /// For each direction: sender, receiver, segments, and those that were sent again.
    ways: Vec<(usize, usize, f64, f64)>,
    /// The fraction of the time in which the receiver's window was full.
    window: f64,
    /// The number of pairs at once, their rate together, and that of one pair, in bytes per second.
    across: Option<(usize, f64, f64)>,
    /// The median rate, divided by that of a stream of a second.
    pub slower: Option<f64>,
}

impl Evidence {
    /// Collects what is known of a part, on `rail` or on all rails.
    pub fn collect(part: &Component, rail: Option<usize>, survey: &Survey) -> Self {
        let rails = survey.rails.iter().enumerate();
        let rails: Vec<&Rail> = rails
            .filter(|(at, _)| rail.is_none_or(|rail| *at == rail))
            .map(|(_, found)| found)
            .collect();
        let ways: Vec<(usize, usize, &DirectionRates)> = rails
            .iter()
            .flat_map(|found| &found.directions)
            .filter(|((from, to), _)| part.carries(*from, *to))
            .map(|((from, to), way)| (*from, *to, way))
            .collect();
        let mut busy = 0;
        let mut window = 0;
        for went in ways.iter().filter_map(|(.., way)| way.went) {
            busy = went.busy_us.saturating_add(busy);
            window = went.window_limited_us.saturating_add(window);
        }
        let one = median(ways.iter().filter_map(|(.., way)| way.one).collect());
        let across = rails.iter().find_map(|found| found.across.get(part));
        let slower = rails.iter().find_map(|found| {
            let all = found.rates().measured().map(|cell| cell.2).collect();
            Some(median(all)? / found.sustained.get(part)?.max(1.0))
        });
        let counted = |(from, to, way): &(usize, usize, &DirectionRates)| {
            let (segments, again) = way.sent();
            (*from, *to, segments, again)
        };
        Self {
            ways: ways.iter().map(counted).collect(),
            window: window as f64 / busy.max(1) as f64,
            across: across.zip(one).map(|(across, one)| (across.pairs, across.rate, one)),
            slower,
        }
    }

    /// Returns the fraction of segments that were lost; `None` if none were counted.
    pub fn lost(&self) -> Option<f64> {
        self.lost_on(|_, _| true)
    }

    /// Returns the fractions of segments that were lost from a node and to it.
    pub fn by_direction(&self, node: usize) -> [Option<f64>; 2] {
        [self.lost_on(|from, _| from == node), self.lost_on(|_, to| to == node)]
    }

    fn lost_on(&self, concerns: impl Fn(usize, usize) -> bool) -> Option<f64> {
        let ways = self.ways.iter().filter(|(from, to, ..)| concerns(*from, *to));
        let (segments, again) = ways.fold((0.0, 0.0), |sum, way| (sum.0 + way.2, sum.1 + way.3));
        (segments > 0.0).then(|| again / segments)
    }

    /// Returns whether pairs over a slow part share a wire, in words; empty if that is unknown.
    fn sharing(&self) -> String {
        let Some((pairs, together, one)) = self.across.filter(|across| across.0 > 1) else {
            return String::new();
        };
        let rate = Rate::from_bytes_per_second(together as u64);
        let verdict = match together < SHARED * one {
            true => "they share a wire",
            false => "each of them is slow, but no wire is full",
        };
        format!("; {pairs} pairs at once have {rate} together: {verdict}")
    }

    /// Returns the cause of a low rate, in words; empty if nothing is known.
    pub fn cause(&self) -> String {
        let sharing = self.sharing();
        let lost = self.lost().unwrap_or(0.0) * 100.0;
        if lost >= LOST {
            format!(
                "{sharing} ({lost:.1} % of its segments were retransmitted: a cable, a NIC or a full port \
                 drops them)"
            )
        } else if self.window >= 0.5 {
            format!(
                "{sharing} (for {:.0} % of the time the receiver's window was full: a host is too slow)",
                self.window * 100.0
            )
        } else {
            sharing
        }
    }

    /// Returns what a loss costs a copy, in words; empty if it was not measured.
    pub fn cost(&self) -> String {
        let Some(slower) = self.slower else { return String::new() };
        let stream =
            format!("; a stream of a second has {:.0} % of its peers' rate", 100.0 / slower);
        match slower >= COSTS {
            true => format!("{stream}: a copy over it takes at least {slower:.1} times as long"),
            false => format!("{stream}, but a copy waits for every block and may lose more"),
        }
    }
}
