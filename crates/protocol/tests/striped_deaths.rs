//! A striped copy replaces an older set of stripes while one of its servers, or the head, dies at
//! any moment: one of the two sets can always be read.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use garland_core::plan::{
    ASIDE, FoundStripe, Layout, Manifest, NodeId, Plan, StripeServer, StripeSet, Stripes,
};
use garland_protocol::copy::{CopyId, Head, HeadEvent, HeadOrder, Policy, Verdict};
use garland_protocol::{FromAgent, ToAgent};

const COPY: CopyId = CopyId([7; 16]);
const SERVERS: usize = 3;
const LENGTH: u64 = 1 << 20;
const OLD: u8 = 3;
const NEW: u8 = 9;

/// A server's disk, and the messages on their way to and from its agent.
struct Server {
    in_place: Option<u8>,
    aside: Option<u8>,
    is_prepared: bool,
    is_settled: bool,
    is_dead: bool,
    inbox: VecDeque<ToAgent>,
    outbox: VecDeque<FromAgent>,
}

impl Server {
    /// Executes a step of the next order as an agent would; the agent may die between two steps.
    fn step(&mut self) {
        match self.inbox.front() {
            Some(ToAgent::Prepare(..)) => {
                self.is_prepared = true;
                self.outbox.push_back(FromAgent::Prepared(COPY));
            }
            Some(ToAgent::Commit(..)) => {
                assert!(self.is_prepared, "nothing is renamed before it is stable");
                if self.aside.is_none() {
                    self.aside = self.in_place;
                    return;
                }
                if self.in_place == Some(OLD) {
                    self.in_place = None;
                    return;
                }
                self.in_place = Some(NEW);
                self.outbox.push_back(FromAgent::Committed(COPY, Box::default()));
            }
            Some(ToAgent::Settle(_)) => {
                self.is_settled = true;
                self.aside = None;
            }
            Some(ToAgent::Close(_)) if !self.is_settled => {
                if self.aside.is_some() && self.in_place != self.aside {
                    self.in_place = self.aside;
                    return;
                }
                self.aside = None;
            }
            _ => {}
        }
        self.inbox.pop_front();
    }
}

fn stripes() -> (Stripes, Layout) {
    let stripes = Stripes::new(LENGTH, 1 << 16, SERVERS).expect("they can be");
    (stripes, stripes.fitting_layout().expect("it can be"))
}

fn found(node: usize, set: u8, aside: &str) -> FoundStripe {
    let (stripes, layout) = stripes();
    let server = |at| StripeServer { name: format!("io{at}"), digest: [0; 32] };
    let manifest = Manifest {
        set: [set; 16],
        written: set.into(),
        name: "x".to_owned(),
        mode: 0o644,
        modified: (0, 0),
        stripes,
        layout,
        servers: (0..SERVERS).map(server).collect(),
        number: u16::try_from(node).expect("it is small"),
    };
    let stripe = manifest.stripe();
    FoundStripe {
        node: format!("io{node}"),
        suffix: format!("{aside}{}", stripe.suffix()),
        length: Some(stripe.length(LENGTH)),
        text: manifest.to_string(),
    }
}

/// The sets on the disks of all servers: in place, and aside.
type Disks = Vec<(Option<u8>, Option<u8>)>;

/// Returns the set that can be read from these disks.
fn read(disks: &Disks) -> u8 {
    let aside = format!("{ASIDE}0123456789ab");
    let mut all = Vec::new();
    for (node, (in_place, set_aside)) in disks.iter().enumerate() {
        all.extend(in_place.map(|set| found(node, set, "")));
        all.extend(set_aside.map(|set| found(node, set, &aside)));
    }
    StripeSet::assemble(&all).expect("one of the sets can be read").manifest.set[0]
}

struct Copying {
    head: Head,
    is_head_dead: bool,
    servers: Vec<Server>,
    seed: u64,
}

