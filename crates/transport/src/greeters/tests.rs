//! Tests of the quotas of peers.

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Returns the slots of those of `peers` connections from `from` that are admitted.
fn come(to: &Arc<Greeters>, from: &str, peers: usize) -> Vec<Place> {
    (0..peers).filter_map(|_| to.admit(address(from)).ok()).collect()
}

#[test]
fn one_address_leaves_places_to_others() {
    let greeters = Arc::default();
    let first = come(&greeters, "10.0.0.1", 1000);
    assert_eq!(first.len(), PEERS_OF_ADDRESS);
    assert_eq!(come(&greeters, "::ffff:10.0.0.1", 1).len(), 0, "the same address in another form");
    assert_eq!(come(&greeters, "10.0.0.2", 1).len(), 1);
    drop(first);
    assert_eq!(come(&greeters, "10.0.0.1", 1).len(), 1);
    assert!(greeters.0.lock().is_empty(), "nothing is kept");
}

#[test]
fn all_together_are_bounded() {
    let greeters = Arc::default();
    let hosts = (1..=250).map(|host| format!("10.0.0.{host}"));
    let held: Vec<Place> = hosts.flat_map(|host| come(&greeters, &host, 2)).collect();
    assert_eq!(held.len(), PEERS);
}

#[test]
fn a_host_of_ipv6_is_its_network() {
    assert_eq!(origin(address("2001:db8::1")), origin(address("2001:db8::ffff:2")));
    assert_ne!(origin(address("2001:db8::1")), origin(address("2001:db8:0:1::1")));
    assert_ne!(origin(address("fe80::1")), origin(address("fe80::2")));
}
