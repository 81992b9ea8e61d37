//! Six nodes, and a seventh one, whose slow peers hold the port of the first one's agent.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::socket_error;
use rustix::net::{AddressFamily, SendFlags, SocketFlags, SocketType};
use xtask::clock::Watch;

use super::{Copies, build_cluster};
use crate::contest::{Figure, Setting, Tool};
use crate::{memory, source};

const LAB: &str = "bench-siege";
const NODES: u32 = 6;
const BYTES: u64 = 512 << 20;

/// The node whose agent is besieged. It is the first one of the chain, so the head and its own
/// links need it.
const VICTIM: &str = "n1";
/// The node of the slow peers.
const ATTACKER: &str = "n7";

/// The number of slow peers.
const PEERS: usize = 1000;
/// How long a slow peer holds its connection. As long as this takes all of them to be replaced
/// once.
const HELD: Duration = Duration::from_secs(5);
/// The time after which the slow peers end in any case.
const LIMIT: Duration = Duration::from_secs(120);
/// What a slow peer says, a byte every second: the beginning of a greeting.
const GREETING: &[u8] = b"GARLAND\n";

/// The first addresses of the slow peers if each has its own. All of this network are addresses of
/// their node.
const ADDRESSES: Ipv4Addr = Ipv4Addr::new(10, 99, 0, 0);
const NETWORK: &str = "10.99.0.0/22";

/// The argument by which the benchmark starts itself as the slow peers.
pub(crate) const SLOW_PEERS: &str = "slow-peers";

pub(crate) const ONE_ADDRESS: Tool<Copies> = Tool {
    name: "besieged",
    about: "garland cp --whole --no-fsync while 1,000 slow peers, 200 new ones a second, are at a node's port",
    need: None,
    measure: |place| besieged(place, "1"),
};

pub(crate) const ADDRESS_EACH: Tool<Copies> = Tool {
    name: "besieged-by-many",
    about: "the same copy while each slow peer has an address of its own",
    need: None,
    measure: |place| besieged(place, "1000"),
};

pub(crate) const ALONE: Tool<Copies> = Tool {
    name: "alone",
    about: "garland cp --whole --no-fsync, nobody else at the ports",
    need: None,
    measure: |place| place.measure(LAB, &[]),
};

/// Builds the lab, and gives the slow peers' node its addresses.
pub(crate) fn make(_: &Setting<'_>) -> Result<Copies> {
    memory::check_room(BYTES, NODES as usize)?;
    let topology =
        "version = 1\n[topology]\nshape = \"switch\"\nnodes = \"n[0-7]\"\nrate = \"1gbit\"\n";
    let cluster = build_cluster(Path::new("/dev/shm"), LAB, topology, NODES)?;
    let source = cluster.folder.join("source");
    source::write(&source, BYTES)?;
    let gateway = cluster.address(ATTACKER)?;
    for (node, route) in [
        (ATTACKER, format!("ip route add local {NETWORK} dev lo")),
        (VICTIM, format!("ip route add {NETWORK} via {gateway}")),
    ] {
        let status = cluster.shell(node, &route)?.status().context("failed to start ip")?;
        ensure!(status.success(), "`{route}` failed on {node}: {status}");
    }
    Ok(Copies { cluster, other: None, source, list: format!("lab:n[1-{NODES}]") })
}

/// Measures a copy while slow peers with this number of addresses besiege an agent.
fn besieged(place: &Copies, addresses: &str) -> Result<Figure> {
    let record = place.cluster.record(VICTIM)?;
    let port = record["port"].as_u64().context("the agent's record has no port")?;
    let victim = format!("{}:{port}", place.cluster.address(VICTIM)?);
    let own = std::env::current_exe().context("failed to find the path of this program")?;
    let line = format!("exec '{}' {SLOW_PEERS} {victim} {addresses}", own.display());
    let mut command = place.cluster.shell(ATTACKER, &line)?;
    let mut siege = Siege(command.stdout(Stdio::piped()).spawn().context("failed to start bash")?);
    siege.await_all()?;
    let figure = place.measure(LAB, &[])?;
    siege.assert_alive()?;
    Ok(figure)
}

/// The process of the slow peers; dropping this ends it.
struct Siege(Child);

