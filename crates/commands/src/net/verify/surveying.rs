//! The steps of a survey: NICs, neighbours, packet sizes, rates, routes.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use garland_control::Survey;
use garland_core::nic_facts::Heard;
use garland_protocol::measure::{MtuProbe, SurveyAnswer, SurveyOrder};
use garland_results::head::Phases;
use garland_sys::{clock, random};
use garland_terminal::screen::Screen;
use garland_topology::verify::{
    BurstSeen, Cabling, Link, LinkProperty, MtuSeen, Observed, Port, RateSeen, WayJudge,
    is_nic_name,
};
use garland_topology::{NicId, NodeId, Topology};

use super::outcome::{Evidence, SurveyOutcome, management};
use super::pairs::pairs;
use super::rounds::rounds;

/// Timeout of an answer that needs no measurement.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Duration of the measurement of a link, in milliseconds.
const MILLIS: u32 = 400;

/// The maximum number of times that a measurement is repeated, alone, if it differs from the plan.
const AGAIN: usize = 3;

/// The number of datagrams in a burst.
const COUNT: u32 = 200;

/// The UDP port of datagram probes. It has the number of the EtherType of frame probes.
const PORT: u16 = garland_sys::packet::EXPERIMENTAL;

/// A survey in progress.
pub struct Surveying<'a> {
    topology: &'a Topology,
    survey: Survey<'a>,
    screen: Screen,
    /// For each node that takes part, the UDP and TCP ports of its agent.
    ports: BTreeMap<NodeId, (u16, u16)>,
    /// The addresses at which agents may not listen: nothing is measured towards them.
    withheld: BTreeSet<Ipv4Addr>,
    seen: SurveyOutcome,
    cabling: Cabling,
}

type Answers = BTreeMap<usize, Result<SurveyAnswer, String>>;

impl<'a> Surveying<'a> {
    /// Creates a survey by the agents of all nodes, in the order of the nodes. For each node,
    /// `reasons` says why its agent is missing; `None` if the agent is present.
    pub fn new(
        topology: &'a Topology,
        survey: Survey<'a>,
        quiet: bool,
        reasons: Vec<Option<String>>,
    ) -> Self {
        let observed = Observed { nodes: vec![None; topology.nodes.len()], ..Observed::default() };
        let cabling = Cabling::compare(topology, &observed);
        let seen = SurveyOutcome { observed, evidence: Evidence::Frames, reasons };
        let screen = Screen::new(quiet);
        let withheld = BTreeSet::new();
        Self { topology, survey, screen, ports: BTreeMap::new(), withheld, seen, cabling }
    }

    /// Returns the observations and the cabling that they show.
    pub fn into_seen(mut self) -> (SurveyOutcome, Cabling) {
        self.screen.clear();
        (self.seen, self.cabling)
    }

    /// Runs all steps.
    ///
    /// # Errors
    /// When waiting for the agents fails, or the user interrupts.
    pub fn all(
        &mut self,
        phases: &mut Phases,
        addresses: &BTreeSet<(usize, IpAddr)>,
    ) -> io::Result<()> {
        self.open()?;
        self.seen.observed.management = management(addresses, &self.seen.observed.nodes);
        self.probe()?;
        self.cabling = Cabling::compare(self.topology, &self.seen.observed);
        phases.end("probe");
        let links = self.cabling.links(self.topology);
        let may = |link: &Link| !self.withheld.contains(&link.address);
        let closed: Vec<Link> = links.iter().filter(|link| !may(link)).cloned().collect();
        let links: Vec<Link> = links.into_iter().filter(may).collect();
        for link in &closed {
            for property in LinkProperty::ALL {
                self.miss(link, property, withheld(link.address));
            }
        }
        self.packets(&links)?;
        phases.end("packets");
        self.rates(&links)?;
        phases.end("rates");
        self.ways()?;
        phases.end("routes");
        Ok(())
    }

    fn show(&mut self, text: String) {
        self.screen.draw(clock::now_ns(), &[text]);
    }

