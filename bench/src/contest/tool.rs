//! A tool that consists of one function.

use anyhow::Result;

use super::{Figure, Gauge};
use xtask::packages::Need;

/// A tool that measures one number at a place.
pub(crate) struct Tool<P> {
    /// The tool's name, one word.
    pub(crate) name: &'static str,
    /// What the tool is and how it is used here.
    pub(crate) about: &'static str,
    /// The tool's Debian package; `None` for Garland.
    pub(crate) need: Option<Need>,
    /// Measures once, and returns the mean or rate.
    pub(crate) measure: fn(&P) -> Result<f64>,
}

impl<P> Clone for Tool<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Tool<P> {}

impl<P> Gauge<P> for Tool<P> {
    fn tool(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    fn need(&self) -> Option<Need> {
        self.need
    }

    fn measure(&self, place: &P) -> Result<Figure> {
        (self.measure)(place).map(Figure::of)
    }
}
