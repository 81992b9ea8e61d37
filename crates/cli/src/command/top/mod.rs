//! `garland top`: what nodes are doing just now. Their agents run a few lines of shell that tell what the
//! kernel counts; nothing is left there when it ends.

mod reading;

use std::collections::BTreeMap;
use std::sync::Arc;

use garland_core::cluster::nodelist;
use garland_node::{CommandEnd, run_command};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use self::reading::{END, Rates, Reading};
use crate::args::{Args, Top};
use crate::failure::{Exit, Failure, OrFailure};
use crate::fleet::Muster;
use crate::launch::{FAREWELL, HURRY};
use crate::nodes::Inventory;
use crate::places::Places;
use crate::run::Run;
use crate::ui::output;
use crate::ui::screen::Screen;
use crate::ui::verdicts::folded;

/// A line of a node that is longer than this is no count of a kernel.
const LONGEST: usize = 64 << 10;

/// Shows nodes until the user ends it.
pub fn run(args: &Args, top: &Top) -> Result<Exit, Failure> {
    let interrupts = Arc::new(Interrupts::catch().or_nothing("catching Ctrl-C")?);
    let inventory = Inventory::open(args)?;
    let nodes = inventory.nodes(&top.nodes)?;
    let places = Places::open()?;
    let lab = top.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin(&places, "top")?;
    let muster = Muster {
        interrupts: Some(Arc::clone(&interrupts)),
        ..Muster::new(&nodes, &inventory, &places, &top.launch, &run, lab.as_ref())
    };
    let fleet = muster.assemble()?;
    let names: Vec<String> = nodes.iter().map(|node| node.name.clone()).collect();
    let mut board = Board::new(&names);
    let command = [b"sh".to_vec(), b"-c".to_vec(), script(top).into_bytes()];
    let ends =
        run_command(fleet.agents, &command, Some(&interrupts), &mut |at, is_error, bytes| {
            if !is_error {
                board.take(at, bytes);
            }
        })
        .or_nothing("looking at the nodes")?;
    let interrupted = ends.contains(&CommandEnd::Interrupted);
    fleet.children.end(if interrupted { HURRY } else { FAREWELL }, |_| false);
    drop(board);
    let reasons: Vec<Option<String>> = ends.iter().map(reason).collect();
    let failures = names.iter().zip(&reasons).filter(|(_, reason)| reason.is_some());
    eprint!("{}", folded(failures.map(|(name, why)| ("failed", why.as_deref(), name.as_str()))));
    let failed = reasons.iter().flatten().count();
    Ok(match failed {
        0 => Exit::Done,
        some if some == names.len() => Exit::Nothing,
        _ => Exit::SomeFailed,
    })
}

fn reason(end: &CommandEnd) -> Option<String> {
    match end {
        // To be ended by the user is how it ends.
        CommandEnd::Exited(0) | CommandEnd::Interrupted => None,
        CommandEnd::Exited(code) => Some(format!("its shell ended with {code}")),
        CommandEnd::Failed(reason) => Some(reason.clone()),
    }
}

/// What a node's shell does: a look, an end, a rest, again and again.
fn script(top: &Top) -> String {
    // The first look has nothing to be compared with.
    let turns = top
        .count
        .map_or(String::new(), |count| format!("n=$((n + 1)); [ $n -gt {count} ] && exit 0; "));
    format!(
        "n=0; while :; do echo \"@ $(cat /proc/uptime)\"; cat /proc/net/dev; \
         grep '^cpu ' /proc/stat; cat /proc/diskstats; grep '^Tcp:' /proc/net/snmp; echo '{END}'; \
         {turns}sleep {}; done",
        top.interval
    )
}

/// What is known of all nodes.
struct Board<'a> {
    names: &'a [String],
    lines: Vec<Node>,
    screen: Screen,
}

/// What has come from a node.
#[derive(Default)]
struct Node {
    rest: Vec<u8>,
    look: Vec<String>,
    last: Option<Reading>,
    rates: Option<Rates>,
}

