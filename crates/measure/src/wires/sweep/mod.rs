//! `garland wires --sweep`: the Network Throughput test of 1996. Packets of several sizes cross the
//! network between more and more pairs at once, by local and by remote wire.

mod groups;
mod result;
mod table;

use std::collections::BTreeMap;

use garland_analysis::conditions::{Conditions, Purpose, value};
use garland_analysis::pairs::MatchUp;
use garland_control::Party;
use garland_core::cluster::Node;
use garland_lab::Lab;
use garland_protocol::PACKETS;
use garland_sys::clock;
use garland_sys::processors::Processors;
use garland_topology::bounds;

use self::groups::{Group, Network};
use self::result::{NodeResult, PointResult, SCHEMA, SweepResult, Swept, WireResult};
use super::measured::{FailedPair, Measured, emulator};
use super::survey::task::{meeting, packets, ping};
use super::survey::{Meets, Met};
use crate::gather::Gathered;
use garland_fleet::context::Context;
use garland_fleet::launch::{FAREWELL, HURRY};
use garland_results::head::{Head, tell};
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::notes::guard_rails;
use garland_terminal::screen::Screen;

/// Bytes of packets, as far as the network takes them; its largest comes last.
const SIZES: [u16; 6] = [128, 256, 512, 1024, 1500, 9000];

/// Up to so many pairs every number of them is measured; beyond, doublings.
const EACH: usize = 8;

/// What is known and measured.
struct Sweep<'a> {
    network: Network<'a>,
    meets: Meets<'a>,
    names: &'a [&'a str],
    conditions: BTreeMap<usize, Conditions>,
    points: Vec<PointResult>,
    failed: Vec<FailedPair>,
}

/// Sweeps, and tells.
pub fn run(context: &Context, nodes: &[Node], gathered: Gathered) -> Result<Exit, Failure> {
    let Gathered { mut phases, interrupts, lab, run, fleet } = gathered;
    let names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
    let absent: Vec<Option<String>> =
        fleet.agents.iter().map(|agent| agent.as_ref().err().cloned()).collect();
    let party = Party::new(fleet.agents.into_iter().map(Result::ok).collect());
    let mut sweep = Sweep {
        network: Network::new(nodes, lab.as_ref().map(|lab: &Lab| &lab.spec().topology)),
        meets: Meets::new(party, &interrupts),
        names: &names,
        conditions: BTreeMap::new(),
        points: Vec::new(),
        failed: Vec::new(),
    };
    let mut groups = sweep.network.groups(|node| absent[node].is_none());
    let mut screen = Screen::new(context.json);
    let since = Processors::now();
    for group in &mut groups {
        sweep.look(group)?;
    }
    let sizes = sweep.sizes();
    for group in &mut groups {
        sweep.group(group, &sizes, &mut screen)?;
    }
    screen.clear();
    let cpu = since.busy_since();
    phases.end("sweep");
    let interrupted = sweep.meets.interrupted;
    let Sweep { conditions, points, failed, meets, .. } = sweep;
    // Agents end with their channels.
    drop(meets);
    fleet.children.end(if interrupted { HURRY } else { FAREWELL }, |_| false);
    phases.end("teardown");
    let of_nodes: Vec<_> = conditions.iter().map(|(&node, all)| (names[node], all)).collect();
    let warnings =
        emulator(nodes, cpu).into_iter().chain(guard_rails(&of_nodes, Purpose::Rates)).collect();
    let swept = Swept {
        nodes: NodeResult::all(&names, &absent, conditions),
        wires: groups.iter().map(|group| WireResult::new(group, &names)).collect(),
        points,
        failed,
        measured: Measured { cpu, warnings, interrupted },
    };
    let exit = swept.exit();
    let result = SweepResult { head: Head::new(SCHEMA, Some(&run), phases), swept };
    tell(&run, context.json, &result)?;
    Ok(exit)
}

impl Sweep<'_> {
    /// A first meeting of each pair: who can't meet is left out, and both tell their conditions.
    fn look(&mut self, group: &mut Group) -> Result<(), Failure> {
        let task = ping();
        let meetings: Vec<_> = group.pairs.iter().map(|&pair| meeting(pair, 0, 1, &task)).collect();
        for (pair, met) in group.pairs.clone().into_iter().zip(self.meets.round(&meetings)?) {
            match met {
                Met::Got(got) => {
                    for (node, conditions) in [pair.0, pair.1].into_iter().zip(got.conditions) {
                        self.conditions.entry(node).or_insert(conditions);
                    }
                }
                Met::Failed(_, reason) => self.leave_out(group, pair, reason),
                Met::Not => {}
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, group: &mut Group, pair: MatchUp, reason: String) {
        group.pairs.retain(|other| *other != pair);
        self.failed.push(FailedPair::new(pair, self.names, reason));
    }

    /// The sizes of packets that all nodes take.
    fn sizes(&self) -> Vec<u16> {
        let mtu = |conditions: &Conditions| value(conditions, "path mtu")?.parse::<u32>().ok();
        let least = self.conditions.values().filter_map(mtu).min().unwrap_or(1500);
        let most = u16::try_from(least).unwrap_or(u16::MAX).clamp(*PACKETS.start(), *PACKETS.end());
        SIZES.into_iter().filter(|&size| size < most).chain([most]).collect()
    }

    /// All sizes and numbers of pairs of a group.
    fn group(
        &mut self,
        group: &mut Group,
        sizes: &[u16],
        screen: &mut Screen,
    ) -> Result<(), Failure> {
        for &packet in sizes {
            for count in counts(group.pairs.len()) {
                // Pairs may have been left out meanwhile.
                if count > group.pairs.len() || self.meets.interrupted {
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

    /// So many pairs at once.
    fn point(&mut self, group: &mut Group, packet: u16, count: usize) -> Result<(), Failure> {
        let pairs = group.pairs[..count].to_vec();
        let task = packets(packet);
        let meetings: Vec<_> = pairs.iter().map(|&pair| meeting(pair, 0, 1, &task)).collect();
        let mut rates = Vec::new();
        for (&pair, met) in pairs.iter().zip(self.meets.round(&meetings)?) {
            match met {
                Met::Got(got) => rates.push(got.forward),
                Met::Failed(_, reason) => self.leave_out(group, pair, reason),
                Met::Not => {}
            }
        }
        if rates.len() == count {
            let bound = self.bound(&pairs, packet);
            self.points.push(PointResult::new(group.wire, packet, &rates, bound));
        }
        Ok(())
    }

    /// What the wires allow to all pairs together, in bytes per second: by the topology, else by
    /// what the NICs say of their speed.
    fn bound(&self, pairs: &[MatchUp], packet: u16) -> Option<f64> {
        if let Some(all) = self.network.bounds(pairs, packet) {
            return Some(all.iter().sum());
        }
        let speed =
            |node: &usize| value(self.conditions.get(node)?, "speed, bit/s")?.parse::<f64>().ok();
        let each = |&(a, b): &MatchUp| Some(speed(&a)?.min(speed(&b)?));
        let bits: Option<Vec<f64>> = pairs.iter().map(each).collect();
        Some(bits?.iter().sum::<f64>() / 8.0 * bounds::payload_share(packet))
    }
}

/// How many pairs at once, of so many.
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
    fn few_pairs_are_all_counted_and_many_doubled() {
        assert_eq!(counts(3), [1, 2, 3]);
        assert_eq!(counts(12), [1, 2, 4, 8, 12]);
        assert_eq!(counts(0), Vec::<usize>::new());
    }
}
