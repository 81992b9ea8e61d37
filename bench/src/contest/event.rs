//! A contest that can be declared as a constant.

use super::{Contest, Gauge, Goal, Tool};

/// A contest in which each tool is one function.
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
    /// Returns a contest of rates in MB/s.
    pub(crate) const fn rate(title: &'static str, goal: Goal, tools: &'static [Tool<P>]) -> Self {
        Self { title, unit: "MB/s", goal, tools }
    }

    /// Converts this constant to a contest that [`hold`](super::hold) takes.
    pub(crate) fn contest(&self) -> Contest<P> {
        let gauges = self.tools.iter().map(|tool| -> Box<dyn Gauge<P>> { Box::new(*tool) });
        let Self { title, unit, goal, .. } = *self;
        Contest { title, unit, goal, gauges: gauges.collect() }
    }
}

#[cfg(test)]
/// Asserts that titles are unique, and that every contest has either a peer or an absolute goal.
#[track_caller]
pub(crate) fn assert_sound<P>(contests: &[Contest<P>]) {
    for (at, contest) in contests.iter().enumerate() {
        assert!(contests[..at].iter().all(|other| other.title != contest.title));
        let alone = contest.gauges.len() == 1;
        assert_eq!(alone, matches!(contest.goal, Goal::Below(_)), "{}", contest.title);
    }
}