    /// Sends orders, at most one per node, and waits up to `patience` for the answers. A node that
    /// does not answer in time, or whose agent is gone, is excluded at once: otherwise each further
    /// order could take as long.
    fn send(
        &mut self,
        orders: Vec<(NodeId, SurveyOrder)>,
        patience: Duration,
    ) -> io::Result<Answers> {
        let answers = self.survey.ask(orders, patience)?;
        for (node, answer) in &answers {
            if let Err(reason) = answer
                && self.survey.is_lost(*node)
            {
                self.drop_out(*node, reason.clone());
            }
        }
        Ok(answers)
    }

    /// Returns the nodes that take part.
    fn reached(&self) -> Vec<NodeId> {
        self.ports.keys().copied().collect()
    }

    fn ask(
        &mut self,
        order: impl Fn(NodeId) -> SurveyOrder,
        patience: Duration,
    ) -> io::Result<Answers> {
        let orders = self.reached().into_iter().map(|node| (node, order(node))).collect();
        self.send(orders, patience)
    }

    fn open(&mut self) -> io::Result<()> {
        let with = self.seen.reasons.iter().enumerate().filter(|(_, reason)| reason.is_none());
        let orders = with.map(|(node, _)| (node, SurveyOrder::Open(self.addresses_of(node))));
        let orders = orders.collect();
        for (node, answer) in self.survey.ask(orders, ANSWER_TIMEOUT)? {
            match answer {
                Ok(SurveyAnswer::Open { nics, .. })
                    if !nics.iter().all(|nic| is_nic_name(&nic.name)) =>
                {
                    self.seen.reasons[node] = Some(NO_NIC_NAME.to_owned());
                }
                Ok(SurveyAnswer::Open { nics, udp, tcp, withheld }) => {
                    self.seen.observed.nodes[node] = Some(nics);
                    self.tell_withheld(node, &withheld);
                    self.withheld.extend(withheld);
                    self.ports.insert(node, (udp, tcp));
                }
                Ok(_) => self.seen.reasons[node] = Some(UNEXPECTED.to_owned()),
                Err(reason) => self.seen.reasons[node] = Some(reason),
            }
        }
        Ok(())
    }

    /// Returns the addresses at which a node is probed: the planned ones.
    fn addresses_of(&self, node: NodeId) -> Vec<Ipv4Addr> {
        let nics = self.topology.nics_of(node).filter_map(|(_, nic)| nic.address);
        let addresses: BTreeSet<Ipv4Addr> =
            nics.chain([self.topology.nodes[node].address]).collect();
        addresses.into_iter().collect()
    }

    fn tell_withheld(&self, node: NodeId, withheld: &[Ipv4Addr]) {
        if withheld.is_empty() {
            return;
        }
        let name = &self.topology.nodes[node].name;
        let addresses: Vec<String> = withheld.iter().map(Ipv4Addr::to_string).collect();
        let addresses = addresses.join(", ");
        garland_terminal::errln!(
            "{name}: nothing is measured towards {addresses}, where its agent may not listen (--listen)"
        );
    }

    /// Finds out which NICs hear each other: by frames, and also by datagrams if an agent is not
    /// permitted to send frames.
    fn probe(&mut self) -> io::Result<()> {
        self.show("probing which NICs hear each other".to_owned());
        let token = random::bytes();
        let place = |node: NodeId| u32::try_from(node).unwrap_or(u32::MAX);
        let answers = self.ask(|node| SurveyOrder::Frames(token, place(node)), ANSWER_TIMEOUT)?;
        let refused = answers.values().any(|answer| matches!(answer, Ok(SurveyAnswer::Refused(_))));
        self.note(answers);
        if refused {
            self.seen.evidence = Evidence::Datagrams;
            let order = |node| SurveyOrder::Datagrams(token, place(node), PORT);
            let answers = self.ask(order, ANSWER_TIMEOUT)?;
            self.note(answers);
        }
        Ok(())
    }

