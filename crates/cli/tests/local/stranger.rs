//! Peers that aren't the agent's: they get nothing, cost bounded memory, and are logged.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use garland_protocol::ToAgent;
use garland_protocol::wire::ReadyLine;
use garland_protocol::wire::{
    KeyPair, PREAMBLE_LEN, PROTOCOL, Preamble, Purpose, RetireReply, RetireRequest, Secret,
};
use garland_sys::{clock, process};
use garland_testkit::{DEADLINE, Flood, Garland, HandAgent, Peer, Scratch, random_bytes, until};
use garland_transport::connection::{Connection, connect_agent};
use garland_transport::{ConnectionError, retire};

/// An agent of a test, and the keys of the one who may command it.
struct Agent {
    hand: HandAgent,
    controller: KeyPair,
    root: PathBuf,
}

impl Agent {
    fn start(scratch: &Scratch) -> Self {
        let controller = KeyPair::generate();
        let root = scratch.path("root");
        fs::create_dir(&root).expect("it can be made");
        let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), scratch);
        let hand = HandAgent::start(&garland, &["--controller", &hex(&controller.public)], &root);
        Self { hand, controller, root }
    }

    fn peer(&self) -> Peer {
        Peer::connect(self.hand.port())
    }

    fn ready(&self) -> ReadyLine {
        ReadyLine::parse(self.hand.ready_line()).expect("its line is a ready line")
    }

    fn connect(&self, keys: &KeyPair, theirs: &[u8; 32]) -> Result<Connection, ConnectionError> {
        let address = ([127, 0, 0, 1], self.hand.port()).into();
        connect_agent(address, keys, theirs, DEADLINE)
    }

    /// What a peer gets that asks for the program with the ticket `said`.
    fn program(&self, said: &str) -> Vec<u8> {
        let mut peer = self.peer();
        peer.say(&[&preamble(Purpose::Binary)[..], said.as_bytes()].concat());
        peer.hush();
        peer.hear_all()
    }

    /// After all that was done to it the agent still serves its controller, and nothing was
    /// written.
    fn assert_unharmed(&self) {
        drop(self.connect(&self.controller, &self.ready().key).expect("the controller is served"));
        let entries = fs::read_dir(&self.root).expect("the root is there").count();
        assert_eq!(entries, 0, "a stranger wrote something");
    }
}

fn hex(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn preamble(purpose: Purpose) -> [u8; PREAMBLE_LEN] {
    Preamble::ours(purpose).to_bytes()
}

/// The length of a controller's first bytes: the preamble, its key, the clock and the time, the
/// length of a message, the message, and the MAC.
const CONTROL_GREETING: usize = PREAMBLE_LEN + 32 + 8 + 8 + 2 + 48 + 16;

#[test]
fn garbage_gets_nothing_and_is_logged() {
    let scratch = Scratch::new("garbage");
    let agent = Agent::start(&scratch);
    let garbage = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n".to_vec(),
        b"SSH-2.0-OpenSSH_9.6\r\nand more than thirty-two bytes".to_vec(),
        vec![0; 4096],
        vec![0xff; 4096],
        random_bytes(1 << 20, 5),
    ];
    for bytes in &garbage {
        let mut peer = agent.peer();
        peer.say(bytes);
        assert_eq!(peer.hear_all(), b"", "a stranger was answered");
    }
    until("a line for each stranger", || agent.hand.log().len() >= garbage.len());
    let strange = "the peer doesn't speak Garland's protocol";
    assert!(agent.hand.log().iter().all(|line| line.starts_with("refused a connection from ")
        && line.contains("127.0.0.1")
        && line.ends_with(strange)));
    agent.assert_unharmed();
}

#[test]
fn a_greeting_that_ends_early_is_turned_away() {
    let scratch = Scratch::new("early");
    let agent = Agent::start(&scratch);
    for purpose in [Purpose::Control, Purpose::Link, Purpose::Binary, Purpose::Retire] {
        let whole = [&preamble(purpose)[..], &[7; 200]].concat();
        for length in [0, 1, 31, 32, 33, 48, 50, 64, 66, 100] {
            let mut peer = agent.peer();
            peer.say(&whole[..length]);
            peer.hush();
            assert_eq!(peer.hear_all(), b"", "{length} bytes were answered");
        }
    }
    agent.assert_unharmed();
}