impl Siege {
    /// Waits until all have connected once.
    fn await_all(&mut self) -> Result<()> {
        let mut said = String::new();
        let out = self
            .0
            .stdout
            .as_mut()
            .context("the standard output of the slow peers is not a pipe")?;
        BufReader::new(out).read_line(&mut said).context("failed to wait for the slow peers")?;
        ensure!(said.trim() == "all", "the slow peers failed to connect");
        Ok(())
    }

    fn assert_alive(&mut self) -> Result<()> {
        match self.0.try_wait().context("failed to look for the slow peers")? {
            None => Ok(()),
            Some(status) => bail!("the slow peers ended before the copy: {status}"),
        }
    }
}

impl Drop for Siege {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the slow peers: the arguments are the address of the agent and the number of addresses that
/// the peers have. Prints `all` when all have connected once, then replaces them in turns, until it
/// is killed.
///
/// # Errors
/// If a connection cannot be opened, or after [`LIMIT`].
pub(crate) fn slow_peers(args: &[String]) -> Result<()> {
    let [victim, addresses] = args else {
        bail!("{SLOW_PEERS} needs two arguments: ADDRESS:PORT COUNT")
    };
    let victim: SocketAddrV4 = victim.parse().context("the address is invalid")?;
    let addresses: u32 = addresses.parse().context("the number of addresses is invalid")?;
    let from = |at: usize| match addresses {
        1 => Ipv4Addr::UNSPECIFIED,
        count => Ipv4Addr::from_bits(ADDRESSES.to_bits() + 1 + at as u32 % count),
    };
    let mut peers: Vec<SlowPeer> = Vec::new();
    for at in 0..PEERS {
        peers.push(SlowPeer::connect(from(at), victim)?);
        // So fast that the first ones still wait when the last one comes, but no burst.
        thread::sleep(Duration::from_millis(1));
    }
    peers.iter().try_for_each(SlowPeer::await_connection)?;
    println!("all");
    std::io::stdout().flush().context("failed to say that all have connected")?;
    let pause = HELD / u32::try_from(PEERS)?;
    let watch = Watch::start();
    for turn in 0.. {
        let due = pause * turn;
        if due > LIMIT {
            break;
        }
        thread::sleep(due.saturating_sub(watch.read()));
        let at = turn as usize % PEERS;
        peers[at] = SlowPeer::connect(from(at), victim)?;
        // Half of them are silent.
        let second = PEERS / HELD.as_secs() as usize;
        let speakers = (at..at + PEERS).step_by(second).map(|speaker| speaker % PEERS);
        speakers.filter(|speaker| speaker % 2 == 0).for_each(|speaker| peers[speaker].say());
    }
    bail!("nobody killed the slow peers within {LIMIT:?}")
}

/// A peer that does not complete its greeting.
struct SlowPeer {
    socket: OwnedFd,
    said: usize,
}

impl SlowPeer {
    /// Begins to connect `from` an address to the agent `to`.
    fn connect(from: Ipv4Addr, to: SocketAddrV4) -> Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::STREAM, flags, None);
        let socket = socket.context("failed to create a socket")?;
        rustix::net::bind(&socket, &SocketAddrV4::new(from, 0))
            .with_context(|| format!("failed to bind a socket to {from}"))?;
        match rustix::net::connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(Self { socket, said: 0 }),
            Err(error) => Err(error).with_context(|| format!("failed to connect to {to}")),
        }
    }

    /// Waits until the agent's host has accepted the connection; the agent may have closed it
    /// since.
    fn await_connection(&self) -> Result<()> {
        let limit = Timespec { tv_sec: 5, tv_nsec: 0 };
        let ready = poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], Some(&limit));
        ensure!(
            ready.context("failed to wait for a connection")? == 1,
            "a slow peer got no answer"
        );
        match socket_error(&self.socket).context("failed to look at a connection")? {
            Ok(()) | Err(Errno::CONNRESET | Errno::PIPE) => Ok(()),
            Err(error) => Err(error).context("a slow peer failed to connect"),
        }
    }

    /// Says one more byte. The agent may have hung up.
    fn say(&mut self) {
        let byte = [GREETING[self.said % GREETING.len()]];
        let _ = rustix::net::send(&self.socket, &byte, SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
        self.said += 1;
    }
}
