//! Which nodes have answered a login, and when the others are no longer waited for: the command
//! begins without them, and their logins go on. A node has answered when its agent is ready, when
//! it asks for the program, or when its login has failed: a login shell may speak although the home
//! directory hangs.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use garland_sys::sync::Mutex;

use super::cancellation::Cancellation;
use super::child::Starting;
use super::error::LaunchError;
use crate::at_once::Slot;

/// How long nodes that have answered wait at least for the others.
const WAIT_MIN: Duration = Duration::from_millis(1500);

/// Logins that a command no longer waits for, by node. None of them has been answered yet.
/// Dropping this ends them.
#[derive(Default)]
pub struct SilentLogins(HashMap<String, Starting>);

impl SilentLogins {
    /// Returns whether the login on `node` is among these.
    pub fn has(&self, node: &str) -> bool {
        self.0.contains_key(node)
    }
}

impl Drop for SilentLogins {
    fn drop(&mut self) {
        // An ssh that connects does not notice the end of its input.
        self.0.drain().for_each(|(_, login)| login.abandon());
    }
}

/// The logins of one command, which are started at the same time.
#[derive(Default)]
pub struct Answers(Mutex<State>);

#[derive(Default)]
struct State {
    /// The number of nodes that have an agent, may get one, or failed after an answer.
    nodes: usize,
    /// Whether to go on without those that do not answer.
    goes_ahead: bool,
    /// How long each node that answered took for it.
    took: HashMap<String, Duration>,
    silent: SilentLogins,
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").finish_non_exhaustive()
    }
}

impl Answers {
    /// Waits for each of `nodes` nodes to answer or to fail; with `goes_ahead`, not for those that
    /// are late ([`State::is_late`]).
    pub fn new(nodes: usize, goes_ahead: bool) -> Self {
        Self(Mutex::new(State { nodes, goes_ahead, ..State::default() }))
    }

    /// Goes on with logins that an earlier part of the command did not wait for, and waits for
    /// them.
    pub fn resume(silent: SilentLogins) -> Self {
        Self(Mutex::new(State { silent, ..State::default() }))
    }

    /// Waits until the login on `node` has been answered, or has failed. If the command does not
    /// wait for late nodes, a slow login leaves its `slot` to others: dead nodes could hold all.
    ///
    /// # Errors
    /// When the node is late: its login is kept.
    pub fn wait_for(
        &self,
        node: &str,
        mut starting: Starting,
        slot: &Slot,
    ) -> Result<Starting, LaunchError> {
        while !starting.has_got_on(Cancellation::POLL_INTERVAL) {
            let mut state = self.0.lock();
            if state.is_slow(starting.waited()) {
                slot.leave();
            }
            if state.is_late(starting.waited()) {
                let waited = starting.waited().as_secs_f64();
                state.silent.0.insert(node.to_owned(), starting);
                let why = format!("it has not answered within {waited:.1} s, and is awaited still");
                return Err(LaunchError::Late(why));
            }
        }
        self.0.lock().took.insert(node.to_owned(), starting.waited());
        Ok(starting)
    }

    /// Returns the login on `node` that was not waited for, if there is one. It can be cancelled by
    /// `cancellation` from now on.
    pub fn go_on(&self, node: &str, cancellation: &Cancellation) -> Option<Starting> {
        let login = self.0.lock().silent.0.remove(node)?;
        Some(login.cancelled_by(cancellation.clone()))
    }

    /// Notes that `node` has an agent, or has none. Those that fail say nothing of how long a login
    /// takes.
    pub fn settle(&self, node: &str, has_agent: bool) {
        let mut state = self.0.lock();
        match has_agent {
            true => _ = state.took.entry(node.to_owned()).or_default(),
            false if state.took.contains_key(node) || state.silent.has(node) => {}
            false => state.nodes = state.nodes.saturating_sub(1),
        }
    }

    /// Returns the logins that were not waited for.
    pub fn take_silent(&self) -> SilentLogins {
        std::mem::take(&mut self.0.lock().silent)
    }
}

impl State {
    /// Returns whether a node that has not answered for `waited` is late: it is slow, and at least
    /// half of the nodes have answered.
    fn is_late(&self, waited: Duration) -> bool {
        let answered = self.took.len();
        answered > 0 && answered * 2 >= self.nodes && self.is_slow(waited)
    }

    /// Returns whether a node that has not answered for `waited` is slow, and others need not wait
    /// for it.
    fn is_slow(&self, waited: Duration) -> bool {
        self.goes_ahead && is_slow(waited, self.took.values().copied().collect())
    }
}

/// Returns whether a node that has not answered for `waited` is slow, if others took `took`: they
/// have waited for twice their median time, and [`WAIT_MIN`].
fn is_slow(waited: Duration, mut took: Vec<Duration>) -> bool {
    took.sort_unstable();
    let median = took.get(took.len() / 2).copied().unwrap_or_default();
    waited.saturating_sub(median) > WAIT_MIN.max(2 * median)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(tenths: &[u64]) -> Vec<Duration> {
        tenths.iter().map(|tenths| Duration::from_millis(tenths * 100)).collect()
    }

    /// Whether a node is late of which others took these tenths of a second, of `nodes` in all.
    fn is_late(waited: Duration, tenths: &[u64], nodes: usize) -> bool {
        let state = State { nodes, goes_ahead: true, ..State::default() };
        let names = (0..).map(|at: u32| format!("n{at}"));
        let took = names.zip(seconds(tenths)).collect();
        State { took, ..state }.is_late(waited)
    }

    fn after(tenths: u64) -> Duration {
        Duration::from_millis(tenths * 100 + 1)
    }

    #[test]
    fn a_node_is_late_when_most_have_waited_for_twice_their_median() {
        let logins = [3, 90, 4];
        assert!(!is_late(after(18), &logins, 4) && is_late(after(19), &logins, 4), "1.5 s");
        let slow = [20, 10];
        assert!(!is_late(after(59), &slow, 3) && is_late(after(60), &slow, 3), "twice 2 s");
    }

    #[test]
    fn nobody_is_late_before_half_of_the_nodes_have_answered() {
        assert!(!is_late(after(900), &[], 1));
        assert!(!is_late(after(900), &[1], 3), "it may be quicker than most");
        assert!(is_late(after(17), &[1], 2));
    }

    #[test]
    fn a_login_is_slow_even_if_none_has_been_answered() {
        assert!(!is_slow(after(14), Vec::new()) && is_slow(after(15), Vec::new()));
        assert!(!is_slow(after(59), seconds(&[20])), "those of this place take as long");
    }

    #[test]
    fn a_node_that_failed_says_nothing_of_logins() {
        let answers = Answers::new(4, true);
        answers.settle("n1", true);
        assert!(!answers.0.lock().is_late(after(20)));
        answers.settle("n2", false);
        answers.settle("n3", false);
        assert!(answers.0.lock().is_late(after(20)), "n1 waits for n4 alone");
        assert!(!Answers::new(1, false).0.lock().is_late(after(20)));
    }
}
