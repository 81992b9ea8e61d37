//! Hops between nodes over which no link could be opened lately: a firewall that drops segments
//! costs each try a timeout.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

/// How many times as long as it took to find a hop out of reach it is not tried again, so that
/// tries cost at most a hundredth of the time. A firewall that refuses costs nothing, and is asked
/// each time.
const REST: u64 = 100;

/// The longest rest in nanoseconds: clocks of machines are set back.
const REST_MAX_NS: u64 = 3600 * 1_000_000_000;

/// A hop from one node to another, by their first addresses. Ports are those of agents, which
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The node that opens the link; unspecified (`0.0.0.0`) for the machine of the commands.
    pub from: IpAddr,
    /// The node to which it opens it.
    pub to: IpAddr,
}

/// The hops over which no link could be opened lately. Times are in nanoseconds since 1970, as
/// commands tell the next ones of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnreachedHops {
    /// By the node that would open the link, and the one to which: when it is tried again.
    again_ns: BTreeMap<IpAddr, BTreeMap<IpAddr, u64>>,
}

impl UnreachedHops {
    /// Returns whether the hop is known to be out of reach.
    #[must_use]
    pub fn has(&self, hop: Hop, now_ns: u64) -> bool {
        self.again_ns(hop).is_some_and(|again_ns| rests(again_ns, now_ns))
    }

    /// Notes that the hop was found to be out of reach, between these two times. A short look at
    /// a hop that rests does not end its rest sooner.
    pub fn remember(&mut self, hop: Hop, began_ns: u64, ended_ns: u64) {
        let rest_ns = ended_ns.saturating_sub(began_ns).saturating_mul(REST).min(REST_MAX_NS);
        let rested = self.again_ns(hop).filter(|again_ns| rests(*again_ns, ended_ns));
        let again_ns = rested.unwrap_or(0).max(ended_ns.saturating_add(rest_ns));
        self.again_ns.entry(hop.from).or_default().insert(hop.to, again_ns);
    }

    /// Notes that the hop was reached.
    pub fn forget(&mut self, hop: Hop) {
        if let Some(by_end) = self.again_ns.get_mut(&hop.from) {
            by_end.remove(&hop.to);
        }
    }

    /// Takes over what was found between `before` and `after`, copies of an earlier state.
    pub fn take_changes(&mut self, before: &Self, after: &Self) {
        for (hop, again_ns) in after.iter() {
            if before.again_ns(hop) != Some(again_ns) {
                self.again_ns.entry(hop.from).or_default().insert(hop.to, again_ns);
            }
        }
        let reached = before.iter().filter(|(hop, _)| after.again_ns(*hop).is_none());
        reached.for_each(|(hop, _)| self.forget(hop));
    }

    fn again_ns(&self, hop: Hop) -> Option<u64> {
        self.again_ns.get(&hop.from).and_then(|by_end| by_end.get(&hop.to)).copied()
    }

    fn iter(&self) -> impl Iterator<Item = (Hop, u64)> {
        let by_begin = self.again_ns.iter();
        by_begin.flat_map(|(&from, by_end)| {
            by_end.iter().map(move |(&to, &again_ns)| (Hop { from, to }, again_ns))
        })
    }

    /// Removes what is to be tried again.
    pub fn expire(&mut self, now_ns: u64) {
        self.again_ns.retain(|_, by_end| {
            by_end.retain(|_, again_ns| rests(*again_ns, now_ns));
            !by_end.is_empty()
        });
    }
}

fn rests(again_ns: u64, now_ns: u64) -> bool {
    now_ns < again_ns && again_ns - now_ns <= REST_MAX_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn hop(from: &str, to: &str) -> Hop {
        let at = |text: &str| text.parse().expect("an address");
        Hop { from: at(from), to: at(to) }
    }

    #[test]
    fn what_was_not_reached_rests_a_hundred_times_as_long_as_it_took() {
        let mut hops = UnreachedHops::default();
        let there = hop("10.0.0.1", "10.0.0.2");
        assert!(!hops.has(there, 0));
        hops.remember(there, SECOND, 4 * SECOND);
        assert!(hops.has(there, 303 * SECOND) && !hops.has(there, 304 * SECOND));
        assert!(!hops.has(hop("10.0.0.2", "10.0.0.1"), 5 * SECOND), "that is another hop");
        hops.forget(there);
        assert!(!hops.has(there, 5 * SECOND));
    }

    #[test]
    fn a_short_look_at_a_hop_that_rests_does_not_end_its_rest() {
        let mut hops = UnreachedHops::default();
        let there = hop("10.0.0.1", "10.0.0.2");
        hops.remember(there, SECOND, 4 * SECOND);
        hops.remember(there, 5 * SECOND, 5 * SECOND + SECOND / 10);
        assert!(hops.has(there, 303 * SECOND) && !hops.has(there, 304 * SECOND));
        hops.remember(there, 303 * SECOND, 303 * SECOND + SECOND / 10);
        assert!(hops.has(there, 312 * SECOND));
    }

    #[test]
    fn a_refusal_costs_nothing_and_does_not_rest() {
        let mut hops = UnreachedHops::default();
        let there = hop("10.0.0.1", "10.0.0.2");
        hops.remember(there, SECOND, SECOND);
        assert!(!hops.has(there, SECOND));
    }

    #[test]
    fn a_clock_that_was_set_back_keeps_no_hop_for_long() {
        let mut hops = UnreachedHops::default();
        let there = hop("10.0.0.1", "10.0.0.2");
        hops.remember(there, 9_000_000 * SECOND, 9_000_003 * SECOND);
        assert!(!hops.has(there, 5 * SECOND));
    }

    #[test]
    fn what_two_commands_find_at_the_same_time_is_kept() {
        let [one, two, three] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(|to| hop("10.0.0.9", to));
        let mut before = UnreachedHops::default();
        before.remember(one, SECOND, 2 * SECOND);
        before.remember(two, SECOND, 2 * SECOND);
        let mut after = before.clone();
        after.forget(one);
        after.remember(two, SECOND, 3 * SECOND);
        let mut kept = before.clone();
        kept.remember(three, SECOND, 2 * SECOND);
        kept.take_changes(&before, &after);
        let now_ns = 5 * SECOND;
        assert!(!kept.has(one, now_ns) && kept.has(three, now_ns));
        assert_eq!(kept.again_ns(two), after.again_ns(two));
    }

    #[test]
    fn what_is_kept_is_read_back_without_what_is_tried_again() {
        let mut hops = UnreachedHops::default();
        let early = hop("10.0.0.1", "10.0.0.2");
        let late = hop("fd00::1", "fd00::2");
        hops.remember(early, SECOND, 2 * SECOND);
        hops.remember(late, SECOND, 9 * SECOND);
        hops.expire(500 * SECOND);
        let text = serde_json::to_string(&hops).expect("JSON");
        assert_eq!(text, r#"{"fd00::1":{"fd00::2":809000000000}}"#);
        assert_eq!(serde_json::from_str::<UnreachedHops>(&text).expect("it is read"), hops);
    }
}
