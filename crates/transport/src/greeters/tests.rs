//! Tests of the quotas of peers.

use std::cell::RefCell;
use std::io::Write;
use std::os::fd::AsFd;

use garland_protocol::wire::{KeyPair, PublicKey};
use garland_sys::event;
use garland_sys::socket::pair;

use super::*;
use crate::greeting::{Credentials, introduce};

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

/// Lets `peers` connections come from an address. Returns how many of that address are greeted
/// then.
fn come(to: &mut Table<'_, Stranger>, stream: &TcpStream, from: &str, peers: usize) -> usize {
    let from = address(from);
    for _ in 0..peers {
        let stream = stream.try_clone().expect("a descriptor is left");
        to.enter(stream, (from, 1).into(), Some(origin(from)));
    }
    to.strangers.count(origin(from))
}

#[test]
fn one_address_leaves_places_to_others_and_itself() {
    let ((stream, _far), watch, host) =
        (pair().expect("a connection"), Watch::new().unwrap(), Stranger::default());
    let mut table = Table::new(&watch, &host);
    assert_eq!(come(&mut table, &stream, "10.0.0.1", 1000), STRANGERS_OF_ADDRESS);
    assert_eq!(
        come(&mut table, &stream, "::ffff:10.0.0.1", 1),
        STRANGERS_OF_ADDRESS,
        "another form"
    );
    assert_eq!(come(&mut table, &stream, "10.0.0.2", 1), 1);
    let newest = *table.peers.last_key_value().unwrap().0;
    let kept: Vec<u64> = table.peers.keys().copied().collect();
    assert_eq!(kept, (newest - STRANGERS_OF_ADDRESS as u64..=newest).collect::<Vec<_>>());
    assert_eq!(host.0.borrow().len(), 1001 - STRANGERS_OF_ADDRESS);
    kept.into_iter().for_each(|number| table.refuse(number, "the test is over"));
    assert!(table.strangers.counts.is_empty(), "nothing is kept");
    assert_eq!(table.strangers.total, 0);
}

#[test]
fn all_together_are_bounded_and_the_greediest_make_room() {
    let ((stream, _far), watch, host) =
        (pair().expect("a connection"), Watch::new().unwrap(), Stranger::default());
    let mut table = Table::new(&watch, &host);
    assert_eq!(come(&mut table, &stream, "10.0.0.1", 3), 3);
    for host in 0..STRANGERS - 3 {
        come(&mut table, &stream, &format!("10.0.{}.{}", 1 + host / 200, host % 200), 1);
    }
    assert_eq!((table.peers.len(), host.0.borrow().len()), (STRANGERS, 0));
    assert_eq!(come(&mut table, &stream, "10.1.0.1", 1), 1, "there is room for another one");
    assert_eq!(come(&mut table, &stream, "10.1.0.2", 1), 1);
    assert_eq!(come(&mut table, &stream, "10.0.0.1", 0), 1, "the greediest has made it");
    assert_eq!(come(&mut table, &stream, "10.1.0.3", 1), 1, "then the oldest");
    assert_eq!(come(&mut table, &stream, "10.0.0.1", 0), 0);
    assert_eq!((table.peers.len(), host.0.borrow().len()), (STRANGERS, 3));
}

/// A host that has one controller.
struct Served {
    agent: KeyPair,
    controller: PublicKey,
    admitted: RefCell<usize>,
    refused: RefCell<Vec<String>>,
}

impl Host for Served {
    type Owner = ();

    fn find(&self, _: Purpose, claim: &Claim) -> Found<'_, ()> {
        match claim {
            Claim::Controller(key) if *key == self.controller => {
                Found::Member(Credentials::Keys(&self.agent, *key), ())
            }
            _ => Found::Nothing,
        }
    }

    fn admit(&self, _: TcpStream, _: SocketAddr, _: Guest<()>) {
        *self.admitted.borrow_mut() += 1;
    }

    fn refuse(&self, _: SocketAddr, reason: &str) {
        self.refused.borrow_mut().push(reason.to_owned());
    }
}

