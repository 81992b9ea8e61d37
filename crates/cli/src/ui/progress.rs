//! Progress on standard error: one line a node up to a screenful, one line for all above it; hidden
//! when it isn't a terminal.

use garland_core::cluster::nodelist;
use garland_core::plan::{NodeId, Plan};
use garland_core::proto::NodeState;
use garland_core::units::{Nanos, Rate};
use garland_node::Progress;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often the screen is drawn, in nanoseconds.
const EVERY_NS: u64 = 100_000_000;

/// A copy is quiet for so long, in nanoseconds: what is over before needs no bars.
const QUIET_NS: u64 = 700_000_000;

/// Lines that fit everybody's screen.
const SCREEN: usize = 20;

/// The bars of one copy.
pub struct Bars {
    bars: Vec<(NodeId, ProgressBar)>,
    all: ProgressBar,
    screen: MultiProgress,
    block_size: u64,
    length: u64,
    names: Vec<String>,
    since: Option<u64>,
    drawn: u64,
    /// Where there are no bars, it is still said who is waited for.
    tells: bool,
    /// The line that says who is waited for, while there is one.
    waiting: Option<ProgressBar>,
}

impl Bars {
    /// Bars for a copy by `plan`.
    pub fn new(plan: &Plan, quiet: bool) -> Self {
        let screen = MultiProgress::new();
        if quiet {
            screen.set_draw_target(ProgressDrawTarget::hidden());
        }
        let names: Vec<String> = plan.nodes.iter().map(|node| node.name.clone()).collect();
        Self {
            bars: Vec::new(),
            all: ProgressBar::hidden(),
            screen,
            block_size: plan.layout.block_size.into(),
            length: plan.layout.length,
            names,
            since: None,
            drawn: 0,
            tells: true,
            waiting: None,
        }
    }

    /// The same, and not a word if `silent`.
    pub fn silent(mut self, silent: bool) -> Self {
        self.tells = !silent;
        self
    }

    /// Shows how far the copy is.
    pub fn show(&mut self, progress: &Progress<'_>) {
        if !progress.waiting.is_empty() {
            return self.show_waiting(&progress.waiting);
        }
        if let Some(line) = self.waiting.take() {
            line.finish_and_clear();
        }
        let now = progress.now_ns;
        let since = *self.since.get_or_insert(now);
        if self.screen.is_hidden() || now < since + QUIET_NS || now < self.drawn + EVERY_NS {
            return;
        }
        if self.drawn == 0 {
            self.make_bars();
        }
        self.drawn = now;
        let mut least = self.length;
        for (at, state) in progress.head.states().enumerate().skip(1) {
            let over = matches!(state, NodeState::Failed(_) | NodeState::Dead(_));
            let id = NodeId(u32::try_from(at).unwrap_or(u32::MAX));
            let held = (progress.head.report(id).held * self.block_size).min(self.length);
            let held = if matches!(state, NodeState::Complete | NodeState::Committed) {
                self.length
            } else {
                held
            };
            if !over {
                least = least.min(held);
            }
            if let Some((_, bar)) = self.bars.iter().find(|(node, _)| *node == id) {
                bar.set_position(held);
                bar.set_message(word(state));
            }
        }
        let rate = Rate::from_bytes_over(least, Nanos(now - since));
        self.all.set_position(least);
        self.all.set_message(rate.map(|rate| rate.to_string()).unwrap_or_default());
    }

    /// Says who is waited for: once where nobody watches, else as it changes.
    fn show_waiting(&mut self, nodes: &[NodeId]) {
        let names = nodes.iter().filter_map(|id| self.names.get(id.index()).map(String::as_str));
        let names: Vec<&str> = names.collect();
        let verb = if names.len() == 1 { "is" } else { "are" };
        let text = format!("{} {verb} busy with other copies", nodelist::fold(&names));
        let line = self.waiting.get_or_insert_with(|| {
            if self.screen.is_hidden() && self.tells {
                eprintln!("waiting: {text}");
            }
            let line = self.screen.add(ProgressBar::new_spinner());
            line.set_style(style("waiting {elapsed}: {msg}"));
            line
        });
        line.set_message(text);
        line.tick();
    }

    /// Takes the bars off the screen.
    pub fn clear(&self) {
        // A terminal that is gone needs no clearing.
        let _ = self.screen.clear();
    }

    fn make_bars(&mut self) {
        if self.names.len() - 1 <= SCREEN {
            for (at, name) in self.names.iter().enumerate().skip(1) {
                let bar = self.screen.add(ProgressBar::new(self.length));
                bar.set_style(style("{prefix:>12} [{bar:30}] {bytes:>10} {msg}"));
                bar.set_prefix(name.clone());
                self.bars.push((NodeId(u32::try_from(at).unwrap_or(u32::MAX)), bar));
            }
        }
        self.all = self.screen.add(ProgressBar::new(self.length));
        self.all.set_style(style("{prefix:>12} [{bar:30}] {bytes:>10} {msg} {eta} left"));
        self.all.set_prefix("every node");
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

fn word(state: &NodeState) -> &'static str {
    match state {
        NodeState::Joining => "starting",
        NodeState::Ready => "",
        NodeState::Complete => "finishing",
        NodeState::Committed => "done",
        NodeState::Failed(_) => "failed",
        NodeState::Dead(_) => "dead",
    }
}
