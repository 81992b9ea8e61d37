//! Who gives the binary to the nodes that lack it: the head to a few, and nodes that have it to the
//! others, so that their number doubles and more while one upload from the head takes place.

use parking_lot::{Condvar, Mutex};
use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use garland_control::Agent;
use garland_protocol::{Secret, ToAgent};
use garland_sys::{clock, random};

use super::will::Will;

/// Nodes that the head uploads to at a time, while others can wait for these to give it.
const UPLOADS: usize = 2;

/// Nodes that the head uploads to at a time when none of them can fetch it elsewhere.
const UPLOADS_ALONE: usize = 8;

/// Nodes that a node gives it to at a time.
const GIVEN_AT_ONCE: usize = 2;

/// Nodes that a node gives it to in all: by then there are others.
const TICKETS: usize = 16;

/// How long a node gives it, in seconds.
const GIVING_S: u16 = 300;

/// Fetches that fail before nodes are trusted no more, if none has succeeded: a firewall stands
/// between them, most likely.
const FAILED_MAX: usize = 3;

/// A node that hangs while it gets the binary keeps others waiting for no longer than this.
const HUNG: Duration = Duration::from_secs(30);

/// Where a node gets the binary from.
#[derive(Clone, Debug)]
pub enum From {
    /// The head sends it over the login.
    Head,
    /// A node that has it.
    Node {
        /// Its name.
        name: String,
        /// Where its agent listens.
        at: SocketAddr,
        /// What its agent gives it for.
        ticket: Secret,
    },
}

/// What the launchings of one command share about it.
pub struct Spread {
    state: Mutex<State>,
    changed: Condvar,
    log: PathBuf,
}

#[derive(Default)]
struct State {
    givers: Vec<Giver>,
    /// What each node that isn't settled gets it from, and since when.
    turns: HashMap<String, (From, u64)>,
    fetched: usize,
    failed: usize,
}

struct Giver {
    name: String,
    at: SocketAddr,
    tickets: Vec<Secret>,
    until_ns: u64,
}

impl Spread {
    /// Nobody has it yet. Who gets it from whom is written to the file `log`, if it can be.
    pub fn new(log: &Path) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), log: log.to_owned() }
    }

    /// How long a node may take to fetch `bytes`: a slow wire is shared by two.
    pub fn patience(bytes: usize) -> Duration {
        const SLOWEST: u64 = 1 << 20;
        Duration::from_secs(5 + (bytes as u64).div_ceil(SLOWEST))
    }

    /// Where `node` gets the binary from, once it is its turn; `why_not` says why it can't be
    /// another node.
    ///
    /// # Errors
    /// When the user gives up.
    pub fn turn(&self, node: &str, why_not: Option<&str>, will: &Will) -> Result<From, String> {
        let mut state = self.state.lock();
        state.turns.remove(node);
        let from = loop {
            if let Some(from) = state.choose(why_not.is_some(), clock::now_ns()) {
                break from;
            }
            will.check()?;
            // Now and then it looks by itself: turns of nodes that hang run out.
            let _ = self.changed.wait_for(&mut state, Will::LOOK);
        };
        state.turns.insert(node.to_owned(), (from.clone(), clock::now_ns()));
        drop(state);
        match (&from, why_not) {
            (From::Node { name, .. }, _) => self.note(&format!("{node}: from {name}")),
            (From::Head, None) => self.note(&format!("{node}: from the head")),
            (From::Head, Some(why)) => self.note(&format!("{node}: from the head, since {why}")),
        }
        Ok(from)
    }

    /// `node` couldn't fetch it; says from whom, and why. That node is asked no more.
    pub fn unserved(&self, node: &str, why: &str) -> String {
        let mut state = self.state.lock();
        let Some((From::Node { name, .. }, _)) = state.turns.remove(node) else {
            return why.to_owned();
        };
        state.failed += 1;
        state.givers.retain(|giver| giver.name != name);
        self.changed.notify_all();
        format!("{name} didn't give it: {why}")
    }

    /// `node` is settled: its agent can be commanded, and may give the binary to others, or there
    /// is none.
    pub fn settle(&self, node: &str, agent: Option<&mut Agent>) {
        let giver = agent.and_then(|agent| Giver::enlist(node, agent));
        let mut state = self.state.lock();
        if let Some((From::Node { .. }, _)) = state.turns.remove(node) {
            state.fetched += usize::from(giver.is_some());
        }
        state.givers.extend(giver);
        self.changed.notify_all();
    }

    fn note(&self, line: &str) {
        // A log that can't be written is no reason to stop.
        let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.log);
        let _ = log.and_then(|mut log| log.write_all(format!("{line}\n").as_bytes()));
    }
}

