//! `garland wires --sweep`: the Network Throughput test of 1996. Growing numbers of pairs send
//! packets of several sizes at once, over local and over remote wires.

mod groups;
mod result;
mod table;

use std::collections::BTreeMap;

use garland_analysis::conditions::{Conditions, Purpose, nic_speed, value};
use garland_analysis::pairs::MatchUp;
use garland_control::Session;
use garland_core::cluster::Node;
use garland_fleet::context::Context;
use garland_lab::Lab;
use garland_protocol::measure::PACKETS;
use garland_protocol::operation::PairEnd;
use garland_protocol::operation::wires::{meeting, packets, ping};
use garland_results::head::{Head, tell};
use garland_sys::clock;
use garland_sys::processors::Processors;
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::notes::guard_rails;
use garland_terminal::screen::Screen;
use garland_topology::bounds;

use self::groups::{Group, Network};
use self::result::{NodeResult, PointResult, SCHEMA, SweepResult, WireResult};
use super::measured::{FailedPair, Measured};
use super::meetings::Meetings;
use crate::gather::{Gathered, emulator, end_agents};

/// Packet sizes in bytes; those above the path MTU are replaced by the MTU.
const SIZES: [u16; 6] = [128, 256, 512, 1024, 1500, 9000];

/// Of up to this many pairs, every number is measured; of more, the powers of two and all pairs.
const EACH: usize = 8;

/// A sweep and its measurements so far.
struct Sweep<'a> {
    network: Network<'a>,
    meetings: Meetings<'a>,
    names: &'a [&'a str],
    conditions: BTreeMap<usize, Conditions>,
    points: Vec<PointResult>,
    failed: Vec<FailedPair>,
}

/// Runs a sweep of `nodes` with the agents in `gathered`, and prints the result.
pub fn run(
    context: &Context,
    names: &[&str],
    nodes: &[Node],
    gathered: Gathered,
) -> Result<Exit, Failure> {
    let Gathered { mut phases, interrupts, lab, run, fleet } = gathered;
    let session = Session::new(fleet.agents, Some(&interrupts));
    let absent = session.closed().to_vec();
    let mut sweep = Sweep {
        network: Network::new(nodes, lab.as_ref().map(|lab: &Lab| &lab.spec().topology)),
        meetings: Meetings::new(session),
        names,
        conditions: BTreeMap::new(),
        points: Vec::new(),
        failed: Vec::new(),
    };
    let mut groups = sweep.network.groups(|node| absent[node].is_none());
    let mut screen = Screen::new(context.json);
    let since = Processors::now();
    for group in &mut groups {
        sweep.probe(group)?;
    }
    let sizes = sweep.sizes();
    for group in &mut groups {
        sweep.group(group, &sizes, &mut screen)?;
    }
    screen.clear();
    let cpu = since.busy_since();
    phases.end("sweep");
    let Sweep { conditions, points, failed, meetings, .. } = sweep;
    let interrupted = meetings.interrupted;
    // Agents exit when their channels close.
    drop(meetings);
    end_agents(fleet.children, interrupted, &mut phases);
    let of_nodes: Vec<_> = conditions.iter().map(|(&node, all)| (names[node], all)).collect();
    let starved = emulator(names.iter().copied(), cpu, "use a lower rate");
    let warnings = starved.into_iter().chain(guard_rails(&of_nodes, Purpose::Rates)).collect();
    let result = SweepResult {
        head: Head::new(SCHEMA, Some(&run), phases),
        nodes: NodeResult::all(names, &absent, conditions),
        wires: groups.iter().map(|group| WireResult::new(group, names)).collect(),
        points,
        failed,
        measured: Measured { cpu, warnings, interrupted },
    };
    tell(&run, context.json, &result)?;
    Ok(result.exit())
}

