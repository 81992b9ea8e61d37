//! The progress of a copy: a line for each node if all lines fit on the screen, otherwise the
//! number of nodes in each state; and a line about all nodes, with the rate and the remaining time.

use std::collections::{BTreeSet, VecDeque};

use garland_control::Progress;
use garland_copy::changes::Changes;
use garland_copy::observer::Observer;
use garland_copy::spec::RunOptions;
use garland_core::cluster::nodelist;
use garland_core::plan::{NodeId, Plan};
use garland_core::units::{Nanos, Rate, bytes};
use garland_fleet::context::Context;
use garland_protocol::copy::NodeState;
use garland_terminal::failure::Failure;
use garland_terminal::output;
use garland_terminal::screen::Screen;

use crate::progress_lines::{Line, NodeLine, ProgressLines};

/// The time over which the rate is computed, in nanoseconds.
const WINDOW_NS: u64 = 3_000_000_000;

/// Interval between checks for stuck nodes, in nanoseconds.
const POLL_NS: u64 = 200_000_000;

/// After which time in nanoseconds nodes are named that are waited for before a copy begins, where
/// there is no terminal.
const TOLD_AFTER_NS: u64 = 10_000_000_000;

/// The width of a bar, in columns.
const BAR: u64 = 24;

/// Stands for the length of a stream, which is unknown until it ends.
const UNKNOWN: u64 = u64::MAX;

/// The maximum width of a node's name, in columns.
const NAME_MAX: usize = 24;

/// The names of the states, in the order in which they are listed.
const WORDS: [&str; 7] = ["starting", "receiving", "stuck", "finishing", "done", "failed", "dead"];

/// The display of the progress of one or several copies.
struct Bars {
    screen: Screen,
    names: Vec<String>,
    /// For each node, the bytes that it receives or sends.
    lengths: Vec<u64>,
    /// Bytes of the file if every node receives all of it; `None` if each node has a separate file
    /// or part.
    every: Option<u64>,
    /// For recent redraws, the time in nanoseconds, and the bytes that the slowest node had, or the
    /// sum over all nodes if `every` is `None`.
    past: VecDeque<(u64, u64)>,
    /// Whether to print nothing at all, not even the nodes that the copy waits for.
    silent: bool,
    /// When the copy began to wait for busy nodes, in nanoseconds; `None` if it has not waited.
    waiting_since: Option<u64>,
    /// The nodes that were reported as stuck.
    stuck: BTreeSet<NodeId>,
    /// The time of the last check for stuck nodes, in nanoseconds.
    checked_ns: u64,
    /// The writer of progress reports for programs, if the user requested them.
    lines: Option<ProgressLines>,
}

/// The progress of one node.
#[derive(Clone, Copy, Debug)]
struct NodeNow {
    word: &'static str,
    held: u64,
    /// Whether the others do not wait for the node: it has no agent yet.
    is_awaited: bool,
}

impl NodeNow {
    /// The progress of a node whose copy has not begun.
    const WAITING: Self = Self { word: WORDS[0], held: 0, is_awaited: false };

    /// Returns the progress of all nodes of a copy, in the order of its plan.
    fn all(plan: &Plan, progress: &Progress<'_>) -> Vec<Self> {
        let states = progress.head.states().enumerate().skip(1);
        let now = |(at, state): (usize, &NodeState)| {
            let id = NodeId(u32::try_from(at).unwrap_or(u32::MAX));
            let bytes = plan.bytes_of(id);
            let blocks = progress.head.report(id).held;
            use NodeState::{Committed, Complete, Prepared};
            let whole = matches!(state, Complete | Prepared | Committed);
            let whole = whole && !plan.layout.open;
            let held = (blocks * u64::from(plan.layout.block_size)).min(bytes);
            let stuck = progress.head.hangs_in(id).is_some() && progress.head.verdict(id).is_none();
            let is_awaited = progress.head.is_awaited(id);
            let shown = match is_awaited {
                true => WORDS[0],
                false if stuck => WORDS[2],
                false => word(state),
            };
            Self { word: shown, held: if whole { bytes } else { held }, is_awaited }
        };
        states.map(now).collect()
    }

