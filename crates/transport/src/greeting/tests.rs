//! Tests of the greeting over loopback.

use std::thread;

use garland_protocol::PROTOCOL;
use garland_sys::socket::pair;

use super::*;

const ID: CopyId = CopyId([5; 16]);

fn secret(byte: u8) -> Credentials<'static> {
    Credentials::Secret(ID, Secret([byte; 32]))
}

/// Welcomes the peer at the other end of `far`, which must know `known`.
fn welcome(mut far: &TcpStream, known: Credentials<'_>) -> Result<Welcomed<CopyId>, LinkError> {
    let mut greeting = Greeting::default();
    loop {
        let mut bytes = vec![0; greeting.wanted()?];
        far.read_exact(&mut bytes)?;
        greeting.receive(&bytes);
        if greeting.wanted()? > 0 {
            continue;
        }
        let step = greeting.proceed(|_, claim| match claim {
            Claim::Member(id) => Found::Member(known.clone(), *id),
            _ => Found::Nothing,
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
            let (mut between, mut heard) = (far, vec![0; 512]);
            let read = between.read(&mut heard).expect("the peer greets");
            heard.truncate(read);
            heard
        });
        let _ = introduce(&near, Duration::from_millis(200), purpose, &secret(1), b"7");
        let recorded = recording.join().expect("it ends");
        let (again, far) = pair().unwrap();
        near = again;
        let greeted = thread::spawn(move || welcome(&far, secret(1)).map(drop));
        near.write_all(&recorded).expect("it is there");
        near.write_all(&[9; 40]).expect("it is there");
        let refused = greeted.join().expect("it ends");
        let refused = refused.expect_err("the greeting was recorded").to_string();
        assert!(refused.starts_with("the peer doesn't hold the right key"), "{refused}");
    }
}

/// Heads and agents of all releases read this of each other: the lengths and their order never
/// change.
#[test]
fn the_greeting_of_a_retirement_never_changes() {
    let (head, agent) = (KeyPair::generate(), KeyPair::generate());
    let (near, mut far) = pair().unwrap();
    let (ours, theirs) = (head.clone(), agent.public);
    let greeted = thread::spawn(move || {
        let keys = Credentials::Keys(&ours, theirs);
        introduce(&near, limits::ANSWER, Purpose::Retire, &keys, b"E\0\0").map(drop)
    });
    let start = [&b"GARLAND\n"[..], &PROTOCOL.to_le_bytes(), b"R"].concat();
    let mut hello = [0; 32 + 32 + 2 + 48];
    far.read_exact(&mut hello).expect("the head greets");
    assert_eq!(hello[..11], start);
    assert_eq!((&hello[32..64], &hello[64..66]), (&head.public[..], &[48, 0][..]));
    // That of another release is answered like it, in which only the version differs.
    let mut greeting = Greeting::default();
    greeting.receive(&hello);
    assert_eq!(greeting.wanted().expect("it is a greeting"), 0);
    let step = greeting.proceed(|purpose, claim| match (purpose, claim) {
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
    match greeting.proceed(|_, _| Found::Nothing).expect("it has its key") {
        Step::Done(guest) => match *guest {
            Guest::Member(welcomed) => assert_eq!(welcomed.first, b"E\0\0"),
            Guest::Ticket(_) => panic!("it has no ticket"),
        },
        Step::Answer(_) | Step::Wait(_) => panic!("nothing more is wanted"),
    }
}
