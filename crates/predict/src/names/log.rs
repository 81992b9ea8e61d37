//! The events of a simulation, and the figures that result from them.

use super::crowd::Crowd;

/// What nodes needed to get the content.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spreading {
    /// The time of the median node from its coming to its end, in downloads at the rate of the wire.
    pub median: f64,
    /// The time of the slowest node, likewise.
    pub last: f64,
    /// The bytes that the origin sent, in lengths of the content.
    pub origin: f64,
    /// The requests to each keeper in the busiest second.
    pub requests: usize,
}

/// What happened, in ticks and pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Log {
    /// The time of each node that got the content, from its coming to its end.
    pub(super) times: Vec<f64>,
    /// The pieces that the origin sent.
    pub(super) origin: f64,
    /// When requests came to the keepers.
    pub(super) requests: Vec<f64>,
}

impl Log {
    /// Notes that a node that came at `came` has the content at `now`, and says so.
    pub(super) fn ends(&mut self, came: f64, now: f64) {
        self.times.push(now - came);
        self.requests.push(now);
    }

    pub(super) fn summary(mut self, crowd: &Crowd) -> Spreading {
        let pieces = f64::from(crowd.pieces());
        self.times.sort_unstable_by(f64::total_cmp);
        let mut seconds: Vec<u64> =
            self.requests.iter().map(|at| (at * crowd.tick()) as u64).collect();
        seconds.sort_unstable();
        let busiest = seconds.chunk_by(u64::eq).map(<[u64]>::len).max();
        Spreading {
            median: self.times[self.times.len() / 2] / pieces,
            last: self.times[self.times.len() - 1] / pieces,
            origin: self.origin / pieces,
            requests: busiest.unwrap_or(0),
        }
    }
}