    fn note(&mut self, answers: Answers) {
        for (node, answer) in answers {
            match answer {
                Ok(SurveyAnswer::Heard(all))
                    if !all.iter().all(|it| is_nic_name(&it.by) && is_nic_name(&it.nic)) =>
                {
                    self.drop_out(node, NO_NIC_NAME.to_owned());
                }
                Ok(SurveyAnswer::Heard(all)) => {
                    for Heard { by, node: sender, nic } in all {
                        let sender = Port { node: sender as usize, nic };
                        if sender.node < self.topology.nodes.len() {
                            self.seen.observed.heard.insert((Port { node, nic: by }, sender));
                        }
                    }
                }
                Ok(SurveyAnswer::Refused(_)) => {}
                Ok(_) => self.drop_out(node, UNEXPECTED.to_owned()),
                Err(reason) => self.drop_out(node, reason),
            }
        }
    }

    /// Excludes a node whose agent failed; its observations are incomplete.
    fn drop_out(&mut self, node: NodeId, reason: String) {
        self.seen.observed.nodes[node] = None;
        self.seen.reasons[node] = Some(reason);
        self.ports.remove(&node);
    }

    /// Records why a property of a link was not measured. The reason of the last try stays.
    fn miss(&mut self, link: &Link, property: LinkProperty, reason: impl Into<String>) {
        let key = (link.from, link.to, property);
        self.seen.observed.unmeasured_links.insert(key, reason.into());
    }

    /// Whether both nodes of a link take part still.
    fn has_both(&self, link: &Link) -> bool {
        let node = |nic: NicId| self.topology.nics[nic].node;
        self.ports.contains_key(&node(link.from)) && self.ports.contains_key(&node(link.to))
    }

    /// Returns a reason that the agent of `node` gave, with the node's name.
    fn by(&self, node: NodeId, reason: &str) -> String {
        format!("{} says: {reason}", self.topology.nodes[node].name)
    }

    fn nic_name(&self, nic: NicId) -> String {
        let planned = &self.topology.nics[nic].name;
        self.cabling.ports.get(&nic).map_or(planned, |port| &port.nic).clone()
    }

    /// Sends packets of the planned MTU over every link, from all senders at once.
    fn packets(&mut self, links: &[Link]) -> io::Result<()> {
        self.show(format!("sending full packets over {} links", links.len()));
        let mut by_node: BTreeMap<NodeId, Vec<(&Link, MtuProbe)>> = BTreeMap::new();
        for link in links.iter().filter(|link| self.has_both(link)) {
            let from = &self.topology.nics[link.from];
            let to = &self.topology.nics[link.to];
            let udp = self.ports[&to.node].0;
            let to = SocketAddrV4::new(link.address, udp);
            let probe = MtuProbe { nic: self.nic_name(link.from), to, most: link.mtu };
            by_node.entry(from.node).or_default().push((link, probe));
        }
        let longest = by_node.values().map(Vec::len).max().unwrap_or(0);
        let orders = by_node.iter().map(|(node, probes)| {
            let probes = probes.iter().map(|(_, probe)| probe.clone()).collect();
            (*node, SurveyOrder::Mtu(probes))
        });
        let patience =
            ANSWER_TIMEOUT + Duration::from_secs(8) * u32::try_from(longest).unwrap_or(1);
        let orders = orders.collect();
        for (node, answer) in self.send(orders, patience)? {
            let probes = &by_node[&node];
            let reason = match answer {
                Ok(SurveyAnswer::Mtu(all)) if all.len() == probes.len() => {
                    let seen = probes.iter().zip(all).map(|((link, _), passes)| MtuSeen {
                        from: link.from,
                        to: link.to,
                        passes,
                    });
                    self.seen.observed.mtus.extend(seen);
                    continue;
                }
                Ok(_) => UNEXPECTED.to_owned(),
                Err(reason) => reason,
            };
            for (link, _) in probes {
                self.miss(link, LinkProperty::Mtu, self.by(node, &reason));
            }
        }
        Ok(())
    }