    /// Returns the node's line. The name is padded or cut to `width` columns; the node gets
    /// `length` bytes, which may be [`UNKNOWN`].
    fn line(&self, name: &str, width: usize, length: u64) -> String {
        let name: String = name.chars().take(width).collect();
        let held = bytes::format(self.held);
        if length == UNKNOWN {
            return format!("{name:<width$} {:<9} {held:>10}", self.word);
        }
        let percent = share(self.held, length, 100);
        let bar = "=".repeat(share(self.held, length, BAR) as usize);
        let bar_width = BAR as usize;
        format!("{name:<width$} {percent:>3} %  {:<9} {held:>10} [{bar:<bar_width$}]", self.word)
    }
}

/// Shows the progress of a copy to nodes, or of copies from nodes, all together.
pub struct CopyBars<'a> {
    context: &'a Context,
    options: &'a RunOptions,
    copies: Copies,
    /// Where the nodes are named that are waited for before the copies begin.
    waiting: Screen,
    /// Since when nodes are waited for before the copy begins, in monotonic nanoseconds.
    waits_since_ns: Option<u64>,
    /// Whether these were named where there is no terminal.
    is_told: bool,
    bars: Option<Bars>,
}

/// The copies that are shown.
enum Copies {
    /// One copy to nodes.
    ToNodes,
    /// Copies from nodes; for each, the progress of its nodes.
    FromNodes(Vec<Vec<NodeNow>>),
}

impl<'a> CopyBars<'a> {
    /// Creates the progress of a copy to nodes that has not begun.
    pub fn new(context: &'a Context, options: &'a RunOptions) -> Self {
        Self::showing(context, options, Copies::ToNodes)
    }

    /// Creates the progress of copies from nodes that have not begun.
    pub fn gathering(context: &'a Context, options: &'a RunOptions) -> Self {
        Self::showing(context, options, Copies::FromNodes(Vec::new()))
    }

    fn showing(context: &'a Context, options: &'a RunOptions, copies: Copies) -> Self {
        let is_hidden = options.is_quiet || context.json || options.reports_progress;
        Self {
            context,
            options,
            copies,
            waiting: Screen::new(is_hidden),
            waits_since_ns: None,
            is_told: false,
            bars: None,
        }
    }
}

impl Observer for CopyBars<'_> {
    // Only copies to nodes compare anything.
    fn changes(&mut self, changes: &Changes) -> Result<(), Failure> {
        if self.context.json {
            return Ok(());
        }
        output::print(changes)
    }

    fn waits(&mut self, now_ns: u64, doing: &str, nodes: &[&str]) {
        if nodes.is_empty() {
            self.waiting.clear();
            return;
        }
        let text = format!("{}: {doing}", nodelist::fold(nodes));
        let since_ns = *self.waits_since_ns.get_or_insert(now_ns);
        let is_long = now_ns.saturating_sub(since_ns) >= TOLD_AFTER_NS;
        let is_silent = self.options.is_quiet || self.options.reports_progress || self.is_told;
        if is_long && self.waiting.is_hidden() && !is_silent {
            self.is_told = true;
            garland_terminal::errln!("waiting: {text}");
        } else if self.waiting.is_due(now_ns) {
            self.waiting.draw(now_ns, &[text]);
        }
    }

    fn begin(&mut self, plans: &[&Plan]) {
        self.bars = match &mut self.copies {
            Copies::ToNodes => {
                plans.first().map(|plan| Bars::new(plan, self.context, self.options))
            }
            Copies::FromNodes(nodes) => {
                let waiting = |plan: &&Plan| vec![NodeNow::WAITING; plan.nodes.len() - 1];
                *nodes = plans.iter().map(waiting).collect();
                let parts = plans.iter().flat_map(|plan| {
                    plan.receivers().map(|(id, node)| (node.name.clone(), plan.bytes_of(id)))
                });
                Some(Bars::from_parts(parts, self.context, self.options))
            }
        };
    }

    fn progress(&mut self, number: usize, plan: &Plan, progress: &Progress<'_>) {
        let Some(bars) = &mut self.bars else { return };
        match &mut self.copies {
            Copies::ToNodes => bars.show(plan, progress),
            Copies::FromNodes(nodes) => {
                nodes[number] = NodeNow::all(plan, progress);
                let nodes: Vec<NodeNow> = nodes.iter().flatten().copied().collect();
                bars.show_nodes(progress.now_ns, &nodes);
            }
        }
    }

    fn end(&mut self) {
        self.bars.iter_mut().for_each(Bars::clear);
    }
}

