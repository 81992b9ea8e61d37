//! Small crowds whose times are known.

use garland_core::units::Rate;
use garland_topology::shapes::{Basis, LeafSpine, leaf_spine};

use super::crowd::Comer;
use super::log::Log;
use super::{Crowd, Spread, lines, spread, swarm, together};

fn comer(at: f64, rack: usize, leaves: Option<u32>) -> Comer {
    Comer { at, rack, leaves }
}

fn of(crowd: &Crowd, by: Spread) -> Log {
    match by {
        Spread::Star => together::star(crowd),
        Spread::Chain => together::chain(crowd),
        Spread::Line => lines::follow(crowd, false),
        Spread::Racks => lines::follow(crowd, true),
        Spread::Swarm => swarm::swarm(crowd),
    }
}

/// Asserts that the sorted times are within two ticks of `wanted`.
fn assert_times(log: &Log, wanted: &[f64]) {
    let mut times = log.times.clone();
    times.sort_unstable_by(f64::total_cmp);
    assert_eq!(times.len(), wanted.len(), "{times:?}");
    let near = times.iter().zip(wanted).all(|(time, wanted)| (time - wanted).abs() <= 2.0);
    assert!(near, "{times:?}, not {wanted:?}");
}

#[test]
fn a_node_alone_takes_one_download() {
    let crowd = Crowd::listed(100, &[1.0, 1.0], &[comer(0.0, 1, None)]);
    for by in [Spread::Star, Spread::Chain, Spread::Line, Spread::Racks, Spread::Swarm] {
        let log = of(&crowd, by);
        assert_times(&log, &[100.0]);
        assert!((log.origin - 100.0).abs() < 1e-6, "{by:?} {}", log.origin);
    }
}

#[test]
fn an_origin_is_shared_and_followers_are_not_slower_than_it() {
    // The second one comes when the first one has half.
    let crowd = Crowd::listed(100, &[9.0], &[comer(0.0, 0, None), comer(50.0, 0, None)]);
    let star = of(&crowd, Spread::Star);
    // 50 alone, 100 with the other one; then the second one has 50 alone.
    assert_times(&star, &[150.0, 150.0]);
    assert!((star.origin - 200.0).abs() < 1e-6, "{}", star.origin);
    // Each asks once when it comes, and says once that it is a holder.
    assert_eq!(star.requests, [0.0, 50.0, 150.0, 200.0]);
    assert_times(&of(&crowd, Spread::Chain), &[100.0, 150.0]);
    let line = of(&crowd, Spread::Line);
    assert_times(&line, &[100.0, 100.0]);
    assert!((line.origin - 100.0).abs() < 1e-6, "{}", line.origin);
}

#[test]
fn a_full_uplink_is_shared_and_lines_by_rack_cross_it_once() {
    // The nodes of rack 1 and those of rack 0 come in turn.
    let comers: Vec<Comer> = (0..6).map(|at| comer(0.0, at % 2, None)).collect();
    let crowd = Crowd::listed(99, &[1.0, 1.0], &comers);
    // Three of the line's links go into rack 1.
    let line = of(&crowd, Spread::Line);
    assert!(line.times.iter().all(|time| *time > 98.0), "{line:?}");
    assert!(line.times.iter().any(|time| *time > 250.0), "{line:?}");
    // The first of rack 0 feeds two: the one behind it, and the first of rack 1.
    let racks = of(&crowd, Spread::Racks);
    assert_times(&racks, &[99.0, 198.0, 198.0, 198.0, 198.0, 198.0]);
    assert!((racks.origin - 99.0).abs() < 1e-6, "{}", racks.origin);
}

#[test]
fn a_node_that_leaves_is_replaced_and_its_follower_goes_on() {
    let crowd = Crowd::listed(100, &[9.0], &[comer(0.0, 0, Some(40)), comer(0.0, 0, None)]);
    for by in [Spread::Line, Spread::Racks] {
        let log = of(&crowd, by);
        // The follower goes on with the origin, and the newcomer follows it.
        assert_times(&log, &[100.0, 100.0]);
        assert!((log.origin - 100.0).abs() < 1.1, "{}", log.origin);
        // Two come, the follower asks again, one comes, two end.
        assert_eq!(log.requests.len(), 6);
    }
    // It comes during the first chain, and waits for the second one.
    assert_times(&of(&crowd, Spread::Chain), &[100.0, 160.0]);
    // It takes 40 of the origin, too.
    assert!((of(&crowd, Spread::Star).origin - 240.0).abs() < 1e-6);
}

#[test]
fn a_swarm_reads_the_origin_once_and_the_seed_decides() {
    let basis = Basis::numbered("fabric", 79).at(Rate::from_bits_per_second(25_000_000_000));
    let measures = LeafSpine { leaves: 2, spines: 4, uplink: None };
    let topology = leaf_spine(&basis, &measures);
    let swarm = |seed| spread(&Crowd::new(&topology, 200, 0.02, seed), Spread::Swarm);
    let one = swarm(1);
    assert!((1.0..1.1).contains(&one.origin), "{one:?}");
    assert!(one.median >= 1.0 && one.last < 20.0, "{one:?}");
    assert_eq!(one, swarm(1));
    assert_ne!(one, swarm(2));
}
