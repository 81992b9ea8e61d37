//! Members of a copy that lie. They harm themselves at most.

use std::sync::atomic::Ordering;

use garland_simulation::Seeds;
use garland_sys::world::Random;

use crate::liar::{INTRUSIONS, INTRUSIONS_TRIED, Lie};
use crate::room::{Case, Kind};
use crate::trial::Trial;

/// Runs copies with a member that tells this lie.
fn lie(kind: u64, count: u64, lie: impl Fn(&mut Random) -> Lie) {
    for seed in Seeds::asked_for(count).iter() {
        let mut random = Random::new(seed ^ kind << 32);
        let nodes = 2 + random.below(3) as usize;
        let length = 1 + random.below(1_500_000);
        let mut case = Case::of_file(seed, nodes, length);
        case.rails = 1 + random.below(2) as u16;
        case.has_older = random.once_in(2);
        if random.once_in(3) {
            case.kind = Kind::Tree(1 + random.below(40) as u16);
        }
        case.liar = Some((random.below(nodes as u64) as usize, lie(&mut random)));
        Trial::quiet(&case).check(crate::judge);
    }
}

#[test]
fn forged_contents_reach_no_file() {
    lie(1, 12, |random| Lie::Contents(1 + random.below(4)));
}

#[test]
fn misplaced_frames_cost_only_their_sender() {
    lie(2, 12, |_| Lie::Frames);
}

#[test]
fn a_node_that_asks_for_no_blocks_harms_only_itself() {
    lie(6, 6, |_| Lie::Silence);
}

#[test]
fn a_member_that_is_first_at_the_links_of_others_is_refused() {
    lie(7, 6, |_| Lie::Intrusion);
    assert!(INTRUSIONS_TRIED.load(Ordering::SeqCst) > 30, "too few attempts show nothing");
    assert_eq!(INTRUSIONS.load(Ordering::SeqCst), 0);
}

#[test]
fn a_node_that_claims_success_harms_only_itself() {
    lie(3, 8, |_| Lie::Success);
}

#[test]
fn a_node_that_accuses_others_harms_only_itself() {
    lie(4, 12, |_| Lie::Blame);
}

#[test]
fn messages_at_any_moment_harm_only_their_sender() {
    lie(5, 12, |_| Lie::Messages);
}
