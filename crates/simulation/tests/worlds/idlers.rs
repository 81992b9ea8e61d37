//! Nodes of a farm that send heartbeats and nothing else, on real sockets: the head's threads wait
//! for them as in a command.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use garland_control::{Agent, Stager, run_farm};
use garland_core::farm::{Command, Engine, Job, Text};
use garland_protocol::farm::dispatch::{FarmWork, Rules, Tries};
use garland_protocol::farm::placement::Pull;
use garland_protocol::farm::{FarmEvent, FarmOrder, FarmTask, NodeFacts};
use garland_protocol::wire::{KeyPair, PublicKey, Purpose};
use garland_protocol::{FromAgent, Message, ToAgent};
use garland_sys::channel::{Sender, channel};
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;
use garland_sys::socket::TcpStream;
use garland_sys::threads::{sleep, spawn};
use garland_sys::{clock, tcp};
use garland_testkit::Scratch;
use garland_transport::connection::connect_agent;
use garland_transport::{Claim, Credentials, Found, Greeters, Guest, Host, Welcomed};

use crate::liar::Head;

/// How long a command may take to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// The port of an agent that makes the directories of jobs, and then only sends heartbeats.
struct Idler {
    keys: KeyPair,
    head: KeyPair,
    /// Told when a copy begins.
    begun: Sender<()>,
}

impl Host for Idler {
    type Owner = ();

    fn find(&self, _: Purpose, claim: &Claim) -> Found<'_, ()> {
        match claim {
            Claim::Controller(key) if *key == self.head.public => {
                Found::Member(Credentials::Keys(&self.keys, *key), ())
            }
            _ => Found::Nothing,
        }
    }

    fn admit(&self, stream: TcpStream, _: SocketAddr, guest: Guest<()>) {
        let Guest::Member(Welcomed { channel, .. }) = guest else { return };
        let head = Head::new(stream, channel);
        let begun = self.begun.clone();
        drop(spawn("idle", move || idle(head, &begun)).expect("a thread"));
    }

    fn refuse(&self, _: SocketAddr, _: &str) {}
}

/// Serves a channel until its end.
fn idle(mut head: Head, begun: &Sender<()>) {
    const FACTS: NodeFacts =
        NodeFacts { cores: 1, memory: 1 << 30, memory_free: 1 << 30, share: 1000, mhz: None };
    let farm = |event| FromAgent::Farm(Box::new(event)).to_bytes();
    while let Some(orders) = head.receive() {
        for order in orders {
            let answer = match order {
                ToAgent::Farm(FarmOrder::Open { .. }) => farm(FarmEvent::Opened(FACTS)),
                ToAgent::Farm(FarmOrder::Make(job, _)) => farm(FarmEvent::Made(job, None)),
                ToAgent::Begin(_) | ToAgent::Queue(..) => {
                    // Fails if the test is over.
                    let _ = begun.send(());
                    continue;
                }
                _ => continue,
            };
            head.send(answer);
        }
        head.send(FromAgent::Heartbeat(Vec::new()).to_bytes());
        sleep(Duration::from_millis(50));
    }
}

/// A job with an input.
fn job() -> Job {
    let job = Job::new(1, Text::from("x"), Command::Line("x".into()));
    Job { inputs: vec!["in".into()], ..job }
}

fn task(job: &Job, _: u32, _: bool) -> FarmTask {
    FarmTask {
        job: job.number,
        command: job.command.clone(),
        own_folder: true,
        outputs: Vec::new(),
        cores: 1,
        timeout_ns: None,
        checkpoint: None,
        state: Vec::new(),
    }
}

/// Runs a job whose input has to be copied to the node at `address`. Returns whether the run was
/// interrupted.
fn run(
    ours: KeyPair,
    theirs: &PublicKey,
    address: SocketAddr,
    here: &Path,
    interrupts: &Interrupts,
) -> bool {
    let connection = connect_agent(address, &ours, theirs, Duration::from_secs(5));
    let connection = connection.expect("it serves");
    let agents = vec![Ok(Agent { connection, addresses: vec![address] })];
    let names = ["n1".to_owned()];
    let folder = Text::from("jobs");
    let stager = Stager::new(ours, &agents, &names, &folder, here, here, None);
    let work = FarmWork {
        jobs: vec![job()],
        names: names.to_vec(),
        rules: Rules {
            tries: Tries::again(0),
            at_once: false,
            staged: true,
            engine: Engine::Agents,
        },
        placement: Box::new(Pull),
        slots: None,
        folder,
        task: &task,
        migrate: false,
        streamed: false,
        openings: vec![None],
        began_ns: clock::now_ns(),
    };
    let end = run_farm(work, Some(&stager), agents, Some(interrupts), &mut |_| {});
    end.expect("it can wait").interrupted
}

#[test]
fn an_interrupted_run_ends_though_a_node_holds_up_the_copy_of_its_files() {
    let scratch = Scratch::new("idler");
    let here = scratch.path("head");
    fs::create_dir(&here).expect("a directory");
    fs::write(here.join("in"), "contents").expect("a file");
    let ours = KeyPair::generate();
    let (tell_begun, begun) = channel();
    let idler = Idler { keys: KeyPair::generate(), head: ours.clone(), begun: tell_begun };
    let theirs = idler.keys.public;
    let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = tcp::listen_at(local, Transport::Tcp).expect("a port");
    let address = listener.local_addr().expect("it has one");
    // It ends with the test's process.
    drop(spawn("idler", move || {
        let greeters = Greeters::new().expect("a descriptor");
        let _ = greeters.run(std::slice::from_ref(&listener), &idler);
    }));
    let interrupts = Arc::new(Interrupts::by_hand().expect("a descriptor"));
    let its = Arc::clone(&interrupts);
    let (tell, told) = channel();
    drop(spawn("run", move || {
        // Fails if the test has failed.
        let _ = tell.send(run(ours, &theirs, address, &here, &its));
    }));
    begun.recv_timeout(PATIENCE).expect("the copy begins");
    interrupts.raise();
    assert_eq!(told.recv_timeout(PATIENCE), Ok(true), "the run hangs");
}