impl Bars {
    /// Creates the progress of a copy by `plan`, shown as the options request.
    fn new(plan: &Plan, context: &Context, options: &RunOptions) -> Self {
        let open = plan.layout.open;
        let length = |id| if open { UNKNOWN } else { plan.bytes_of(id) };
        let nodes = plan.receivers().map(|(id, node)| (node.name.clone(), length(id)));
        let every = if open { UNKNOWN } else { plan.layout.length };
        let bars = Self::from_parts(nodes, context, options);
        let all = bars.lengths.iter().all(|&length| length == every);
        Self { every: all.then_some(every), ..bars }
    }

    /// Creates the progress of `nodes`: for each, its name and the bytes that it receives or sends.
    /// Nothing is shown on the terminal with `--quiet`, `--json` or `--progress`.
    fn from_parts(
        nodes: impl Iterator<Item = (String, u64)>,
        context: &Context,
        options: &RunOptions,
    ) -> Self {
        let for_programs = options.reports_progress;
        let (names, lengths) = nodes.unzip();
        Self {
            screen: Screen::new(options.is_quiet || context.json || for_programs),
            names,
            lengths,
            every: None,
            past: VecDeque::new(),
            silent: options.is_quiet || for_programs,
            waiting_since: None,
            stuck: BTreeSet::new(),
            checked_ns: 0,
            lines: for_programs.then(ProgressLines::default),
        }
    }

    /// Shows the progress of the copy by `plan`.
    fn show(&mut self, plan: &Plan, progress: &Progress<'_>) {
        let now = progress.now_ns;
        if !progress.waiting.is_empty() {
            return self.show_waiting(now, &progress.waiting);
        }
        self.report_stuck(plan, progress);
        if self.is_due(now) {
            self.draw(now, &NodeNow::all(plan, progress));
        }
    }

    /// Reports each node whose disk does not respond. Each node is reported once.
    fn report_stuck(&mut self, plan: &Plan, progress: &Progress<'_>) {
        if self.silent || progress.now_ns.saturating_sub(self.checked_ns) < POLL_NS {
            return;
        }
        self.checked_ns = progress.now_ns;
        for (id, node) in plan.receivers() {
            let Some(call) = progress.head.hangs_in(id) else { continue };
            if progress.head.verdict(id).is_some() || !self.stuck.insert(id) {
                continue;
            }
            self.screen.clear();
            let seconds = call.silent_ns / 1_000_000_000;
            let name = &node.name;
            let operation = call.operation;
            let path = &call.path;
            garland_terminal::errln!(
                "stuck   {name}: {operation} {path}: no progress for {seconds} s"
            );
        }
    }

    /// Shows the progress of the nodes, in their order, if a redraw is due.
    fn show_nodes(&mut self, now: u64, nodes: &[NodeNow]) {
        if self.is_due(now) {
            self.draw(now, nodes);
        }
    }

    /// Whether a redraw is due. Reports for programs are always due, since the last report must be
    /// complete.
    fn is_due(&self, now: u64) -> bool {
        self.lines.is_some() || self.screen.is_due(now)
    }

