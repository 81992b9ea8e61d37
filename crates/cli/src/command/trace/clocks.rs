//! What nodes' clocks say of the head's.
//!
//! Nothing compares them yet: all are taken to be one, as they are on one machine, and how far that
//! is off nobody knows.

use garland_report::Moment;

/// The clocks of a run's nodes.
pub struct Clocks;

impl Clocks {
    /// The head's time when the clock of the node at `place` showed `at_ns`.
    pub fn on_head(&self, place: u16, at_ns: u64) -> Moment {
        Moment { at_ns, error_ns: self.error_ns(place) }
    }

    /// By how much that may be off; none where nobody knows.
    pub fn error_ns(&self, place: u16) -> Option<u64> {
        (place == 0).then_some(0)
    }

    /// That in words.
    pub fn label(&self, place: u16) -> String {
        let error = self.error_ns(place);
        error.map_or_else(|| "clock not compared".to_owned(), |ns| format!("clock within {ns} ns"))
    }
}
