//! A tool, and a contest of several: constants that a benchmark declares.

use anyhow::Result;
use xtask::packages::Need;

use super::{Figure, Goal};

/// A tool that measures something at a place, such as between two nodes or in a directory.
pub(crate) struct Tool<P: 'static> {
    /// The tool's name.
    pub(crate) name: &'static str,
    /// What the tool is and how it is used here, for the report.
    pub(crate) about: &'static str,
    /// The tool's Debian package; `None` for Garland.
    pub(crate) need: Option<Need>,
    /// Measures once.
    pub(crate) measure: fn(&P) -> Result<Figure>,
}

/// A quantity that several tools measure, and the goal for Garland.
pub(crate) struct Contest<P: 'static> {
    /// The contest's title.
    pub(crate) title: &'static str,
    /// The unit of figures.
    pub(crate) unit: &'static str,
    /// The goal.
    pub(crate) goal: Goal,
    /// The tools, Garland first.
    pub(crate) tools: &'static [Tool<P>],
}

impl<P> Contest<P> {
    /// Returns a contest of rates in MB/s.
    pub(crate) const fn rate(title: &'static str, goal: Goal, tools: &'static [Tool<P>]) -> Self {
        Self { title, unit: "MB/s", goal, tools }
    }
}
