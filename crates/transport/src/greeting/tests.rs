//! Tests of the greeting over loopback.

use std::thread;

use garland_protocol::wire::{GreetingRate, PROTOCOL, exchanges_of_thread};
use garland_sys::socket::pair;

use super::*;
use crate::key_ring::Identity;

const ID: CopyId = CopyId([5; 16]);

fn secret(byte: u8) -> Credentials<'static> {
    Credentials::Secret(ID, Secret([byte; 32]))
}

/// Welcomes the peer at the other end of `far`, which must know `known`.
fn welcome(far: &TcpStream, known: Credentials<'_>) -> Result<Welcomed<CopyId>, LinkError> {
    welcome_to(&mut KeyRing::default(), far, known)
}

/// Welcomes the peer as [`welcome`] does; `ring` remembers earlier ones.
fn welcome_to(
    ring: &mut KeyRing,
    far: &TcpStream,
    known: Credentials<'_>,
) -> Result<Welcomed<CopyId>, LinkError> {
    welcome_at(None, ring, far, known)
}

/// Welcomes the peer as [`welcome_to`] does, if it greets no more often than at this rate.
fn welcome_at(
    rate: Option<GreetingRate>,
    ring: &mut KeyRing,
    mut far: &TcpStream,
    known: Credentials<'_>,
) -> Result<Welcomed<CopyId>, LinkError> {
    let mut greeting = Greeting::default();
    loop {
        let mut bytes = vec![0; greeting.wanted()?];
        far.read_exact(&mut bytes)?;
        greeting.receive(&bytes);
        if greeting.wanted()? > 0 {
            continue;
        }
        let step = greeting.proceed(ring, |_, claim| {
            let of = match claim {
                Claim::Member(id) => Identity::Secret(*id),
                Claim::Controller(key) => Identity::Key(*key),
                Claim::Ticket(_) => return Found::Nothing,
            };
            match rate {
                None => Found::Member(known.clone(), ID),
                Some(rate) => Found::Limited(known.clone(), ID, GreetingLimit { of, rate }),
            }
        });
        match step? {
            Step::Answer(bytes) => far.write_all(&bytes)?,
            Step::Done(guest) => match *guest {
                Guest::Member(welcomed) => return Ok(welcomed),
                Guest::Ticket(_) => panic!("it has no ticket"),
            },
            Step::Wait(_) => panic!("a member is known"),
        }
    }
}

#[test]
fn both_sides_have_one_channel_after_a_greeting() {
    let (near, far) = pair().unwrap();
    let greeted = thread::spawn(move || welcome(&far, secret(1)));
    let patience = limits::ANSWER;
    let mut ours = introduce(&near, patience, Purpose::Probe, &secret(1), b"7").expect("it is");
    let mut theirs = greeted.join().expect("it ends").expect("it is greeted");
    assert_eq!((theirs.to, &theirs.first[..]), (ID, &b"7"[..]));
    let mut wire = Vec::new();
    ours.sending.seal(b"next", &mut wire).expect("it is short");
    let opened = theirs.channel.receiving.open(&mut wire).expect("it was sealed by the peer");
    assert_eq!(opened.as_deref(), Some(&b"next"[..]));
}

#[test]
fn a_peer_with_another_secret_is_refused_by_both_sides() {
    let (near, far) = pair().unwrap();
    let greeted = thread::spawn(move || welcome(&far, secret(2)).map(drop));
    let ours = introduce(&near, limits::ANSWER, Purpose::Files, &secret(1), b"7").map(drop);
    assert!(ours.is_err());
    let refused = greeted.join().expect("it ends");
    assert!(matches!(refused, Err(LinkError::Channel(ChannelError::Refused))), "{refused:?}");
}

/// Every kind of connection is proved by its first frame: links, too.
#[test]
fn a_replayed_greeting_is_refused() {
    for purpose in [Purpose::Link, Purpose::Probe, Purpose::Files] {
        let (mut near, far) = pair().unwrap();
        let recording = thread::spawn(move || {
            let mut between = far;
            let mut heard = vec![0; 512];
            let read = between.read(&mut heard).expect("the peer greets");
            heard.truncate(read);
            heard
        });
        let _ = introduce(&near, Duration::from_millis(200), purpose, &secret(1), b"7");
        let recorded = recording.join().expect("it ends");
        let (again, far) = pair().unwrap();
        near = again;
        let greeted = thread::spawn(move || welcome(&far, secret(1)).map(drop));
        near.write_all(&recorded).expect("the connection is open");
        near.write_all(&[9; 40]).expect("the connection is open");
        let refused = greeted.join().expect("it ends");
        let refused = refused.expect_err("the greeting was recorded").to_string();
        assert!(refused.starts_with("the peer doesn't hold the right key"), "{refused}");
    }
}

