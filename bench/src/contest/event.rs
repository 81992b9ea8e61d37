//! A contest as it stands in a benchmark's table.

use super::{Contest, Gauge, Goal, Tool};

/// A contest whose tools are functions; Garland's comes first.
pub(crate) struct Event<P: 'static> {
    /// What it is.
    pub(crate) title: &'static str,
    /// What figures are in.
    pub(crate) unit: &'static str,
    /// What is to be shown.
    pub(crate) goal: Goal,
    /// The tools.
    pub(crate) tools: &'static [Tool<P>],
}

impl<P> Event<P> {
    /// One of rates, in MB/s.
    pub(crate) const fn rate(title: &'static str, goal: Goal, tools: &'static [Tool<P>]) -> Self {
        Self { title, unit: "MB/s", goal, tools }
    }

    /// It can be held.
    pub(crate) fn contest(&self) -> Contest<P> {
        let gauges = self.tools.iter().map(|tool| -> Box<dyn Gauge<P>> { Box::new(*tool) });
        let Self { title, unit, goal, .. } = *self;
        Contest { title, unit, goal, gauges: gauges.collect() }
    }
}

#[cfg(test)]
/// Looks that every contest has a title of its own, and a peer or a bound.
#[track_caller]
pub(crate) fn assert_sound<P>(contests: &[Contest<P>]) {
    for (at, contest) in contests.iter().enumerate() {
        assert!(contests[..at].iter().all(|other| other.title != contest.title));
        let alone = contest.gauges.len() == 1;
        assert_eq!(alone, matches!(contest.goal, Goal::Below(_)), "{}", contest.title);
    }
}