    fn draw(&mut self, now: u64, nodes: &[NodeNow]) {
        let is_living = |node: &&NodeNow| {
            let is_lost = matches!(node.word, "failed" | "dead");
            !is_lost && !node.is_awaited
        };
        let living = nodes.iter().filter(is_living);
        let (what, so_far, length) = match self.every {
            Some(length) => ("every node", living.map(|node| node.held).min().unwrap_or(0), length),
            None => ("together", living.map(|node| node.held).sum(), self.lengths.iter().sum()),
        };
        if let Some(lines) = &mut self.lines {
            let nodes = named(&self.names, nodes);
            lines.tell(now, Line::new(now, so_far, known(length), nodes, Vec::new()));
        }
        if !self.screen.is_due(now) {
            return;
        }
        let mut lines = if nodes.len() < self.screen.room() {
            let rows = nodes.iter().zip(&self.names).zip(&self.lengths);
            let width = self.name_width();
            rows.map(|((node, name), &length)| node.line(name, width, length)).collect()
        } else {
            vec![tally(nodes)]
        };
        self.past.push_back((now, so_far));
        while self.past.len() > 2 && self.past[0].0 + WINDOW_NS < now {
            self.past.pop_front();
        }
        lines.push(sum(what, &self.past, length));
        self.screen.draw(now, &lines);
    }

    /// Shows the nodes that the copy waits for; without a terminal, prints them once.
    fn show_waiting(&mut self, now: u64, nodes: &[NodeId]) {
        let place = |id: &NodeId| id.index().checked_sub(1);
        let names = nodes.iter().filter_map(|id| self.names.get(place(id)?).map(String::as_str));
        let names: Vec<&str> = names.collect();
        if let Some(lines) = &mut self.lines {
            let nodes = named(&self.names, &vec![NodeNow::WAITING; self.names.len()]);
            let length = self.every.unwrap_or_else(|| self.lengths.iter().sum());
            let waiting = names.iter().map(|&name| name.to_owned()).collect();
            lines.tell(now, Line::new(now, 0, known(length), nodes, waiting));
        }
        let verb = if names.len() == 1 { "is" } else { "are" };
        let text = format!("{} {verb} busy with other copies", nodelist::fold(&names));
        if self.waiting_since.is_none() && self.screen.is_hidden() && !self.silent {
            garland_terminal::errln!("waiting: {text}");
        }
        let since = *self.waiting_since.get_or_insert(now);
        let waited = countdown(u128::from(now - since));
        self.screen.draw(now, &[format!("waiting: {text} ({waited})")]);
    }

    fn name_width(&self) -> usize {
        let longest = self.names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        longest.clamp("every node".len(), NAME_MAX)
    }

    /// Removes all lines from the screen, and writes the last report for programs.
    fn clear(&mut self) {
        self.lines.iter_mut().for_each(ProgressLines::write);
        self.screen.clear();
    }
}

/// Returns the nodes in the format of reports for programs.
fn named(names: &[String], nodes: &[NodeNow]) -> Vec<NodeLine> {
    let nodes = names.iter().zip(nodes);
    let line = |(name, node): (&String, &NodeNow)| NodeLine {
        name: name.clone(),
        state: node.word,
        bytes: node.held,
    };
    nodes.map(line).collect()
}

/// Returns a line with the number of nodes in each state.
fn tally(nodes: &[NodeNow]) -> String {
    let count = |word: &&str| nodes.iter().filter(|node| node.word == *word).count();
    let counts = WORDS.iter().map(|word| (count(word), word)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, word)| format!("{count} {word}")).collect();
    format!("{} nodes: {}", nodes.len(), counts.join(", "))
}

