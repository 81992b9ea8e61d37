//! Faults that befall nodes and the head at their moments, and are undone.

use std::collections::BTreeMap;
use std::time::Duration;

use garland_lab::fault::{self, LinkDirection};
use garland_sys::clock;
use garland_testkit::{HangsIn, Process};

use crate::contents::LENGTH;
use crate::round::{Fault, Kind, Round};
use crate::stage::{STUCK_S, Stage, node_name};

/// The nftables table with the rules that drop frames.
const TABLE: &str = "garland_soak";

/// The faults of a round while it runs. Its clock stands still between two commands.
pub struct Blows<'a> {
    stage: &'a Stage<'a>,
    ahead: Vec<Fault>,
    active: Vec<(Fault, u64)>,
    /// When the clock showed 0, in nanoseconds.
    zero: u64,
    /// What the clock showed when it was stopped, in nanoseconds.
    shown: u64,
    /// What befell each node, the head being 0.
    pub struck: BTreeMap<u32, Vec<Fault>>,
    /// A line for each event.
    pub story: Vec<String>,
}

impl<'a> Blows<'a> {
    pub fn new(stage: &'a Stage<'a>, round: &Round) -> Self {
        let is_there = |fault: &Fault| fault.kind.is_of_disk() && fault.kind != Kind::FillingDisk;
        let (there, ahead): (Vec<Fault>, Vec<Fault>) =
            round.faults.iter().copied().partition(is_there);
        let struck = there.into_iter().map(|fault| (fault.node, vec![fault])).collect();
        Self { stage, ahead, active: Vec::new(), zero: 0, shown: 0, struck, story: Vec::new() }
    }

    /// Starts the clock.
    pub fn start(&mut self) {
        self.zero = clock::now_ns() - self.shown;
    }

    /// Stops the clock, and undoes all that would end by itself.
    pub fn stop(&mut self) {
        self.shown = clock::now_ns() - self.zero;
        let silent = std::mem::take(&mut self.active);
        let (lasting, ending): (Vec<_>, Vec<_>) =
            silent.into_iter().partition(|(fault, _)| fault.for_ms.is_none());
        self.active = lasting;
        ending.iter().for_each(|(fault, _)| self.undo(fault));
    }

    /// Undoes what is left.
    pub fn end(&mut self) {
        let active = std::mem::take(&mut self.active);
        active.iter().for_each(|(fault, _)| self.undo(fault));
    }

    /// Does what is due; `head` is the process of the command.
    pub fn step(&mut self, head: &Process) {
        let now = (clock::now_ns() - self.zero) / 1_000_000;
        let is_over = |(_, end): &(Fault, u64)| *end <= now;
        let over: Vec<(Fault, u64)> = self.active.iter().copied().filter(is_over).collect();
        self.active.retain(|active| !is_over(active));
        over.iter().for_each(|(fault, _)| self.undo(fault));
        while self.ahead.first().is_some_and(|fault| fault.at_ms <= now) {
            let fault = self.ahead.remove(0);
            self.strike(fault, now, head);
        }
    }

    fn strike(&mut self, fault: Fault, now: u64, head: &Process) {
        let name = node_name(fault.node);
        let lab = &self.stage.lab;
        let note = match fault.kind {
            Kind::Kill => {
                let count = fault::kill(lab, &name).expect("processes can be killed");
                format!("{count} processes")
            }
            Kind::Stop => {
                let count = fault::stop(lab, &name).expect("processes can be stopped");
                format!("{count} processes")
            }
            Kind::Cut => fault::cut(lab, &name).map(|()| String::new()).expect("a wire can be cut"),
            Kind::Drop(direction) => self.rule(&name, direction, "policy drop;"),
            Kind::Loss(percent) => {
                let rule = format!("numgen random mod 100 < {percent} drop");
                self.rule(&name, LinkDirection::In, &format!("policy accept; {rule};"))
            }
            Kind::FillingDisk => self.stage.fill(&name),
            Kind::KillHead => {
                head.kill();
                String::new()
            }
            Kind::Interrupt => {
                head.interrupt();
                String::new()
            }
            Kind::SmallDisk | Kind::SlowDisk(_) | Kind::HangingDisk(_) => String::new(),
        };
        self.story.push(format!("{now} ms: {} {name} {note}", fault.kind.name()));
        let end = fault.for_ms.map_or(u64::MAX, |ms| now + ms);
        self.active.push((fault, end));
        self.struck.entry(fault.node).or_default().push(fault);
    }

    fn undo(&mut self, fault: &Fault) {
        let name = node_name(fault.node);
        match fault.kind {
            Kind::Stop => drop(fault::resume(&self.stage.lab, &name).expect("they can continue")),
            Kind::Cut => fault::restore(&self.stage.lab, &name).expect("a wire can be restored"),
            Kind::Drop(_) | Kind::Loss(_) => {
                self.stage.nft(&name, &format!("delete table netdev {TABLE}"));
            }
            _ => return,
        }
        let now = (clock::now_ns() - self.zero) / 1_000_000;
        self.story.push(format!("{now} ms: {} {name} is over", fault.kind.name()));
    }

    fn rule(&self, name: &str, direction: LinkDirection, rule: &str) -> String {
        let hook = match direction {
            LinkDirection::In => "ingress",
            LinkDirection::Out => "egress",
        };
        let chain = format!("type filter hook {hook} device \"eth0\" priority -10; {rule}");
        self.stage
            .nft(name, &format!("table netdev {TABLE} {{\nchain drops {{\n{chain}\n}}\n}}\n"));
        format!("{direction:?}")
    }

    /// Whether this befell the head.
    pub fn of_head(&self, kind: Kind) -> bool {
        self.struck.get(&0).is_some_and(|faults| faults.iter().any(|fault| fault.kind == kind))
    }

    /// Whether something befell the node that may cost it its copy.
    pub fn excuse(&self, node: u32) -> bool {
        let faults = self.struck.get(&node);
        faults.is_some_and(|faults| faults.iter().any(|fault| fault.kind.may_cost_the_copy()))
    }

    /// The longest of the faults that end.
    pub fn longest(&self) -> Duration {
        let faults = self.struck.values().flatten();
        let ms = faults.map(|fault| match fault.kind {
            Kind::HangingDisk(hangs) => stuck_ms(hangs),
            _ => fault.for_ms.unwrap_or(0),
        });
        Duration::from_millis(ms.max().unwrap_or(0))
    }
}

/// After how long a call that hangs fails its node, in milliseconds: what is made stable has a
/// second more for every 5 MB.
fn stuck_ms(hangs: HangsIn) -> u64 {
    let more = match hangs {
        HangsIn::Fsync | HangsIn::Rename => LENGTH as u64 / 5_000,
        _ => 0,
    };
    STUCK_S * 1000 + more
}
