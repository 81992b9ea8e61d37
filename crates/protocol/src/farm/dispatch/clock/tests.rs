use super::*;

#[test]
fn the_probe_with_the_shortest_round_trip_counts() {
    let mut clock = NodeClock::default();
    assert_eq!(clock.head_ns(70), 70);
    // The node is 1000 ns ahead; the answers of the first and third probe were late.
    clock.note(900, 100, 1150, 1150);
    clock.note(1100, 1000, 2050, 2050);
    clock.note(5000, 2000, 3050, 3050);
    assert_eq!(clock.head_ns(3000), 2000);
}
