//! How often the owner of a key or secret may greet. A greeting costs key exchanges, a thread and a
//! line in the node's log, also if its session ends at once.

use std::time::Duration;

/// How many connections a peer may open: sessions and further connections of them, or connections
/// of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GreetingRate {
    /// In each second.
    pub per_s: u32,
    /// At once, after a time without any.
    pub at_once: u32,
}

/// The greetings with a key or secret, as far as its [`GreetingRate`] counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct GreetingTimes {
    /// The time at which all of the rate's `at_once` are there again, in monotonic nanoseconds.
    whole_ns: u64,
}

impl GreetingRate {
    /// Returns the time that one greeting takes of the rate, in nanoseconds.
    fn interval_ns(self) -> u64 {
        Duration::from_secs(1).as_nanos() as u64 / u64::from(self.per_s.max(1))
    }
}

impl GreetingTimes {
    /// Returns whether there can be a greeting now.
    #[must_use]
    pub fn has_room(&self, rate: GreetingRate, now_ns: u64) -> bool {
        let debt_ns = self.whole_ns.saturating_sub(now_ns);
        debt_ns + rate.interval_ns() <= rate.interval_ns() * u64::from(rate.at_once)
    }

    /// Returns whether none of the greetings counts any more.
    #[must_use]
    pub fn are_over(&self, now_ns: u64) -> bool {
        self.whole_ns <= now_ns
    }

    /// Counts a greeting that came or was completed now.
    pub fn count(&mut self, rate: GreetingRate, now_ns: u64) {
        self.whole_ns = self.whole_ns.max(now_ns) + rate.interval_ns();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: GreetingRate = GreetingRate { per_s: 10, at_once: 4 };

    /// Greets as often as there is room for `span_ns`, looking each millisecond.
    fn greet(times: &mut GreetingTimes, from_ns: u64, span_ns: u64) -> usize {
        let moments = (from_ns..from_ns + span_ns).step_by(1_000_000);
        let greeted = moments.filter(|now_ns| {
            let has_room = times.has_room(RATE, *now_ns);
            if has_room {
                times.count(RATE, *now_ns);
            }
            has_room
        });
        greeted.count()
    }

    #[test]
    fn some_greetings_come_at_once_and_then_so_many_in_a_second() {
        let mut times = GreetingTimes::default();
        let second_ns = 1_000_000_000;
        assert_eq!(greet(&mut times, 5 * second_ns, second_ns), 4 + 9);
        assert_eq!(greet(&mut times, 6 * second_ns, second_ns), 10);
        // After a pause they come at once again, and no more than at first.
        assert_eq!(greet(&mut times, 60 * second_ns, second_ns), 4 + 9);
    }

    #[test]
    fn what_came_beyond_the_rate_is_waited_for() {
        // Greetings that had begun before the first of them was completed.
        let mut times = GreetingTimes::default();
        (0..24).for_each(|_| times.count(RATE, 0));
        assert!(!times.has_room(RATE, 2_099_999_999));
        assert!(times.has_room(RATE, 2_100_000_000));
    }
}