/// Returns the first bytes of a peer that has `credentials`.
fn recorded(purpose: Purpose, credentials: &Credentials<'_>) -> Vec<u8> {
    first_bytes(&Preamble::ours(purpose).to_bytes(), credentials).expect("it can greet").0
}

/// Returns the error of a greeting that begins with `hello` and is followed by other bytes, and the
/// number of key exchanges that it cost.
fn cost(ring: &mut KeyRing, hello: &[u8], known: &Credentials<'_>) -> (LinkError, u64) {
    let (mut near, far) = pair().unwrap();
    near.write_all(hello).expect("the connection is open");
    near.write_all(&[9; 40]).expect("the connection is open");
    let before = exchanges_of_thread();
    let refused = welcome_to(ring, &far, known.clone()).map(drop).expect_err("it proves nothing");
    (refused, exchanges_of_thread() - before)
}

#[test]
fn who_greets_too_often_is_to_come_again_and_costs_no_key_exchange() {
    let head = KeyPair::generate();
    let agent = KeyPair::generate();
    let mut ring = KeyRing::default();
    let rate = GreetingRate { per_s: 1, at_once: 2 };
    let mut greet = |keys: &KeyPair, rate| {
        let (near, far) = pair().unwrap();
        let keys = keys.clone();
        let theirs = agent.public;
        let known = Credentials::Keys(&agent, keys.public);
        let greeting = thread::spawn(move || {
            let ours = Credentials::Keys(&keys, theirs);
            introduce(&near, limits::ANSWER, Purpose::Control, &ours, b"7").map(drop)
        });
        let before = exchanges_of_thread();
        let welcomed = welcome_at(rate, &mut ring, &far, known).map(drop);
        let exchanges = exchanges_of_thread() - before;
        drop(far);
        let _ = greeting.join().expect("it ends");
        (welcomed, exchanges)
    };
    for _ in 0..2 {
        let (welcomed, exchanges) = greet(&head, Some(rate));
        assert!(welcomed.is_ok() && exchanges > 0, "{welcomed:?}");
    }
    // On a busy machine one second, and so another greeting, may have come meanwhile.
    let mut more = (0..100).map(|_| greet(&head, Some(rate)));
    let refused = more.find(|(welcomed, _)| welcomed.is_err());
    drop(more);
    let (refused, exchanges) = refused.expect("it greets too often");
    let is_too_often = matches!(refused, Err(LinkError::Channel(ChannelError::TooOften)));
    assert!(is_too_often && exchanges == 0, "{refused:?}, {exchanges} exchanges");
    let (other, _) = greet(&KeyPair::generate(), Some(rate));
    assert!(other.is_ok(), "another key: {other:?}");
    let (unlimited, _) = greet(&head, None);
    assert!(unlimited.is_ok(), "{unlimited:?}");
}

/// Returns the number of key exchanges that a greeting costs which begins with `hello` and proves
/// nothing, if it greets no more often than at this rate; none if it greets too often.
fn unproven(
    ring: &mut KeyRing,
    rate: GreetingRate,
    hello: &[u8],
    known: &Credentials<'_>,
) -> Option<u64> {
    let (mut near, far) = pair().unwrap();
    near.write_all(hello).unwrap();
    near.write_all(&[9; 40]).unwrap();
    let before = exchanges_of_thread();
    let welcomed = welcome_at(Some(rate), ring, &far, known.clone()).map(drop);
    let exchanges = exchanges_of_thread() - before;
    match welcomed {
        Err(LinkError::Channel(ChannelError::TooOften)) => {
            assert_eq!(exchanges, 0);
            None
        }
        Err(LinkError::Channel(ChannelError::Refused)) => Some(exchanges),
        other => panic!("{other:?}"),
    }
}

/// A peer that knows a secret may have chosen it itself, and could greet anew without end.
#[test]
fn who_greets_too_often_with_a_secret_costs_no_key_exchange() {
    let rate = GreetingRate { per_s: 1, at_once: 4 };
    let mut ring = KeyRing::default();
    for purpose in SHARED_PURPOSES {
        let hellos: Vec<Vec<u8>> = (0..100).map(|_| recorded(purpose, &secret(1))).collect();
        let costs: Vec<Option<u64>> =
            hellos.iter().map(|hello| unproven(&mut ring, rate, hello, &secret(1))).collect();
        // On a busy machine some seconds, and so other greetings, may have come meanwhile.
        assert!(costs.contains(&None), "{purpose:?}: {costs:?}");
        let other = Credentials::Secret(CopyId([6; 16]), Secret([1; 32]));
        assert!(unproven(&mut ring, rate, &recorded(purpose, &other), &other).is_some());
        ring = KeyRing::default();
    }
}