#[test]
fn a_length_beyond_all_greetings_is_refused_before_it_is_believed() {
    let scratch = Scratch::new("length");
    let agent = Agent::start(&scratch);
    let before = agent.hand.process().memory();
    let control = [&claimed_beginning(&agent)[..], &[0xff, 0xff]].concat();
    let link = [&preamble(Purpose::Link)[..], &[9; 16], &[0xff, 0xff]].concat();
    for hello in [&control, &link] {
        let mut peer = agent.peer();
        peer.say(hello);
        assert_eq!(peer.hear_all(), b"");
    }
    let _ = agent.hand.await_log("message of 65535 bytes");
    agent.assert_unharmed();
    assert!(agent.hand.process().memory() < before + (8 << 20));
}

#[test]
fn hundreds_of_half_open_connections_cost_little_and_are_dropped() {
    const PEERS: usize = 600;
    let scratch = Scratch::new("half-open");
    let agent = Agent::start(&scratch);
    let before = agent.hand.process().memory();
    let mut peers: Vec<Peer> = (0..PEERS).map(|_| agent.peer()).collect();
    let hello = preamble(Purpose::Control);
    for (at, peer) in peers.iter_mut().enumerate() {
        peer.say(&hello[..at % PREAMBLE_LEN]);
    }
    let _ = agent.hand.await_log("have not completed their greeting");
    let during = agent.hand.process().memory();
    assert!(during < before + (32 << 20), "{before} bytes before, {during} now");
    for peer in &mut peers {
        assert_eq!(peer.hear_all(), b"");
    }
    let _ = agent.hand.await_log("further refused connections are not logged");
    assert!(agent.hand.log().len() <= 110, "the log grows with the strangers");
    agent.assert_unharmed();
}

#[test]
fn a_greeting_has_one_deadline_however_slowly_it_is_said() {
    let scratch = Scratch::new("drip");
    let agent = Agent::start(&scratch);
    // A byte now and then is no reason to wait longer: as many bytes as these would take 30 s and
    // more, whichever part of a greeting they belong to.
    let starts = [
        Vec::new(),
        [&claimed_beginning(&agent)[..], &[200, 0]].concat(),
        [&preamble(Purpose::Link)[..], &[9; 16], &[200, 0]].concat(),
        preamble(Purpose::Binary).to_vec(),
    ];
    let mut peers: Vec<Peer> = starts.iter().map(|_| agent.peer()).collect();
    peers.iter_mut().zip(&starts).for_each(|(peer, start)| peer.say(start));
    let began = clock::now_ns();
    let mut open: Vec<usize> = (0..peers.len()).collect();
    let hello = preamble(Purpose::Control);
    for byte in 0.. {
        // The first one says what every greeting begins with; the others what might follow.
        open.retain(|&at| {
            peers[at].say(&[if at == 0 { hello[byte.min(31)] } else { 1 }]);
            !peers[at].is_hung_up()
        });
        let waited = Duration::from_nanos(clock::now_ns() - began);
        if open.is_empty() {
            assert!(waited > Duration::from_secs(4), "they had {waited:?}");
            break;
        }
        assert!(waited < Duration::from_secs(12), "{open:?} are still heard after {waited:?}");
        std::thread::sleep(Duration::from_millis(400));
    }
    agent.assert_unharmed();
}

#[test]
fn slow_peers_of_one_address_keep_nobody_else_out() {
    let scratch = Scratch::new("quota");
    let agent = Agent::start(&scratch);
    let from = Ipv4Addr::new(127, 0, 0, 9);
    let mut peers: Vec<Peer> =
        (0..300).map(|_| Peer::connect_from(from, agent.hand.port())).collect();
    peers.iter_mut().for_each(|peer| peer.say(&preamble(Purpose::Control)));
    let line = agent
        .hand
        .await_log("too many connections from this address have not completed their greeting");
    assert!(line.contains("127.0.0.9"), "{line}");
    // The agent ends with its last controller.
    let mut served = Vec::new();
    for _ in 0..3 {
        // It is served in the middle of it, by its first attempt.
        let controller = agent.connect(&agent.controller, &agent.ready().key);
        served.push(controller.expect("a place is left"));
        peers.iter_mut().for_each(|peer| peer.say(&[7]));
    }
    let held = peers.iter().filter(|peer| !peer.is_hung_up()).count();
    assert!(held < 128, "{held} of one address are greeting");
    agent.assert_unharmed();
}

