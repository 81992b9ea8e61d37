//! Receives the progress of copies.

use garland_control::Progress;
use garland_core::plan::Plan;
use garland_terminal::failure::Failure;

use super::changes::Changes;

/// Receives the progress of copies. It is called from the threads that make them, one at a time.
pub trait Observer: Send {
    /// These entries change on the nodes.
    ///
    /// # Errors
    /// When the copy should not begin, since they cannot be told.
    fn changes(&mut self, changes: &Changes) -> Result<(), Failure>;

    /// Before the copies can begin, these nodes are waited for, which are `doing` something; none
    /// when the wait is over. Called at least every 100 ms until then.
    fn waits(&mut self, now_ns: u64, doing: &str, nodes: &[&str]);

    /// Copies by these plans begin. It is called again when a copy begins once more.
    fn begin(&mut self, plans: &[&Plan]);

    /// The copy `number`, by `plan`, has come so far.
    fn progress(&mut self, number: usize, plan: &Plan, progress: &Progress<'_>);

    /// All of these copies have ended.
    fn end(&mut self);
}