/// Such a greeting is answered, since only the owner of the key can have made it.
#[test]
fn new_greetings_with_a_key_that_are_never_completed_count_too() {
    let head = KeyPair::generate();
    let agent = KeyPair::generate();
    let rate = GreetingRate { per_s: 1, at_once: 4 };
    let mut ring = KeyRing::default();
    let ours = Credentials::Keys(&head, agent.public);
    let known = Credentials::Keys(&agent, head.public);
    // Makes the clock known.
    let (near, far) = pair().unwrap();
    thread::scope(|scope| {
        scope.spawn(|| introduce(&near, limits::ANSWER, Purpose::Control, &ours, b"7").map(drop));
        assert!(welcome_at(Some(rate), &mut ring, &far, known.clone()).is_ok());
    });
    let costs: Vec<Option<u64>> = (0..100)
        .map(|_| unproven(&mut ring, rate, &recorded(Purpose::Control, &ours), &known))
        .collect();
    assert!(costs[0].is_some_and(|exchanges| exchanges > 0), "{costs:?}");
    assert!(costs.contains(&None), "{costs:?}");
}

#[test]
fn a_repetition_uses_up_nothing_of_what_the_owner_may_do() {
    let rate = GreetingRate { per_s: 1, at_once: 2 };
    let mut ring = KeyRing::default();
    let first = recorded(Purpose::Files, &secret(1));
    assert!(unproven(&mut ring, rate, &first, &secret(1)).is_some());
    for _ in 0..100 {
        let (mut near, far) = pair().unwrap();
        near.write_all(&first).unwrap();
        let before = exchanges_of_thread();
        let refused = welcome_at(Some(rate), &mut ring, &far, secret(1)).map(drop);
        let is_repeated = matches!(refused, Err(LinkError::Channel(ChannelError::Repeated)));
        assert!(is_repeated && exchanges_of_thread() == before, "{refused:?}");
    }
    let second = recorded(Purpose::Files, &secret(1));
    assert!(unproven(&mut ring, rate, &second, &secret(1)).is_some());
}

const SHARED_PURPOSES: [Purpose; 3] = [Purpose::Link, Purpose::Probe, Purpose::Files];

#[test]
fn who_names_the_controllers_public_key_costs_no_key_exchange() {
    let head = KeyPair::generate();
    let agent = KeyPair::generate();
    let stranger = KeyPair::generate();
    let mut ring = KeyRing::default();
    let known = Credentials::Keys(&agent, head.public);
    let pretender = KeyPair { public: head.public, ..stranger };
    for purpose in [Purpose::Control, Purpose::Retire] {
        let hello = recorded(purpose, &Credentials::Keys(&pretender, agent.public));
        // What the keys have in common is found out once.
        let _ = cost(&mut ring, &hello, &known);
        for at in 32..hello.len() {
            let mut changed = hello.clone();
            // The length of the message stays, or the greeting would have another end.
            changed[at] ^= u8::from(!(80..82).contains(&at));
            let (refused, exchanges) = cost(&mut ring, &changed, &known);
            assert!(matches!(refused, LinkError::Channel(ChannelError::Refused)), "{refused:?}");
            assert_eq!(exchanges, 0, "byte {at}");
        }
    }
    // Every byte of the controller's own greeting counts, too.
    let hello = recorded(Purpose::Control, &Credentials::Keys(&head, agent.public));
    for at in (8..hello.len()).filter(|at| !(8..11).contains(at) && !(80..82).contains(at)) {
        let mut changed = hello.clone();
        changed[at] ^= 1;
        let (refused, exchanges) = cost(&mut ring, &changed, &known);
        assert!(matches!(refused, LinkError::Channel(ChannelError::Refused)), "{refused:?}");
        assert_eq!(exchanges, 0, "byte {at}");
    }
}

#[test]
fn a_stranger_on_a_link_costs_no_key_exchange() {
    let mut ring = KeyRing::default();
    for purpose in SHARED_PURPOSES {
        let (refused, exchanges) = cost(&mut ring, &recorded(purpose, &secret(2)), &secret(1));
        assert!(matches!(refused, LinkError::Channel(ChannelError::Refused)), "{refused:?}");
        assert_eq!(exchanges, 0);
    }
}