    /// Measures the rate of every link. A link that seems slow is measured again alone, since other
    /// measurements may have slowed it.
    fn rates(&mut self, links: &[Link]) -> io::Result<()> {
        let mut best: BTreeMap<usize, RateSeen> = BTreeMap::new();
        let mut planned = rounds(self.topology, links);
        let all = planned.len();
        for (number, round) in planned.drain(..).enumerate() {
            self.show(format!("measuring links: round {} of {all}", number + 1));
            self.measure(links, &round, &mut best)?;
        }
        for _ in 0..AGAIN {
            let slow: Vec<usize> =
                best.iter().filter(|(_, seen)| seen.is_slow()).map(|(place, _)| *place).collect();
            for (number, place) in slow.iter().enumerate() {
                self.show(format!("measuring slow links again: {} of {}", number + 1, slow.len()));
                self.measure(links, &[*place], &mut best)?;
            }
        }
        self.seen.observed.rates = best.into_values().collect();
        Ok(())
    }

    fn measure(
        &mut self,
        links: &[Link],
        round: &[usize],
        best: &mut BTreeMap<usize, RateSeen>,
    ) -> io::Result<()> {
        let mut places = BTreeMap::new();
        let mut orders = Vec::new();
        for &place in round.iter().filter(|place| self.has_both(&links[**place])) {
            let link = &links[place];
            let from = &self.topology.nics[link.from];
            let to = &self.topology.nics[link.to];
            let tcp = self.ports[&to.node].1;
            let to = SocketAddrV4::new(link.address, tcp);
            let nic = self.nic_name(link.from);
            orders.push((from.node, SurveyOrder::Rate { nic, to, millis: MILLIS }));
            places.insert(from.node, place);
        }
        let patience = ANSWER_TIMEOUT + Duration::from_millis(u64::from(5 * MILLIS));
        for (node, answer) in self.send(orders, patience)? {
            let place = places[&node];
            let measured = match answer {
                Ok(SurveyAnswer::Rate(rate)) if rate.is_finite() && rate >= 0.0 => rate,
                Ok(_) => {
                    self.miss(&links[place], LinkProperty::Rate, self.by(node, UNEXPECTED));
                    continue;
                }
                Err(reason) => {
                    self.miss(&links[place], LinkProperty::Rate, self.by(node, &reason));
                    continue;
                }
            };
            let Link { from, to, goodput, .. } = links[place];
            let seen = RateSeen { from, to, measured, planned: goodput };
            let known = best.entry(place).or_insert(seen);
            known.measured = known.measured.max(measured);
        }
        Ok(())
    }

    /// Sends a burst from one node of every selected pair to the other; the counters of NICs show
    /// its route. A burst on an unplanned route is repeated, since NICs also count other traffic.
    fn ways(&mut self) -> io::Result<()> {
        let topology = self.topology;
        let cabling = self.cabling.clone();
        let judge = WayJudge::new(topology, &cabling);
        self.settle()?;
        let both_ways = pairs(&self.reached());
        for (place, (from, to)) in both_ways.iter().copied().enumerate() {
            self.show(format!("counting packets: pair {} of {}", place + 1, both_ways.len()));
            let mut last = None;
            for _ in 0..=AGAIN {
                match self.burst(from, to)? {
                    Ok(burst) => last = Some(burst),
                    Err(reason) => {
                        self.seen.observed.unmeasured_ways.insert((from, to), reason);
                    }
                }
                if last.as_ref().is_none_or(|burst| judge.burst(burst).is_none()) {
                    break;
                }
            }
            self.seen.observed.bursts.extend(last);
        }
        Ok(())
    }

    /// Waits until the packets of earlier measurements have left all queues, for at most about 2 s.
    fn settle(&mut self) -> io::Result<()> {
        const QUIET: u64 = 20;
        let mut before = self.counts(0)?.0;
        for _ in 0..40 {
            garland_sys::threads::sleep(Duration::from_millis(50));
            let after = self.counts(0)?.0;
            let quiet = differences(&before, &after).iter().all(|(_, frames)| *frames < QUIET);
            if quiet {
                break;
            }
            before = after;
        }
        Ok(())
    }

