//! Assigns groups of NICs to segments of the plan.
//!
//! A segment gets the group with most of its NICs; among equal groups, the one with its first NIC
//! (the head's in a star). If a segment would get no group this way, other segments are reassigned.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::super::{MediumId, NicId};

/// The number of a group of NICs that receive frames from each other.
pub(super) type Group = usize;

/// For each segment and group, the NICs of the segment that are in the group; no list is empty.
type Shared = BTreeMap<(MediumId, Group), Vec<NicId>>;

/// Assigns to each segment one of the groups that its NICs are in; no two segments get the same
/// group. Segments for which no group is left are missing in the result.
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

/// Assigns a group to `segment`; takes it from another segment if that segment can get another
/// group. Returns whether `segment` got a group.
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