impl<'a> Board<'a> {
    fn new(names: &'a [String]) -> Self {
        let lines = names.iter().map(|_| Node::default()).collect();
        Self { names, lines, screen: Screen::new(false) }
    }

    /// Takes what a node's shell has said.
    fn take(&mut self, at: usize, bytes: &[u8]) {
        let node = &mut self.lines[at];
        node.rest.extend(bytes);
        let mut is_new = false;
        while let Some(end) = node.rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = node.rest.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            if line != END {
                node.look.push(line);
                continue;
            }
            let reading = Reading::of(&std::mem::take(&mut node.look));
            let rates = node.last.as_ref().and_then(|last| reading.since(last));
            node.last = Some(reading);
            is_new |= rates.is_some();
            node.rates = rates.or(node.rates.take());
        }
        if node.rest.len() > LONGEST {
            node.rest.clear();
        }
        if self.screen.is_hidden() {
            if is_new && let Some(rates) = &self.lines[at].rates {
                // A reader that is gone ends the command as a signal does; there is nobody to tell.
                let _ = output::print(format!("{}\n", line(&self.names[at], rates)));
            }
            return;
        }
        let now = clock::now_ns();
        if self.screen.is_due(now) {
            let lines = self.drawn();
            self.screen.draw(now, &lines);
        }
    }

    /// The lines of a screen: the busiest nodes, as many as there is room for.
    fn drawn(&self) -> Vec<String> {
        let known = self.names.iter().zip(&self.lines);
        let mut rows: Vec<(&String, &Rates)> =
            known.filter_map(|(name, node)| Some((name, node.rates.as_ref()?))).collect();
        let room = self.screen.room().saturating_sub(3).max(1);
        let hidden = rows.len().saturating_sub(room);
        if hidden > 0 {
            rows.sort_by(|a, b| moved(b.1).total_cmp(&moved(a.1)));
            rows.truncate(room);
        }
        let silent: Vec<&str> = self
            .names
            .iter()
            .zip(&self.lines)
            .filter(|(_, node)| node.rates.is_none())
            .map(|(name, _)| name.as_str())
            .collect();
        let mut lines = vec![heading()];
        lines.extend(rows.into_iter().map(|(name, rates)| line(name, rates)));
        if hidden > 0 {
            lines.push(format!("and {hidden} that move less"));
        }
        if !silent.is_empty() {
            lines.push(format!("nothing yet from {}", nodelist::fold(&silent)));
        }
        lines
    }
}

/// Bytes per second over all NICs.
fn moved(rates: &Rates) -> f64 {
    rates.nics.iter().map(|(_, received, sent)| received + sent).sum()
}

fn heading() -> String {
    format!(
        "{:<16} {:>9} {:>9} {:>8} {:>9} {:>9} {:>6} {:>5}  MB/s of each NIC, in/out",
        "node", "in MB/s", "out MB/s", "resent/s", "read", "written", "disk %", "cpu %"
    )
}

fn line(name: &str, rates: &Rates) -> String {
    let mega = |rate: f64| rate / 1e6;
    let sum = |of: fn(&(String, f64, f64)) -> f64| rates.nics.iter().map(of).sum::<f64>();
    // One NIC is what the sums say already.
    let each: BTreeMap<&str, String> = rates
        .nics
        .iter()
        .filter(|_| rates.nics.len() > 1)
        .map(|(name, received, sent)| {
            (name.as_str(), format!("{:.1}/{:.1}", mega(*received), mega(*sent)))
        })
        .collect();
    let each: Vec<String> = each.into_iter().map(|(name, rate)| format!("{name} {rate}")).collect();
    format!(
        "{name:<16} {:>9.1} {:>9.1} {:>8.0} {:>9.1} {:>9.1} {:>6.0} {:>5.0}  {}",
        mega(sum(|nic| nic.1)),
        mega(sum(|nic| nic.2)),
        rates.resent,
        mega(rates.read),
        mega(rates.written),
        rates.disk * 100.0,
        rates.cpu * 100.0,
        each.join(", ")
    )
    .trim_end()
    .to_owned()
}
