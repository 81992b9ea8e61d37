//! Tests of the quotas of peers.

use std::cell::RefCell;

use garland_sys::socket::pair;

use super::*;

/// A host that knows nobody, and the reasons why it refused peers.
#[derive(Default)]
struct Stranger(RefCell<Vec<String>>);

impl Host for Stranger {
    type Owner = ();

    fn find(&self, _: Purpose, _: &Claim) -> Found<'_, ()> {
        Found::Nothing
    }

    fn admit(&self, _: TcpStream, _: SocketAddr, _: Guest<()>) {}

    fn refuse(&self, _: SocketAddr, reason: &str) {
        self.0.borrow_mut().push(reason.to_owned());
    }
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Lets `peers` connections come from an address. Returns how many of that address are greeted then.
fn come(to: &mut Table<'_, Stranger>, stream: &TcpStream, from: &str, peers: usize) -> usize {
    let from = address(from);
    for _ in 0..peers {
        let stream = stream.try_clone().expect("a descriptor is left");
        to.enter(stream, (from, 1).into(), Some(origin(from)));
    }
    to.counts.get(&origin(from)).copied().unwrap_or(0)
}

#[test]
fn one_address_leaves_places_to_others_and_itself() {
    let ((stream, _far), watch, host) =
        (pair().expect("a connection"), Watch::new().unwrap(), Stranger::default());
    let mut table = Table::new(&watch, &host);
    assert_eq!(come(&mut table, &stream, "10.0.0.1", 1000), PEERS_OF_ADDRESS);
    assert_eq!(come(&mut table, &stream, "::ffff:10.0.0.1", 1), PEERS_OF_ADDRESS, "another form");
    assert_eq!(come(&mut table, &stream, "10.0.0.2", 1), 1);
    let newest = *table.peers.last_key_value().unwrap().0;
    let kept: Vec<u64> = table.peers.keys().copied().collect();
    assert_eq!(kept, (newest - PEERS_OF_ADDRESS as u64..=newest).collect::<Vec<_>>());
    assert_eq!(host.0.borrow().len(), 1001 - PEERS_OF_ADDRESS);
    kept.into_iter().for_each(|number| drop(table.remove(number)));
    assert!(table.counts.is_empty(), "nothing is kept");
}

#[test]
fn all_together_are_bounded_and_the_greediest_make_room() {
    let ((stream, _far), watch, host) =
        (pair().expect("a connection"), Watch::new().unwrap(), Stranger::default());
    let mut table = Table::new(&watch, &host);
    assert_eq!(come(&mut table, &stream, "10.0.0.1", 3), 3);
    for host in 0..PEERS - 3 {
        come(&mut table, &stream, &format!("10.0.{}.{}", 1 + host / 200, host % 200), 1);
    }
    assert_eq!((table.peers.len(), host.0.borrow().len()), (PEERS, 0));
    assert_eq!(come(&mut table, &stream, "10.1.0.1", 1), 1, "there is room for another one");
    assert_eq!(come(&mut table, &stream, "10.1.0.2", 1), 1);
    assert_eq!(come(&mut table, &stream, "10.0.0.1", 0), 1, "the greediest has made it");
    assert_eq!(come(&mut table, &stream, "10.1.0.3", 1), 1, "then the oldest");
    assert_eq!(come(&mut table, &stream, "10.0.0.1", 0), 0);
    assert_eq!((table.peers.len(), host.0.borrow().len()), (PEERS, 3));
}

#[test]
fn a_host_of_ipv6_is_its_network() {
    assert_eq!(origin(address("2001:db8::1")), origin(address("2001:db8::ffff:2")));
    assert_ne!(origin(address("2001:db8::1")), origin(address("2001:db8:0:1::1")));
    assert_ne!(origin(address("fe80::1")), origin(address("fe80::2")));
}