impl Sweep<'_> {
    /// Connects each pair once, and records the conditions of its nodes. Pairs that fail are left
    /// out of the sweep.
    fn probe(&mut self, group: &mut Group) -> Result<(), Failure> {
        let task = ping();
        let meetings: Vec<_> = group.pairs.iter().map(|&pair| meeting(pair, 0, 1, &task)).collect();
        for (pair, met) in group.pairs.clone().into_iter().zip(self.meetings.round(&meetings)?) {
            match met {
                Ok(got) => {
                    for (node, conditions) in pair.nodes().into_iter().zip(got.conditions) {
                        self.conditions.entry(node).or_insert(conditions);
                    }
                }
                Err(PairEnd::Failed(_, reason)) => self.leave_out(group, pair, reason),
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, group: &mut Group, pair: MatchUp, reason: String) {
        group.pairs.retain(|other| *other != pair);
        self.failed.push(FailedPair::new(pair, self.names, reason));
    }

    /// Returns the packet sizes to measure: those below the least path MTU of the nodes, and that
    /// MTU.
    fn sizes(&self) -> Vec<u16> {
        let mtu = |conditions: &Conditions| value(conditions, "path mtu")?.parse::<u32>().ok();
        let least = self.conditions.values().filter_map(mtu).min().unwrap_or(1500);
        let most = u16::try_from(least).unwrap_or(u16::MAX).clamp(*PACKETS.start(), *PACKETS.end());
        SIZES.into_iter().filter(|&size| size < most).chain([most]).collect()
    }

    /// Measures a group with every packet size and number of pairs.
    fn group(
        &mut self,
        group: &mut Group,
        sizes: &[u16],
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        for &packet in sizes {
            for count in counts(group.pairs.len()) {
                // Pairs may have been left out after the counts were computed.
                if count > group.pairs.len() || self.meetings.interrupted {
                    continue;
                }
                let wire = group.wire;
                let line = format!("measuring: {wire} wire, {packet} bytes, {count} at once");
                screen.draw(clock::now_ns(), &[line]);
                self.point(group, packet, count)?;
            }
        }
        Ok(())
    }

    /// Measures the first `count` pairs of a group at once. If a pair fails, it is left out, and
    /// the point is not recorded.
    fn point(&mut self, group: &mut Group, packet: u16, count: usize) -> Result<(), Failure> {
        let pairs = group.pairs[..count].to_vec();
        let task = packets(packet);
        let meetings: Vec<_> = pairs.iter().map(|&pair| meeting(pair, 0, 1, &task)).collect();
        let mut rates = Vec::new();
        for (&pair, met) in pairs.iter().zip(self.meetings.round(&meetings)?) {
            match met {
                Ok(got) => rates.push(got.forward),
                Err(PairEnd::Failed(_, reason)) => self.leave_out(group, pair, reason),
                Err(_) => {}
            }
        }
        if rates.len() == count {
            let bound = self.bound(&pairs, packet);
            self.points.push(PointResult::new(group.wire, packet, &rates, bound));
        }
        Ok(())
    }

    /// Returns the total payload rate in bytes per second that the wires allow to `pairs`,
    /// according to the topology or else the speed of the NICs; none if neither is known.
    fn bound(&self, pairs: &[MatchUp], packet: u16) -> Option<f64> {
        if let Some(all) = self.network.bounds(pairs, packet) {
            return Some(all.iter().sum());
        }
        let mut bits_per_second = 0.0;
        for pair in pairs {
            let one = nic_speed(self.conditions.get(&pair.one)?)?;
            let other = nic_speed(self.conditions.get(&pair.other)?)?;
            bits_per_second += one.min(other) as f64;
        }
        Some(bits_per_second / 8.0 * bounds::payload_share(packet))
    }
}

/// Returns the numbers of pairs to measure at once: all numbers up to `pairs`, or if that is more
/// than [`EACH`], the powers of two below it and `pairs` itself.
fn counts(pairs: usize) -> Vec<usize> {
    if pairs <= EACH {
        return (1..=pairs).collect();
    }
    let doublings = std::iter::successors(Some(1), |count| Some(count * 2));
    doublings.take_while(|&count| count < pairs).chain([pairs]).collect()
}

#[cfg(test)]
mod tests {
    use crate::wires::sweep::counts;

    #[test]
    fn counts_are_all_numbers_of_few_pairs_and_doublings_of_many() {
        assert_eq!(counts(3), [1, 2, 3]);
        assert_eq!(counts(12), [1, 2, 4, 8, 12]);
        assert_eq!(counts(0), Vec::<usize>::new());
    }
}
