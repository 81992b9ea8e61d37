//! Networks that fail in one direction, connections that break, bits that change on their way, and
//! clocks that jump.

use std::time::Duration;

use garland_core::plan::NodeId;
use garland_protocol::copy::{Fault, Injection, Verdict};
use garland_simulation::Seeds;
use garland_sys::world::Random;

use crate::fate::{Blow, FOREVER};
use crate::room::{Case, Kind};
use crate::trial::{Trial, verdict};

/// Draws two processes, of which one is a node.
fn pair(nodes: usize, random: &mut Random) -> (usize, usize) {
    let node = 1 + random.below(nodes as u64) as usize;
    let other = (node + 1 + random.below(nodes as u64) as usize) % (nodes + 1);
    if random.once_in(2) { (node, other) } else { (other, node) }
}

#[test]
fn a_direction_that_comes_back_within_five_seconds_loses_nobody() {
    for seed in Seeds::asked_for(20).iter() {
        let (case, mut random) = crate::draw(seed);
        let (from, to) = pair(case.nodes, &mut random);
        let at = Duration::from_nanos(random.below(40_000_000));
        let time = Duration::from_millis(500 + random.below(4_000));
        Trial::new(&case, at, Blow::Deafen(from, to, time)).check(crate::judge);
    }
}

#[test]
fn a_direction_that_stays_away_loses_no_node_that_the_head_hears() {
    for seed in Seeds::asked_for(20).iter() {
        let (mut case, mut random) = crate::draw(seed);
        if case.kind == Kind::Stripes {
            case.kind = Kind::File;
        }
        let (from, to) = pair(case.nodes, &mut random);
        let at = Duration::from_nanos(random.below(40_000_000));
        let blow = match random.once_in(2) {
            true => Blow::Deafen(from, to, FOREVER),
            false => Blow::Cut(from, to, FOREVER),
        };
        let ended = Trial::new(&case, at, blow).check(crate::judge);
        let lost = (0..case.nodes).filter(|node| *verdict(&ended, *node) != Verdict::Ok).count();
        let may_lose = usize::from(from == 0 || to == 0);
        assert!(lost <= may_lose, "{lost} are lost: {case:?}, {blow:?}");
        assert!(ended.took < Duration::from_secs(45), "{case:?}, {blow:?} took {:?}", ended.took);
    }
}

#[test]
fn a_changed_bit_is_found_where_it_arrives_and_its_hop_is_named() {
    let mut blocks = 0;
    let mut frames = 0;
    let seeds = Seeds::asked_for(20);
    for seed in seeds.iter() {
        let mut random = Random::new(seed);
        let case = Case::of_file(seed, 3, 600_000);
        let after = random.below(case.length);
        let ended = Trial::new(&case, Duration::ZERO, Blow::Flip(1, 2, after)).check(crate::judge);
        let outcome = ended.outcome.expect("the head lives");
        let is_of_hop = |from: NodeId, to: NodeId| (from, to) == (NodeId(1), NodeId(2));
        assert!(outcome.faults.iter().all(|Fault { from, to, .. }| is_of_hop(*from, *to)));
        assert!(outcome.bad_frames.iter().all(|bad| is_of_hop(bad.from, bad.to)));
        blocks += outcome.faults.len();
        frames += outcome.bad_frames.len();
    }
    // A change of a greeting costs a connection.
    let named = blocks + frames;
    let all = seeds.iter().count();
    assert!(all * 9 / 10 <= named && named <= all, "{blocks} blocks and {frames} frames are named");
}

#[test]
fn a_link_that_breaks_is_opened_again_and_counted_at_its_far_end() {
    let mut reopened = 0;
    for seed in Seeds::asked_for(20).iter() {
        let mut random = Random::new(seed);
        let case = Case::of_file(seed, 3, 600_000);
        let at = Duration::from_nanos(11_000_000 + random.below(4_000_000));
        let ended = Trial::new(&case, at, Blow::Break(1, 2)).check(crate::judge);
        let nodes = ended.outcome.expect("the head lives").nodes;
        let links: Vec<u32> = nodes.iter().map(|node| node.reopened).collect();
        assert!(matches!(links[..], [0, 0..=1, 0]), "one link broke once: {links:?}");
        reopened += links[1];
    }
    assert!(reopened > 0, "no link broke");
}

#[test]
fn a_bit_that_changes_before_a_node_seals_a_block_anew_is_found() {
    let mut named = 0;
    for seed in Seeds::asked_for(10).iter() {
        let mut random = Random::new(seed);
        let mut case = Case::of_file(seed, 3, 1_000_000);
        // n1 and n2 hold the whole file when n3 comes back and is fed on the side.
        case.injections = [1, 2].map(|node| (NodeId(node), flip(&case, &mut random))).to_vec();
        let at = Duration::from_nanos(11_000_000 + random.below(4_000_000));
        let blow = Blow::Pause(2, Duration::from_millis(2_500));
        let ended = Trial::new(&case, at, blow).check(crate::judge);
        let outcome = ended.outcome.expect("the head lives");
        assert!(outcome.faults.iter().all(|fault| fault.to == NodeId(3)), "{:?}", outcome.faults);
        named += outcome.faults.len();
    }
    assert!(named > 0, "no bit changed");
}

fn flip(case: &Case, random: &mut Random) -> Injection {
    Injection::Flip(case.length / 2 + random.below(case.length / 2))
}

#[test]
fn a_changed_bit_of_a_control_message_loses_nobody() {
    for seed in Seeds::asked_for(20).iter() {
        let mut random = Random::new(seed);
        let case = Case::of_file(seed, 3, 600_000);
        let node = 1 + random.below(3) as usize;
        let after = random.below(300);
        let blow = match random.once_in(2) {
            true => Blow::Flip(node, 0, after),
            false => Blow::Flip(0, node, after),
        };
        // After the greeting.
        let at = Duration::from_nanos(12_000_000 + random.below(20_000_000));
        Trial::new(&case, at, blow).check(crate::judge);
    }
}

#[test]
fn clocks_that_jump_and_machines_that_sleep_change_no_verdict() {
    for seed in Seeds::asked_for(15).iter() {
        let (case, mut random) = crate::draw(seed);
        let moment = |random: &mut Random| Duration::from_nanos(random.below(40_000_000));
        let process = random.below(case.nodes as u64 + 1) as usize;
        let time = Duration::from_millis(random.below(4_500));
        let mut fate = vec![
            (moment(&mut random), Blow::SetClock(process, random.bits() as i64 % 1_000_000_000)),
            (moment(&mut random), Blow::Suspend(process, time)),
        ];
        fate.sort_by_key(|(at, _)| *at);
        Trial { case, fate }.check(crate::judge);
    }
}