impl State {
    /// Where the next node gets it from; `None` while waiting is better.
    fn choose(&mut self, alone: bool, now_ns: u64) -> Option<From> {
        self.givers.retain(|giver| giver.until_ns > now_ns && !giver.tickets.is_empty());
        let hung_ns = u64::try_from(HUNG.as_nanos()).unwrap_or(u64::MAX);
        let young = |since: &u64| now_ns.saturating_sub(*since) < hung_ns;
        let turns = self.turns.values().filter(|(_, since)| young(since));
        let mut uploads = 0;
        let mut busy: HashMap<&str, usize> = HashMap::new();
        for (from, _) in turns {
            match from {
                From::Head => uploads += 1,
                From::Node { name, .. } => *busy.entry(name).or_default() += 1,
            }
        }
        let distrusted = self.failed >= FAILED_MAX && self.fetched == 0;
        if alone || distrusted {
            return (uploads < UPLOADS_ALONE).then_some(From::Head);
        }
        let busy = |giver: &Giver| busy.get(giver.name.as_str()).copied().unwrap_or(0);
        let counts: Vec<usize> = self.givers.iter().map(busy).collect();
        match counts.iter().enumerate().min_by_key(|(_, count)| **count) {
            None => (uploads < UPLOADS).then_some(From::Head),
            Some((_, &count)) if count >= GIVEN_AT_ONCE => None,
            Some((at, _)) => {
                let giver = &mut self.givers[at];
                let ticket = giver.tickets.pop()?;
                Some(From::Node { name: giver.name.clone(), at: giver.at, ticket })
            }
        }
    }
}

impl Giver {
    /// Tells the agent of `node` to give its program to whoever has a ticket.
    fn enlist(node: &str, agent: &mut Agent) -> Option<Self> {
        let at = *agent.addresses.first()?;
        let tickets: Vec<Secret> = (0..TICKETS).map(|_| Secret(random::bytes())).collect();
        let order = ToAgent::ServeBinary(tickets.clone(), GIVING_S);
        // A channel that broke is told by whoever uses it next.
        agent.connection.send(&order).ok()?;
        let until_ns = clock::now_ns() + u64::from(GIVING_S) * 1_000_000_000;
        Some(Self { name: node.to_owned(), at, tickets, until_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn giver(name: &str, tickets: usize) -> Giver {
        let at = SocketAddr::from(([10, 0, 0, 1], 4000));
        let tickets = (0..tickets).map(|_| Secret([1; 32])).collect();
        Giver { name: name.to_owned(), at, tickets, until_ns: u64::MAX }
    }

    /// Gives `node` a turn if there is one; who gives it.
    fn turn(state: &mut State, node: &str, now_ns: u64) -> Option<String> {
        let from = state.choose(false, now_ns)?;
        state.turns.insert(node.to_owned(), (from.clone(), now_ns));
        Some(match from {
            From::Head => "head".to_owned(),
            From::Node { name, .. } => name,
        })
    }

    #[test]
    fn the_head_serves_two_and_these_serve_the_others() {
        let mut state = State::default();
        let who = |state: &mut State, node: &str| turn(state, node, 0);
        assert_eq!(who(&mut state, "n1").as_deref(), Some("head"));
        assert_eq!(who(&mut state, "n2").as_deref(), Some("head"));
        assert_eq!(who(&mut state, "n3"), None, "n1 and n2 will have it");
        state.turns.remove("n1");
        state.givers.push(giver("n1", 9));
        assert_eq!(who(&mut state, "n3").as_deref(), Some("n1"));
        assert_eq!(who(&mut state, "n4").as_deref(), Some("n1"));
        assert_eq!(who(&mut state, "n5"), None, "n1 is busy, and the head leaves it to nodes");
        state.givers.push(giver("n2", 1));
        assert_eq!(who(&mut state, "n5").as_deref(), Some("n2"));
        state.turns.remove("n4");
        assert_eq!(who(&mut state, "n6").as_deref(), Some("n1"), "n2 has no ticket left");
    }

    #[test]
    fn a_node_that_hangs_keeps_nobody_waiting_for_ever() {
        let mut state = State::default();
        assert!(turn(&mut state, "n1", 0).is_some() && turn(&mut state, "n2", 0).is_some());
        assert_eq!(turn(&mut state, "n3", 1), None);
        let later = u64::try_from(HUNG.as_nanos()).expect("it fits");
        assert_eq!(turn(&mut state, "n3", later).as_deref(), Some("head"));
    }

    #[test]
    fn where_nodes_reach_no_nodes_the_head_goes_on_alone() {
        let spread = Spread::new(Path::new("/dev/null"));
        for node in ["n4", "n5", "n6"] {
            let mut state = spread.state.lock();
            state.givers.push(giver(node, 2));
            assert_eq!(turn(&mut state, "n7", 0).as_deref(), Some(node));
            drop(state);
            let why = spread.unserved("n7", "0 of 9 bytes came");
            assert_eq!(why, format!("{node} didn't give it: 0 of 9 bytes came"));
        }
        let mut state = spread.state.lock();
        state.givers.push(giver("n8", 2));
        assert_eq!(turn(&mut state, "n7", 0).as_deref(), Some("head"));
    }
}
