//! Which group of NICs is which segment of the plan.
//!
//! A segment gets the group that has most of its NICs, and of equals the one with its first NIC: the
//! head's, in a star. Where that leaves a segment none of its NICs' groups, others give way.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::super::{MediumId, NicId};

/// A group of NICs that hear each other: its number.
pub(super) type Group = usize;

/// The NICs of a segment that are in a group.
type Shared = BTreeMap<(MediumId, Group), Vec<NicId>>;

/// A group for each segment, as far as there are any that have NICs of it.
pub(super) fn best(shared: Shared) -> BTreeMap<MediumId, Group> {
    let mut ranked: Vec<_> = shared.into_iter().collect();
    ranked.sort_by_key(|((segment, group), nics)| (Reverse(nics.len()), nics[0], *segment, *group));
    let mut choices: BTreeMap<MediumId, Vec<Group>> = BTreeMap::new();
    let mut owners: BTreeMap<Group, MediumId> = BTreeMap::new();
    let mut done = BTreeSet::new();
    for &((segment, group), _) in &ranked {
        choices.entry(segment).or_default().push(group);
        if !done.contains(&segment) && !owners.contains_key(&group) {
            done.insert(segment);
            owners.insert(group, segment);
        }
    }
    let without: Vec<MediumId> =
        choices.keys().copied().filter(|segment| !done.contains(segment)).collect();
    for segment in without {
        make_room(segment, &choices, &mut owners, &mut BTreeSet::new());
    }
    owners.into_iter().map(|(group, segment)| (segment, group)).collect()
}

/// Gives a segment one of its groups; whose it was takes another one of its own, if that can be.
fn make_room(
    segment: MediumId,
    choices: &BTreeMap<MediumId, Vec<Group>>,
    owners: &mut BTreeMap<Group, MediumId>,
    tried: &mut BTreeSet<Group>,
) -> bool {
    for &group in &choices[&segment] {
        if !tried.insert(group) {
            continue;
        }
        let owner = owners.get(&group).copied();
        if owner.is_none_or(|owner| make_room(owner, choices, owners, tried)) {
            owners.insert(group, segment);
            return true;
        }
    }
    false
}