impl Copying {
    fn new(seed: u64) -> Self {
        let (stripes, layout) = stripes();
        let names: Vec<String> = (0..SERVERS).map(|at| format!("io{at}")).collect();
        let plan = Plan::striped(layout, stripes, &names, 1).expect("there are servers");
        let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; SERVERS + 1];
        let policy = Policy::for_nodes(SERVERS).striped();
        let mut head = Head::new(COPY, &plan, addresses, policy, 0);
        head.handle(0, HeadEvent::Begin);
        for node in 1..=SERVERS {
            let complete = FromAgent::Complete(COPY, [1; 32], Box::default());
            head.handle(1, HeadEvent::From(id(node), complete));
        }
        head.handle(1, HeadEvent::PartsKnown(vec![[1; 32]; SERVERS]));
        let server = |_| Server {
            in_place: Some(OLD),
            aside: None,
            is_prepared: false,
            is_settled: false,
            is_dead: false,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
        };
        Self { head, is_head_dead: false, servers: (0..SERVERS).map(server).collect(), seed }
    }

    fn below(&mut self, most: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.seed >> 33).expect("it fits") % most
    }

    /// Lets the head or a server continue; false if none has anything to do.
    fn go_on(&mut self) -> bool {
        while let (false, Some(order)) = (self.is_head_dead, self.head.poll()) {
            if let HeadOrder::Send(node, message) = order {
                self.servers[node.index() - 1].inbox.push_back(message);
            }
        }
        let is_busy = |server: &Server| {
            !server.is_dead && !server.inbox.is_empty()
                || !self.is_head_dead && !server.outbox.is_empty()
        };
        let busy: Vec<usize> = (0..SERVERS).filter(|&at| is_busy(&self.servers[at])).collect();
        if busy.is_empty() {
            return false;
        }
        let at = busy[self.below(busy.len())];
        let server = &mut self.servers[at];
        match server.outbox.pop_front().filter(|_| !self.is_head_dead) {
            Some(message) => self.head.handle(2, HeadEvent::From(id(at + 1), message)),
            None if server.is_dead => {}
            None => server.step(),
        }
        true
    }

    /// Kills a server, or the head if `victim` is the index after the servers.
    fn kill(&mut self, victim: usize) {
        match self.servers.get_mut(victim) {
            Some(server) => {
                server.is_dead = true;
                if !self.is_head_dead {
                    let lost = HeadEvent::Lost(
                        id(victim + 1),
                        "its agent exited or was killed".to_owned(),
                    );
                    self.head.handle(2, lost);
                }
            }
            None => self.is_head_dead = true,
        }
    }
}

fn id(node: usize) -> NodeId {
    NodeId(u32::try_from(node).expect("it is small"))
}

#[test]
fn one_of_the_sets_can_be_read_after_any_death() {
    let mut ends = [0; 3];
    let mut known = BTreeMap::new();
    for seed in 0..60 {
        for victim in 0..=SERVERS {
            for moment in 0..40 {
                let mut copy = Copying::new(seed);
                let mut steps = 0;
                loop {
                    if steps == moment {
                        copy.kill(victim);
                    }
                    steps += 1;
                    let went_on = copy.go_on();
                    let disks: Disks =
                        copy.servers.iter().map(|it| (it.in_place, it.aside)).collect();
                    let set = *known.entry(disks.clone()).or_insert_with(|| read(&disks));
                    if !went_on && steps > moment {
                        let ok = |node| copy.head.verdict(id(node)) == Some(Verdict::Ok);
                        let ok = (1..=SERVERS).filter(|&node| ok(node)).count();
                        assert!(ok == 0 || ok == SERVERS, "{ok} servers have it");
                        assert!(
                            ok == 0 || set == NEW,
                            "the verdict says that the new set is there"
                        );
                        let mixed = copy.servers.iter().any(|server| server.aside.is_some());
                        ends[if mixed { 2 } else { usize::from(set == NEW) }] += 1;
                        break;
                    }
                }
            }
        }
    }
    assert!(ends.iter().all(|&count| count > 50), "every kind of end was met: {ends:?}");
}
