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

/// Returns the number of the next request of a kind; others are not answered.
fn received(agent: &mut HandAgent, is_it: impl Fn(&Ask) -> bool) -> u64 {
    loop {
        let FileRequest { number, ask } = agent.receive().expect("a request");
        if is_it(&ask) {
            return number;
        }
    }
}

fn is_stat(ask: &Ask) -> bool {
    matches!(ask, Ask::Stat(_))
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
        let number = received(agent, is_stat);
        agent.answer(number, Err(Errno::NOENT), b"");
        assert_eq!(told.recv_timeout(DEADLINE), Ok(Err(Errno::NOENT)));
    }
    assert_eq!(listed.try_recv(), Ok(Err(Errno::IO)), "the others did not wait for it");
    agent.answer(list.number, Ok(Answer::Listed { more: Some(7), entries: Vec::new() }), b"");
    received(agent, |ask| *ask == Ask::Close(7));
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

#[test]
fn an_error_that_no_program_may_get_is_an_io_error() {
    let (wire, mut agent) = connected();
    let agent = &mut agent[0];
    for (number, error) in (1..).zip([511, 512, 4095]) {
        let told = asked(&wire, stat());
        agent.answer(number, Err(Errno::from_raw_os_error(error)), b"");
        let outcome = told.recv_timeout(DEADLINE).expect("it is answered");
        let expected = if error < 512 { Errno::from_raw_os_error(error) } else { Errno::IO };
        assert_eq!(outcome, Err(expected), "{error}");
    }
}

#[test]
fn what_hangs_on_one_connection_ends_nothing_while_the_other_one_serves() {
    let (wire, mut agent) = connected();
    let hanging = asked(&wire, stat());
    for _ in 0..4 {
        let told = asked(&wire, Ask::Read(1, 0, PIECE));
        passes(&wire, Duration::from_secs(40));
        let number = received(&mut agent[1], |ask| matches!(ask, Ask::Read(..)));
        agent[1].answer(number, Ok(Answer::Done), b"");
        assert_eq!(told.recv_timeout(DEADLINE), Ok(Ok(Answer::Done)));
    }
    assert_eq!(hanging.try_recv(), Ok(Err(Errno::IO)));
    assert_eq!(wire.failure(), None);
}

#[test]
fn what_hangs_alone_ends_nothing_else_if_the_agent_answers_when_asked() {
    let (wire, mut agent) = connected();
    let agent = &mut agent[0];
    let last = asked(&wire, Ask::Holds { root: [7; 32], file: 1 });
    let last_number = agent.receive().expect("a request").number;
    let hanging = asked(&wire, Ask::Read(1, 0, PIECE));
    passes(&wire, Duration::from_secs(60));
    let probe = agent.receive().expect("the agent is asked whether it answers");
    agent.answer(probe.number, Err(Errno::NODATA), b"");
    agent.answer(last_number, Err(Errno::NODATA), b"");
    assert_eq!(last.recv_timeout(DEADLINE), Ok(Err(Errno::NODATA)));
    passes(&wire, Duration::from_secs(61));
    assert_eq!(hanging.try_recv(), Ok(Err(Errno::IO)));
    assert_eq!(wire.failure(), None);
}

#[test]
fn a_sync_that_takes_too_long_is_given_up_alone() {
    let (wire, mut agent) = connected();
    let sync = asked(&wire, Ask::Sync(1, false));
    for _ in 0..10 {
        let told = asked(&wire, stat());
        passes(&wire, Duration::from_secs(61));
        let number = received(&mut agent[0], is_stat);
        agent[0].answer(number, Err(Errno::NOENT), b"");
        assert_eq!(told.recv_timeout(DEADLINE), Ok(Err(Errno::NOENT)));
    }
    assert_eq!(sync.try_recv(), Ok(Err(Errno::IO)));
    assert_eq!(wire.failure(), None);
}

#[test]
fn an_agent_that_answers_what_was_not_sent_is_lost() {
    let (wire, mut agent) = connected();
    // More than the kernel's buffers of a connection take.
    let writes: Vec<_> = (0..64)
        .map(|_| {
            let (tell, told) = channel();
            let mut payload = room(PIECE as usize);
            payload.resize(FRAME_HEAD + PIECE as usize, 7);
            let then = move |outcome: Result<Reply, Errno>| {
                let _ = tell.send(outcome.map(|reply| reply.answer));
            };
            wire.ask(Ask::Write(1, 0), payload, Box::new(then));
            told
        })
        .collect();
    agent[1].answer(64, Ok(Answer::Done), b"");
    assert_eq!(writes[63].recv_timeout(DEADLINE), Ok(Err(Errno::IO)));
    assert_eq!(
        wire.failure().as_deref(),
        Some("its agent answered a request that it did not have")
    );
}