/// Returns the line about all nodes: share, remaining time, rate, and bytes. The most important
/// value is first, since a narrow terminal cuts off the end of the line.
fn sum(what: &str, past: &VecDeque<(u64, u64)>, length: u64) -> String {
    let (Some(&(then, before)), Some(&(now, least))) = (past.front(), past.back()) else {
        return String::new();
    };
    let arrived = least.saturating_sub(before);
    if length == UNKNOWN {
        let rate = Rate::from_bytes_over(arrived, Nanos(now - then));
        let rate = rate.map_or_else(String::new, |rate| format!("  {rate}"));
        return format!("{what}{rate}  {} so far", bytes::format(least));
    }
    let mut line = format!("{what} {:>3} %", share(least, length, 100));
    if arrived > 0 && least < length {
        let left_ns = u128::from(length - least) * u128::from(now - then) / u128::from(arrived);
        line += &format!("  {} left", countdown(left_ns));
        if let Some(rate) = Rate::from_bytes_over(arrived, Nanos(now - then)) {
            line += &format!("  {rate}");
        }
    }
    line + &format!("  {} of {}", bytes::format(least), bytes::format(length))
}

/// Returns `length`, or `None` if it is [`UNKNOWN`].
fn known(length: u64) -> Option<u64> {
    Some(length).filter(|length| *length != UNKNOWN)
}

/// Formats a duration in whole seconds, or in minutes or hours if it is long, rounded up. Smaller
/// units would flicker.
fn countdown(ns: u128) -> String {
    match ns.div_ceil(1_000_000_000) {
        seconds @ 0..100 => format!("{seconds} s"),
        seconds @ 100..6000 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3600)),
    }
}

/// Returns `part / whole` in units of `1 / parts`, rounded down; `parts` if `whole` is 0.
fn share(part: u64, whole: u64, parts: u64) -> u64 {
    let parts = u128::from(parts);
    let share = (u128::from(part) * parts).checked_div(u128::from(whole)).unwrap_or(parts);
    u64::try_from(share).unwrap_or(u64::MAX)
}

fn word(state: &NodeState) -> &'static str {
    let [starting, receiving, _, finishing, done, failed, dead] = WORDS;
    match state {
        NodeState::Joining => starting,
        NodeState::Ready => receiving,
        NodeState::Complete | NodeState::Prepared => finishing,
        NodeState::Committed => done,
        NodeState::Failed(_) => failed,
        NodeState::Dead(_) => dead,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_about_all_nodes_has_rate_and_time_left() {
        let mib = 1 << 20;
        let past = VecDeque::from([(0, 10 * mib), (2_000_000_000, 30 * mib)]);
        assert_eq!(
            sum("every node", &past, 100 * mib),
            "every node  30 %  7 s left  10.5 MB/s (0.084 Gbit/s)  30.00 MiB of 100.00 MiB"
        );
        let stalled = VecDeque::from([(0, 10 * mib), (2_000_000_000, 10 * mib)]);
        assert_eq!(
            sum("every node", &stalled, 100 * mib),
            "every node  10 %  10.00 MiB of 100.00 MiB"
        );
        let over = VecDeque::from([(0, 10 * mib), (2_000_000_000, 100 * mib)]);
        assert_eq!(
            sum("every node", &over, 100 * mib),
            "every node 100 %  100.00 MiB of 100.00 MiB"
        );
        assert_eq!(share(0, 0, 100), 100);
        assert_eq!(
            sum("every node", &past, UNKNOWN),
            "every node  10.5 MB/s (0.084 Gbit/s)  30.00 MiB so far"
        );
    }

    #[test]
    fn many_nodes_are_counted_by_state() {
        let at = |word| NodeNow { word, held: 0, is_awaited: false };
        let nodes = [at("dead"), at("receiving"), at("done"), at("receiving")];
        assert_eq!(tally(&nodes), "4 nodes: 2 receiving, 1 done, 1 dead");
    }

    #[test]
    fn time_left_does_not_flicker() {
        let seconds = |seconds: u128| countdown(seconds * 1_000_000_000);
        assert_eq!([seconds(0), seconds(99), seconds(150)], ["0 s", "99 s", "3 min"]);
        assert_eq!(seconds(7000), "2 h");
    }
}