    /// Sends a burst, and reads every node's counters before and after. Returns the reason if the
    /// burst could not be sent or counted.
    fn burst(&mut self, from: NodeId, to: NodeId) -> io::Result<Result<BurstSeen, String>> {
        let address = self.topology.nodes[to].address;
        if self.withheld.contains(&address) {
            return Ok(Err(withheld(address)));
        }
        // A stranger must not guess the number, and so add to the burst.
        let number = u32::from_le_bytes(random::bytes());
        let before = self.counts(number)?.0;
        // The nodes that are gone have a verdict of their own.
        if !self.ports.contains_key(&from) {
            return Ok(Err(GONE.to_owned()));
        }
        let Some(&(udp, _)) = self.ports.get(&to) else { return Ok(Err(GONE.to_owned())) };
        let there = SocketAddrV4::new(address, udp);
        let order = SurveyOrder::Burst { to: there, number, count: COUNT };
        let sent = match self.send(vec![(from, order)], ANSWER_TIMEOUT)?.remove(&from) {
            Some(Ok(SurveyAnswer::Sent(sent))) => sent,
            Some(Err(reason)) => return Ok(Err(self.by(from, &reason))),
            Some(Ok(_)) | None => return Ok(Err(self.by(from, UNEXPECTED))),
        };
        let mut after = BTreeMap::new();
        let mut arrived = 0;
        // Wait longer if datagrams are still in flight.
        for wait in [5, 50, 200] {
            garland_sys::threads::sleep(Duration::from_millis(wait));
            let (counts, all) = self.counts(number)?;
            after = counts;
            arrived = all.get(&to).copied().unwrap_or(0).saturating_add(arrived);
            if arrived >= sent {
                break;
            }
        }
        if !self.ports.contains_key(&to) {
            return Ok(Err(GONE.to_owned()));
        }
        let carried = differences(&before, &after);
        Ok(Ok(BurstSeen { from, to, sent: COUNT, arrived, carried }))
    }

    /// Returns, for each NIC, the number of frames that it has sent, and, for each node, the number
    /// of datagrams of `burst` that it has received.
    fn counts(&mut self, burst: u32) -> io::Result<(BTreeMap<Port, u32>, BTreeMap<NodeId, u32>)> {
        let mut sent = BTreeMap::new();
        let mut arrived = BTreeMap::new();
        for (node, answer) in self.ask(|_| SurveyOrder::Counts(burst), ANSWER_TIMEOUT)? {
            match answer {
                Ok(SurveyAnswer::Counts(nics, came)) => {
                    let nics = nics.into_iter().map(|(nic, count)| (Port { node, nic }, count));
                    sent.extend(nics);
                    arrived.insert(node, came);
                }
                // Without its counters no route over this node can be judged.
                Ok(_) => self.drop_out(node, UNEXPECTED.to_owned()),
                Err(reason) => self.drop_out(node, reason),
            }
        }
        Ok((sent, arrived))
    }
}

/// Returns, for each NIC, the number of frames that it sent between two readings.
fn differences(before: &BTreeMap<Port, u32>, after: &BTreeMap<Port, u32>) -> Vec<(Port, u64)> {
    let sent = after.iter().map(|(port, now)| {
        let then = before.get(port).copied().unwrap_or(*now);
        (port.clone(), u64::from(now.wrapping_sub(then)))
    });
    sent.collect()
}

/// Why nothing is measured towards an address.
fn withheld(address: Ipv4Addr) -> String {
    format!("the agent there may not listen at {address} (--listen)")
}

/// The reason for not measuring anything with a node that was excluded before.
const GONE: &str = "the agent of one of the two failed";

/// The reason for excluding a node whose agent sent something else as the name of a NIC.
const NO_NIC_NAME: &str = "protocol error: the name of a NIC that no NIC can have";

/// The reason for excluding a node whose agent sent an answer of the wrong kind.
const UNEXPECTED: &str = "protocol error: unexpected answer to a survey request";