/// Strangers that say nothing or a part of a greeting, from the head's own address and from all
/// others, come between each two steps of a head: they take no place of it.
#[test]
fn no_number_of_strangers_displaces_a_head() {
    const HEADS: usize = 20;
    let agent = KeyPair::generate();
    let head = KeyPair::generate();
    let watch = Watch::new().unwrap();
    let controller = head.public;
    let theirs = agent.public;
    let host =
        Served { agent, controller, admitted: RefCell::default(), refused: RefCell::default() };
    let mut table = Table::new(&watch, &host);
    let (silent, mut says) = pair().expect("a connection");
    let mut strangers = 0;
    let mut besiege = |table: &mut Table<'_, Served>| {
        for _ in 0..2 * STRANGERS {
            strangers += 1;
            let own = strangers % 2 == 0;
            let from = if own {
                "10.0.0.1".to_owned()
            } else {
                format!("10.1.{}.{}", strangers / 200 % 200, strangers % 200)
            };
            let from = address(&from);
            let stream = silent.try_clone().expect("a descriptor is left");
            table.enter(stream, (from, 1).into(), Some(origin(from)));
        }
    };
    says.write_all(b"G").expect("the connection is open");
    let heads = (0..HEADS).map(|_| {
        let (near, far) = pair().expect("a connection");
        let ours = head.clone();
        let greets = std::thread::spawn(move || {
            let keys = Credentials::Keys(&ours, theirs);
            introduce(&near, Duration::from_secs(60), Purpose::Control, &keys, b"first")
                .map(|_| near)
        });
        (far, greets)
    });
    let heads: Vec<_> = heads.collect();
    let mut greeting = Vec::new();
    for (far, greets) in heads {
        // Its greeting has come when it is accepted; the listener sees to that.
        wait_for(&far);
        let from = address("10.0.0.1");
        table.enter(far, (from, 2).into(), Some(origin(from)));
        greeting.push((table.next, greets));
        besiege(&mut table);
    }
    let refused = |reason: &&String| !reason.contains("have not completed their greeting");
    let others: Vec<String> = host.refused.borrow().iter().filter(refused).cloned().collect();
    assert!(others.is_empty(), "{others:?}");
    // Some may have proved their key already.
    let admitted = *host.admitted.borrow();
    assert_eq!((table.proving.total, table.strangers.total), (HEADS - admitted, STRANGERS));
    for (number, greets) in greeting {
        let _near = greets.join().expect("it ends").expect("it is answered");
        besiege(&mut table);
        if let Some(peer) = table.peers.get(&number) {
            wait_for(&peer.stream);
            table.advance(number);
        }
    }
    assert_eq!((*host.admitted.borrow(), table.proving.total), (HEADS, 0));
}

fn wait_for(stream: &TcpStream) {
    let readable = event::wait_readable(&[stream.as_fd()], Some(Duration::from_secs(60)));
    assert_eq!(readable.expect("it can be waited for"), [true]);
}

/// Who has one key can take all places of peers that have to prove theirs, but not from others.
#[test]
fn who_has_a_key_and_proves_nothing_displaces_only_others_with_that_key() {
    let agent = KeyPair::generate();
    let head = KeyPair::generate();
    let watch = Watch::new().unwrap();
    let host = Served {
        agent,
        controller: head.public,
        admitted: RefCell::default(),
        refused: RefCell::default(),
    };
    let mut table = Table::new(&watch, &host);
    let (stream, _far) = pair().expect("a connection");
    let mut come = |key: u8| {
        let stream = stream.try_clone().expect("a descriptor is left");
        let from = address("10.0.0.1");
        let place = Some(Place::Proving(Identity::Key([key; 32])));
        table.next += 1;
        let mut peer = Peer {
            stream,
            address: (from, 1).into(),
            origin: Some(origin(from)),
            place: None,
            greeting: Greeting::default(),
            until_ns: u64::MAX,
            waits: false,
        };
        table.give_place(&mut peer, place);
        let number = table.next;
        table.peers.insert(number, peer);
    };
    come(1);
    (0..PROVING + 100).for_each(|_| come(2));
    assert_eq!(table.proving.total, PROVING);
    assert_eq!(table.proving.count(Identity::Key([1; 32])), 1);
    assert_eq!(host.refused.borrow().len(), 101);
}

#[test]
fn a_host_of_ipv6_is_its_network() {
    assert_eq!(origin(address("2001:db8::1")), origin(address("2001:db8::ffff:2")));
    assert_ne!(origin(address("2001:db8::1")), origin(address("2001:db8:0:1::1")));
    assert_ne!(origin(address("fe80::1")), origin(address("fe80::2")));
}
