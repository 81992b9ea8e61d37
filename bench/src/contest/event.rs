//! A contest as a constant.

use super::{Contest, Gauge, Goal, Tool};

/// A contest whose tools are functions; Garland comes first.
pub(crate) struct Event<P: 'static> {
    /// The contest's title.
    pub(crate) title: &'static str,
    /// The unit of figures.
    pub(crate) unit: &'static str,
    /// The goal.
    pub(crate) goal: Goal,
    /// The tools, Garland first.
    pub(crate) tools: &'static [Tool<P>],
}

impl<P> Event<P> {
    /// A contest of rates in MB/s.
    pub(crate) const fn rate(title: &'static str, goal: Goal, tools: &'static [Tool<P>]) -> Self {
        Self { title, unit: "MB/s", goal, tools }
    }

    /// The contest, ready to be held.
    pub(crate) fn contest(&self) -> Contest<P> {
        let gauges = self.tools.iter().map(|tool| -> Box<dyn Gauge<P>> { Box::new(*tool) });
        let Self { title, unit, goal, .. } = *self;
        Contest { title, unit, goal, gauges: gauges.collect() }
    }
}

#[cfg(test)]
/// Asserts that titles are unique, and that every contest has a peer or a bound.
#[track_caller]
pub(crate) fn assert_sound<P>(contests: &[Contest<P>]) {
    for (at, contest) in contests.iter().enumerate() {
        assert!(contests[..at].iter().all(|other| other.title != contest.title));
        let alone = contest.gauges.len() == 1;
        assert_eq!(alone, matches!(contest.goal, Goal::Below(_)), "{}", contest.title);
    }
}
