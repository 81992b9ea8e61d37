use std::thread;

use garland_protocol::files::{FileRef, PIECE};
use garland_sys::channel::{Receiver, channel};

use super::super::hand_agent::HandAgent;
use super::*;
use crate::recording::Recording;

/// The time within which a test expects something.
const DEADLINE: Duration = Duration::from_secs(10);

/// The time between two looks at what is late.
const STEP: Duration = Duration::from_millis(250);

fn connected() -> (Arc<Wire>, Vec<HandAgent>) {
    let (ends, agent) = HandAgent::connections();
    let traffic = Traffic::new(Arc::new(Recording::begin(1, false)), 0);
    (Wire::start(Arc::new(traffic), 1, ends).expect("threads can be started"), agent)
}

/// Makes a request. Returns the receiver of its outcome.
fn asked(wire: &Wire, ask: Ask) -> Receiver<Result<Answer, Errno>> {
    let (tell, told) = channel();
    let then = move |outcome: Result<Reply, Errno>| {
        let _ = tell.send(outcome.map(|reply| reply.answer));
    };
    wire.ask(ask, Vec::new(), Box::new(then));
    told
}

fn stat() -> Ask {
    Ask::Stat(FileRef::Open(1))
}

fn passes(wire: &Wire, time: Duration) {
    (0..time.as_millis() / STEP.as_millis()).for_each(|_| wire.pass(STEP));
}

#[test]
fn an_agent_that_answers_nothing_is_lost() {
    let (wire, _agent) = connected();
    let read = asked(&wire, Ask::Read(1, 0, PIECE));
    passes(&wire, Duration::from_secs(120));
    assert_eq!(wire.failure(), None);
    wire.pass(STEP);
    assert_eq!(read.try_recv(), Ok(Err(Errno::IO)));
    let why = "its agent did not answer a request for 120 s";
    assert_eq!(wire.failure().as_deref(), Some(why));
}

#[test]
fn what_is_opened_too_late_is_closed() {
    let (wire, mut agent) = connected();
    let agent = &mut agent[0];
    let listed = asked(&wire, Ask::List(Vec::new()));
    let list = agent.receive().expect("a request");
    for _ in 0..4 {
        let told = asked(&wire, stat());
        passes(&wire, Duration::from_secs(40));
        let FileRequest { number, .. } = agent.receive().expect("a request");
        agent.answer(number, Err(Errno::NOENT), b"");
        assert_eq!(told.recv_timeout(DEADLINE), Ok(Err(Errno::NOENT)));
    }
    assert_eq!(listed.try_recv(), Ok(Err(Errno::IO)), "the others did not wait for it");
    agent.answer(list.number, Ok(Answer::Listed { more: Some(7), entries: Vec::new() }), b"");
    assert_eq!(agent.receive().map(|request| request.ask), Some(Ask::Close(7)));
    assert_eq!(wire.failure(), None);
}

#[test]
fn who_is_told_of_a_lost_connection_may_use_it_at_once() {
    let (wire, _agent) = connected();
    wire.fail("it is lost");
    let (tell, told) = channel();
    thread::spawn(move || {
        let again = Arc::clone(&wire);
        let then = move |_| {
            let _ = tell.send(again.failure());
        };
        wire.ask(stat(), Vec::new(), Box::new(then));
    });
    let why = told.recv_timeout(DEADLINE).expect("no thread waits for itself");
    assert_eq!(why.as_deref(), Some("it is lost"));
}