#[test]
fn slow_peers_of_many_addresses_cost_no_threads_and_keep_nobody_out() {
    let scratch = Scratch::new("siege");
    let agent = Agent::start(&scratch);
    let threads = || {
        let tasks = fs::read_dir(format!("/proc/{}/task", agent.hand.process().pid));
        tasks.expect("the agent runs").count()
    };
    let before = threads();
    // Each has an address of its own, and there are more of them than places.
    let from = |at: u16| Ipv4Addr::from_bits(0x7f01_0000 + u32::from(at));
    let mut peers: Vec<Peer> =
        (1..=700).map(|at| Peer::connect_from(from(at), agent.hand.port())).collect();
    peers.iter_mut().for_each(|peer| peer.say(&preamble(Purpose::Control)));
    let line = agent.hand.await_log("too many connections have not completed their greeting");
    assert!(line.contains("127.1.0."), "{line}");
    assert_eq!(threads(), before, "a stranger costs a thread");
    let controller = agent.connect(&agent.controller, &agent.ready().key);
    let served = controller.expect("the oldest stranger makes room");
    assert!(peers[0].is_hung_up() && !peers[699].is_hung_up());
    drop(served);
}

/// The beginning of a greeting that claims the controller's public key, which `ps` shows, up to the
/// length of its message.
fn claimed_beginning(agent: &Agent) -> Vec<u8> {
    let stamp = [7; 16];
    [&preamble(Purpose::Control)[..], &agent.controller.public, &stamp].concat()
}

/// A whole greeting that claims the controller's public key, by one who lacks its private half.
fn claimed_greeting(agent: &Agent) -> Vec<u8> {
    [&claimed_beginning(agent)[..], &[48, 0], &random_bytes(48 + 16, 3)].concat()
}

/// Lets twenty heads connect, one after the other. Returns why some of them were not served.
fn unserved_heads(agent: &Agent) -> Vec<String> {
    const HEADS: usize = 20;
    let mut unserved = Vec::new();
    // The agent ends with its last controller.
    let mut served = Vec::new();
    for head in 0..HEADS {
        let begun = clock::now_ns();
        let session = session_within(agent, Duration::from_secs(10));
        let took = Duration::from_nanos(clock::now_ns() - begun);
        match session {
            Ok(session) => served.push(session),
            Err(error) => unserved.push(format!("head {head} after {took:.1?}: {error}")),
        }
    }
    unserved
}

