//! Finds swapped cables: cycles of NICs, each of which is in the place of the next.

use std::collections::{BTreeMap, VecDeque};

use super::super::{MediumId, NicId};

/// A NIC that is on another segment than planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Displaced {
    pub nic: NicId,
    /// The segment that the NIC should be on.
    pub planned: MediumId,
    /// The segment that the NIC is on.
    pub found: MediumId,
}

/// Removes cycles from `displaced`, the shortest first, and returns them. Each NIC of a cycle is in
/// the place of the next.
pub(super) fn take(displaced: &mut Vec<Displaced>) -> Vec<Vec<NicId>> {
    let mut cycles = Vec::new();
    loop {
        let all = (0..displaced.len()).filter_map(|first| shortest(displaced, first));
        let Some(cycle) = all.min_by_key(Vec::len) else { return cycles };
        cycles.push(cycle.iter().map(|place| displaced[*place].nic).collect());
        let mut place = 0;
        displaced.retain(|_| {
            place += 1;
            !cycle.contains(&(place - 1))
        });
    }
}

/// Returns the shortest cycle that begins with `first`, as indices into `displaced`.
fn shortest(displaced: &[Displaced], first: usize) -> Option<Vec<usize>> {
    let goal = displaced[first].planned;
    let mut before: BTreeMap<MediumId, usize> = BTreeMap::new();
    let mut open = VecDeque::from([displaced[first].found]);
    while let Some(here) = open.pop_front() {
        for (place, next) in displaced.iter().enumerate().filter(|(_, next)| next.planned == here) {
            if next.found == goal {
                let mut cycle = vec![place];
                let mut at = here;
                while at != displaced[first].found {
                    let place = before[&at];
                    cycle.push(place);
                    at = displaced[place].planned;
                }
                cycle.push(first);
                cycle.reverse();
                return Some(cycle);
            }
            if next.found != displaced[first].found && !before.contains_key(&next.found) {
                before.insert(next.found, place);
                open.push_back(next.found);
            }
        }
    }
    None
}
