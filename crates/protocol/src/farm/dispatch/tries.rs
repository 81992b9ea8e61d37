//! How often a job is tried.

use garland_core::farm::Outcome;

/// The number of times that a job is tried. A job that fails is tried again only if that was
/// requested: most fail again. The loss of a node says nothing about its jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tries {
    /// The maximum number of tries of a job that fails.
    failed: u32,
    /// The maximum number of tries of a job whose nodes are lost.
    lost: u32,
}

impl Tries {
    /// The least maximum for jobs whose nodes are lost.
    const LOST: u32 = 3;

    /// Returns the tries of jobs of which each is tried again up to `retries` times if it fails.
    #[must_use]
    pub fn again(retries: u32) -> Self {
        let failed = retries.saturating_add(1);
        Self { failed, lost: failed.max(Self::LOST) }
    }

    /// Returns the tries of jobs of which each is tried up to `most` times, whatever happens to it.
    #[cfg(test)]
    pub fn of_all(most: u32) -> Self {
        Self { failed: most, lost: most }
    }

    /// Returns whether a job is tried again whose try number `tries`, from 1, had this outcome.
    #[must_use]
    pub fn go_on(self, tries: u32, outcome: &Outcome) -> bool {
        match outcome {
            outcome if outcome.is_done() => false,
            Outcome::NodeLost => tries < self.lost,
            _ => tries < self.failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_retried_on_request_and_losses_always() {
        let failed = Outcome::Exit(1);
        let lost = Outcome::NodeLost;
        assert!(!Tries::again(0).go_on(1, &failed) && !Tries::again(0).go_on(1, &Outcome::Timeout));
        assert!(Tries::again(1).go_on(1, &failed) && !Tries::again(1).go_on(2, &failed));
        assert!(Tries::again(0).go_on(2, &lost) && !Tries::again(0).go_on(3, &lost));
        assert!(Tries::again(4).go_on(4, &lost) && !Tries::again(4).go_on(5, &lost));
        assert!(!Tries::again(4).go_on(1, &Outcome::Exit(0)));
        // A try that failed after its first node was lost.
        assert!(!Tries::again(0).go_on(2, &failed));
    }
}