/// Opens a session. The agent must connect within `patience`, and serve the session within that
/// time, too.
fn session_within(agent: &Agent, patience: Duration) -> Result<Connection, ConnectionError> {
    let address = ([127, 0, 0, 1], agent.hand.port()).into();
    let mut session = connect_agent(address, &agent.controller, &agent.ready().key, patience)?;
    let until_ns = clock::after(patience);
    while session.receive()?.is_empty() {
        if clock::until(until_ns).is_zero() {
            return Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(session)
}

/// Besieges an agent with slow strangers of the heads' own address and of others, and with
/// greetings that claim the controller's key, which come from `addresses` as fast as they can.
fn besieged_heads_are_served(name: &str, addresses: &[Ipv4Addr]) {
    const STRANGERS: u16 = 300;
    let scratch = Scratch::new(name);
    let agent = Agent::start(&scratch);
    let own = Ipv4Addr::LOCALHOST;
    let from = |at: u16| {
        if at.is_multiple_of(2) { own } else { Ipv4Addr::from_bits(0x7f01_0000 + u32::from(at)) }
    };
    let mut strangers: Vec<Peer> =
        (0..STRANGERS).map(|at| Peer::connect_from(from(at), agent.hand.port())).collect();
    strangers.iter_mut().for_each(|peer| peer.say(&preamble(Purpose::Control)));
    let flood = Flood::start(addresses, agent.hand.port(), 64, claimed_greeting(&agent));
    // Strangers that say a byte and no more, as fast as they can, take the places of others.
    let half_open = Flood::start(addresses, agent.hand.port(), 600, b"G".to_vec());
    until("the flood has come", || flood.count() > 1000 && half_open.count() > 1000);
    let unserved = unserved_heads(&agent);
    let greetings = flood.count();
    drop((flood, half_open, strangers));
    assert!(unserved.is_empty(), "after {greetings} greetings of strangers: {unserved:#?}");
}

#[test]
fn a_flood_with_the_controllers_key_from_the_heads_address_keeps_no_head_out() {
    besieged_heads_are_served("flood-own", &[Ipv4Addr::LOCALHOST]);
}

#[test]
fn a_flood_with_the_controllers_key_from_another_address_keeps_no_head_out() {
    besieged_heads_are_served("flood-other", &[Ipv4Addr::new(127, 0, 0, 9)]);
}

#[test]
fn a_flood_with_the_controllers_key_from_many_addresses_keeps_no_head_out() {
    let addresses: Vec<Ipv4Addr> =
        (1..=2000).map(|at| Ipv4Addr::from_bits(0x7f02_0000 + at)).collect();
    besieged_heads_are_served("flood-many", &addresses);
}

#[test]
fn dolly_7_a_peer_without_the_key_commands_nothing() {
    let scratch = Scratch::new("key");
    let agent = Agent::start(&scratch);
    let stranger = KeyPair::generate();
    let refused = agent.connect(&stranger, &agent.ready().key).map(drop);
    assert!(matches!(refused, Err(ConnectionError::WrongKey(_))), "{refused:?}");
    // Who names the controller's public key, which is no secret, must prove that it is his.
    let pretender = KeyPair { private: stranger.private.clone(), public: agent.controller.public };
    let refused = agent.connect(&pretender, &agent.ready().key).map(drop);
    assert!(matches!(refused, Err(ConnectionError::WrongKey(_))), "{refused:?}");
    let _ = agent.hand.await_log("the peer doesn't hold the right key");
    agent.assert_unharmed();
}

#[test]
fn a_greeting_that_is_sent_again_opens_nothing_and_ends_nothing() {
    let scratch = Scratch::new("again");
    let agent = Agent::start(&scratch);
    let (address, heard) = listening_relay(agent.hand.port());
    let key = agent.ready().key;
    let session = connect_agent(address, &agent.controller, &key, DEADLINE);
    let session = session.expect("the controller is served");
    let mut stranger = agent.peer();
    stranger.say(&heard.recv().expect("the controller greeted"));
    stranger.hush();
    let _ = stranger.hear_all();
    let _ = agent.hand.await_log("the greeting is a repetition");
    drop(session);
    assert_eq!(agent.hand.end(), Some(0));
}

/// Listens on the way to `port`; what the first one who connects says first is sent to the test.
fn listening_relay(port: u16) -> (SocketAddr, Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("it has an address");
    let (tell, heard) = channel();
    std::thread::spawn(move || {
        let (mut near, _) = listener.accept().expect("somebody connects");
        let mut far = TcpStream::connect(("127.0.0.1", port)).expect("the agent listens");
        let mut greeting = vec![0; CONTROL_GREETING];
        near.read_exact(&mut greeting).expect("it greets");
        far.write_all(&greeting).expect("the agent reads");
        tell.send(greeting).expect("the test waits");
        let mut back = far.try_clone().expect("it can");
        let mut forth = near.try_clone().expect("it can");
        std::thread::spawn(move || std::io::copy(&mut back, &mut forth));
        // It ends with the test's session.
        let _ = std::io::copy(&mut near, &mut far);
        let _ = far.shutdown(Shutdown::Both);
    });
    (address, heard)
}

#[test]
fn a_controller_refuses_an_agent_that_is_not_the_one_it_launched() {
    let scratch = Scratch::new("agent-key");
    let agent = Agent::start(&scratch);
    let other = KeyPair::generate();
    let refused = agent.connect(&agent.controller, &other.public).map(drop);
    let refused = refused.expect_err("it is another");
    assert!(refused.to_string().contains("does not have the key with which it was launched"));
    agent.assert_unharmed();
}

#[test]
fn dolly_6_another_version_is_told_which_one_this_is() {
    let scratch = Scratch::new("version");
    let agent = Agent::start(&scratch);
    let mut other = Preamble::ours(Purpose::Control);
    (other.protocol, other.release) = (999, "9.9.9".to_owned());
    let mut peer = agent.peer();
    peer.say(&other.to_bytes());
    let answer = peer.hear_all();
    let answer = answer.first_chunk().expect("the other version hears a whole preamble");
    let ours = Preamble::parse(answer).expect("it is this version's");
    assert_eq!(ours.release, env!("CARGO_PKG_VERSION"));
    let line = agent.hand.await_log("protocol 999");
    assert!(line.ends_with("use the same garland on both sides"), "{line}");
    assert!(line.contains("the peer is garland 9.9.9"), "{line}");
    agent.assert_unharmed();
}

#[test]
fn a_controller_is_told_of_an_agent_of_another_version() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = listener.local_addr().expect("it has an address");
    let mut other = Preamble::ours(Purpose::Control);
    (other.protocol, other.release) = (999, "9.9.9".to_owned());
    let agent = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the controller connects");
        stream.write_all(&other.to_bytes()).expect("the controller reads");
        // Until the controller has gone.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let refused = connect_agent(address, &KeyPair::generate(), &[7; 32], DEADLINE);
    let refused = refused.err().expect("it is another version");
    assert!(matches!(refused, ConnectionError::Version(_)), "{refused:?}");
    let text = refused.to_string();
    assert!(text.contains("9.9.9") && text.contains("use the same garland"), "{text}");
    agent.join().expect("it only listens");
}

/// A connection that asks the agent to end, as an attacker on the path records it, who passes all
/// of it on except for the end.
fn recorded_retirement(agent: &Agent) -> Vec<u8> {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let port = agent.hand.port();
    let recording = std::thread::spawn(move || {
        let (mut head, _) = listener.accept().expect("the head connects");
        let mut far = TcpStream::connect(("127.0.0.1", port)).expect("the agent listens");
        let mut hello = [0; CONTROL_GREETING];
        let mut answer = [0; 82];
        let mut proof = [0; 23];
        head.read_exact(&mut hello).expect("the head greets");
        far.write_all(&hello).expect("the agent reads");
        far.read_exact(&mut answer).expect("the agent answers");
        head.write_all(&answer).expect("the head reads");
        head.read_exact(&mut proof).expect("the head proves its key");
        [&hello[..], &proof].concat()
    });
    // A port that is closed is no proof that an agent has ended.
    let asked =
        retire(address, &agent.controller, &agent.ready().key, RetireRequest::End, DEADLINE);
    assert!(matches!(asked, Err(ConnectionError::Connect(..))), "{asked:?}");
    recording.join().expect("it only passes on")
}

#[test]
fn nobody_retires_an_agent_without_its_controllers_key() {
    let scratch = Scratch::new("retire");
    let agent = Agent::start(&scratch);
    let address = ([127, 0, 0, 1], agent.hand.port()).into();
    let key = agent.ready().key;
    let stranger = KeyPair::generate();
    let pretender = KeyPair { public: agent.controller.public, ..stranger.clone() };
    for keys in [&stranger, &pretender] {
        let asked = retire(address, keys, &key, RetireRequest::End, DEADLINE);
        assert!(matches!(asked, Err(ConnectionError::WrongKey(_))), "{asked:?}");
    }
    let mut peer = agent.peer();
    peer.say(&recorded_retirement(&agent));
    assert_eq!(peer.hear_all(), b"", "a repetition is not answered");
    // The controller has it replaced only by a newer release, and only while it is idle.
    let ask = |request| retire(address, &agent.controller, &key, request, DEADLINE);
    let asked = ask(RetireRequest::Replace(PROTOCOL));
    assert!(matches!(asked, Ok(RetireReply::NotOlder)), "{asked:?}");
    let mut session = agent.connect(&agent.controller, &key).expect("it is its controller");
    until("its session is served", || session.receive().is_ok_and(|told| !told.is_empty()));
    let asked = ask(RetireRequest::Replace(PROTOCOL + 1));
    assert!(matches!(asked, Ok(RetireReply::Busy)), "{asked:?}");
    drop(session);
    assert_eq!(agent.hand.end(), Some(0));
}

#[test]
fn a_link_to_a_copy_that_nobody_makes_is_refused() {
    let scratch = Scratch::new("link");
    let agent = Agent::start(&scratch);
    let mut peer = agent.peer();
    let message = [&[64, 0][..], &[3; 64]].concat();
    peer.say(&[&preamble(Purpose::Link)[..], &[9; 16], &message].concat());
    assert_eq!(peer.hear_all(), b"");
    let _ = agent.hand.await_log("refused a connection");
    agent.assert_unharmed();
}

#[test]
fn the_program_is_given_for_a_ticket_and_once() {
    let scratch = Scratch::new("ticket");
    let agent = Agent::start(&scratch);
    assert_eq!(agent.program(&"1".repeat(64)), b"", "nobody gave out a ticket");
    let controller = agent.connect(&agent.controller, &agent.ready().key);
    let mut controller = controller.expect("the controller is served");
    let order = |secrets: &[[u8; 32]], seconds| {
        ToAgent::ServeBinary(secrets.iter().map(|secret| Secret(*secret)).collect(), seconds)
    };
    controller.send(&order(&[[0x22; 32], [0x33; 32]], 60)).expect("the agent listens");
    controller.send(&order(&[[0x44; 32]], 0)).expect("the agent listens");
    for wrong in [&"1".repeat(64), &"2".repeat(63), "", &"x".repeat(64), &"4".repeat(64)] {
        assert_eq!(agent.program(wrong), b"", "{wrong} is no ticket");
    }
    let given = agent.program(&"2".repeat(64));
    assert!(given.starts_with(b"\x7fELF") && given.len() > 1 << 20, "{} bytes", given.len());
    assert_eq!(agent.program(&"2".repeat(64)), b"", "it is good once");
    assert!(agent.program(&"3".repeat(64)) == given, "another ticket, the same program");
    let _ = agent.hand.await_log("sent the agent's program to ");
    let _ = agent.hand.await_log("refused a connection ");
    drop(controller);
    assert_eq!(agent.hand.end(), Some(0));
}

#[test]
fn garbage_behind_a_true_greeting_ends_the_channel() {
    let scratch = Scratch::new("behind");
    let agent = Agent::start(&scratch);
    let mut peer = agent.peer();
    let first = claimed_beginning(&agent);
    peer.say(&[&first[..], &[96, 0], &random_bytes(96 + 16, 1)].concat());
    peer.say(&random_bytes(1 << 20, 2));
    assert_eq!(peer.hear_all(), b"");
    agent.assert_unharmed();
}

/// The kernel gives the files of a hidden process to root. If the tests run as root, the agent runs
/// in another group, so that this makes a difference.
#[test]
fn the_memory_of_an_agent_is_hidden_from_its_user() {
    let scratch = Scratch::new("hidden");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let agent = garland.command(&["agent", "--controller", &hex(&[1; 32])]);
    let start = |mut command: Command, says: &[u8]| {
        if process::user_id() == 0 {
            command.gid(65534);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it can be started");
        let input = child.stdin.as_mut().expect("it is piped");
        input.write_all(says).expect("it reads");
        let output = child.stdout.as_mut().expect("it is piped");
        let _ = BufReader::new(output).read_line(&mut String::new()).expect("it is ready");
        child
    };
    let mut children = [start(agent, b""), start(Command::new("cat"), b"a line\n")];
    let owners = children.each_ref().map(|child| {
        let environment = fs::metadata(format!("/proc/{}/environ", child.id()));
        let environment = environment.expect("the process runs");
        (environment.uid(), environment.gid())
    });
    assert_eq!(owners[0], (0, 0), "the agent's user may read its memory");
    assert_ne!(owners[1], (0, 0), "what is not hidden belongs to its user and group");
    for child in &mut children {
        drop(child.stdin.take());
        let _ = child.wait().expect("it ends with its input");
    }
    scratch.assert_nothing_left();
}

#[test]
fn a_port_in_use_is_said_plainly() {
    let scratch = Scratch::new("port");
    let agent = Agent::start(&scratch);
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let port = agent.hand.port().to_string();
    let arguments = ["agent", "--controller", &hex(&[1; 32]), "--port", &port];
    let said = garland.run(&arguments).with_code(3);
    // Only root sees which process it is: an agent hides its files in /proc.
    let taken = format!("error: cannot listen at 127.0.0.1: port {port} is taken: {port} by ");
    assert!(said.err.starts_with(&taken), "{}", said.err);
    assert!(
        said.err.ends_with("; free one, or choose other ports: --port LOW-HIGH\n"),
        "{}",
        said.err
    );
    agent.assert_unharmed();
}

#[test]
fn an_agent_ends_with_its_launcher() {
    let scratch = Scratch::new("launcher");
    let agent = Agent::start(&scratch);
    assert_eq!(agent.hand.end(), Some(0));
    scratch.assert_nothing_left();
}

#[test]
fn an_agent_refuses_a_key_that_is_none_and_a_root_that_is_not_there() {
    let scratch = Scratch::new("arguments");
    let garland = Garland::new(env!("CARGO_BIN_EXE_garland"), &scratch);
    let said = garland.run(&["agent", "--controller", "xyz"]).with_code(2);
    assert_eq!(said.err, "error: a key must have 64 hexadecimal digits\n");
    let key = hex(&[1; 32]);
    let said = garland.run(&["agent", "--controller", &key, "--root", "/nosuch"]).with_code(3);
    assert!(said.err.starts_with("error: cannot open the agent's root /nosuch: "), "{}", said.err);
    scratch.assert_nothing_left();
}