#[test]
fn a_repeated_greeting_costs_no_key_exchange() {
    let head = KeyPair::generate();
    let agent = KeyPair::generate();
    let mut ring = KeyRing::default();
    let ours = Credentials::Keys(&head, agent.public);
    let known = Credentials::Keys(&agent, head.public);
    let shared = (secret(1), secret(1));
    let kinds = [Purpose::Control, Purpose::Retire].map(|purpose| (purpose, &ours, &known));
    let others = SHARED_PURPOSES.map(|purpose| (purpose, &shared.0, &shared.1));
    for (purpose, ours, known) in kinds.into_iter().chain(others) {
        let hello = recorded(purpose, ours);
        let (refused, exchanges) = cost(&mut ring, &hello, known);
        assert!(exchanges > 0, "the first one is answered");
        assert!(matches!(refused, LinkError::Channel(ChannelError::Refused)), "{refused:?}");
        for _ in 0..3 {
            let (refused, exchanges) = cost(&mut ring, &hello, known);
            assert!(matches!(refused, LinkError::Channel(ChannelError::Repeated)), "{refused:?}");
            assert_eq!(exchanges, 0, "{purpose:?}");
        }
    }
}

/// Also after its clock is known, and while others with that key greet.
#[test]
fn a_head_is_greeted_again_and_again() {
    let head = KeyPair::generate();
    let agent = KeyPair::generate();
    let mut ring = KeyRing::default();
    for _ in 0..300 {
        let (near, far) = pair().unwrap();
        let ours = head.clone();
        let theirs = agent.public;
        let greets = thread::spawn(move || {
            let keys = Credentials::Keys(&ours, theirs);
            introduce(&near, limits::ANSWER, Purpose::Control, &keys, b"first").map(drop)
        });
        let known = Credentials::Keys(&agent, head.public);
        let welcomed = welcome_to(&mut ring, &far, known).map(|welcomed| welcomed.first);
        assert_eq!(welcomed.expect("it has the key"), b"first");
        greets.join().expect("it ends").expect("it is answered");
    }
}

/// Heads and agents of all releases read this of each other: the lengths and their order never
/// change.
#[test]
fn the_greeting_of_a_retirement_never_changes() {
    let head = KeyPair::generate();
    let agent = KeyPair::generate();
    let (near, mut far) = pair().unwrap();
    let ours = head.clone();
    let theirs = agent.public;
    let greeted = thread::spawn(move || {
        let keys = Credentials::Keys(&ours, theirs);
        introduce(&near, limits::ANSWER, Purpose::Retire, &keys, b"E\0\0").map(drop)
    });
    let start = [&b"GARLAND\n"[..], &PROTOCOL.to_le_bytes(), b"R"].concat();
    let mut hello = [0; 32 + 32 + 8 + 8 + 2 + 48 + 16];
    far.read_exact(&mut hello).expect("the head greets");
    assert_eq!(hello[..11], start);
    assert_eq!((&hello[32..64], &hello[80..82]), (&head.public[..], &[48, 0][..]));
    let keys = agent.agree(Side::Responder, &head.public).expect("the key is valid");
    assert_eq!(hello[64..72], keys.stamp(boot(), 0).clock);
    let time_ns = u64::from_le_bytes(hello[72..80].try_into().expect("eight bytes"));
    assert!(time_ns <= clock::boot_ns() && time_ns > 0, "nanoseconds since the boot");
    assert_eq!(hello[130..], keys.mac(&hello[..130]));
    // That of another release is answered like it, in which only the version differs.
    let mut greeting = Greeting::default();
    greeting.receive(&hello);
    assert_eq!(greeting.wanted().expect("it is a greeting"), 0);
    let mut ring = KeyRing::default();
    let step = greeting.proceed(&mut ring, |purpose, claim| match (purpose, claim) {
        (Purpose::Retire, Claim::Controller(key)) => {
            Found::Member(Credentials::Keys(&agent, *key), ())
        }
        _ => Found::Nothing,
    });
    let Step::Answer(mut answer) = step.expect("the head knows its key") else {
        panic!("the head must be answered");
    };
    assert_eq!(answer.len(), 32 + 2 + 48);
    assert_eq!((&answer[..11], &answer[32..34]), (&start[..], &[48, 0][..]));
    answer[8..10].copy_from_slice(&[3, 2]);
    far.write_all(&answer).expect("the head is there");
    greeted.join().expect("it ends").expect("the answer is that of an agent");
    let mut proof = [0; 4 + 3 + 16];
    far.read_exact(&mut proof).expect("the head proves its key");
    greeting.receive(&proof);
    assert_eq!(greeting.wanted().expect("it is a frame"), 0);
    match greeting.proceed(&mut ring, |_, _| Found::Nothing).expect("it has its key") {
        Step::Done(guest) => match *guest {
            Guest::Member(welcomed) => assert_eq!(welcomed.first, b"E\0\0"),
            Guest::Ticket(_) => panic!("it has no ticket"),
        },
        Step::Answer(_) | Step::Wait(_) => panic!("nothing more is wanted"),
    }
}
