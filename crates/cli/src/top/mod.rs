//! `garland top`: shows the activity of nodes. Agents sample the kernel's counters and the work of
//! all agents on their node; nothing remains on the nodes when the command ends.

mod board;
mod draw;
mod figures;
mod lines;
mod metrics;
mod panes;
mod rows;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use garland_commands::args::Top;
use garland_control::Session;
use garland_fleet::builder::FleetBuilder;
use garland_fleet::context::Context;
use garland_fleet::inventory::Inventory;
use garland_fleet::launch::{END_TIMEOUT, INTERRUPTED_END_TIMEOUT};
use garland_protocol::operation::View;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::clock;
use garland_sys::signal::Interrupts;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use garland_terminal::stage::Stage;
use garland_terminal::verdicts::folded;

use self::board::Board;
use self::panes::Panes;

/// The minimum interval between redraws, in nanoseconds.
const EVERY_NS: u64 = 100_000_000;

/// The interval between updates of the file for Prometheus, in nanoseconds.
const METRICS_NS: u64 = 1_000_000_000;

/// Shows nodes until the user ends the command, or `--count` updates were shown.
pub fn run(context: &Context, top: &Top) -> Result<Exit, Failure> {
    let interrupts = Arc::new(Interrupts::catch().or_nothing("cannot catch Ctrl-C")?);
    let inventory = Inventory::open(context)?;
    let nodes = inventory.nodes(&top.nodes)?;
    let places = Places::open()?;
    let lab = top.launch.enter_lab(&nodes, &places)?;
    let run = Run::begin(&places, "top")?;
    let builder = FleetBuilder {
        interrupts: Some(Arc::clone(&interrupts)),
        ..FleetBuilder::new(&nodes, &inventory, &places, &top.launch, &run, lab.as_ref())
    };
    let fleet = builder.assemble()?;
    let stage = Stage::enter().or_nothing("cannot switch the terminal to full screen")?;
    let mut show = Show {
        board: Board::new(nodes.iter().map(|node| node.name.clone())),
        panes: Panes::default(),
        stage,
        metrics: top.metrics.clone(),
        places: &places,
        written_ns: 0,
        count: top.count,
        drawn_ns: 0,
        interrupted: false,
        write_error: None,
    };
    let view = View::new(nodes.len(), Duration::from_nanos(top.interval.0));
    let mut session = Session::new(fleet.agents, Some(&interrupts)).with_wakes(Stage::input());
    session.run(view, &mut |view| show.observe(view)).or_nothing("cannot watch the nodes")?;
    show.interrupted |= session.interrupted();
    drop(session);
    let Show { board, stage, interrupted, write_error, .. } = show;
    // Leave full screen: the remaining output is printed on the normal screen.
    drop(stage);
    fleet.children.end(if interrupted { INTERRUPTED_END_TIMEOUT } else { END_TIMEOUT }, |_| false);
    // A closed pipe is not an error: its reader has read all that it wanted.
    if let Some(error) = write_error.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        return Err(error).or_nothing("cannot write the figures");
    }
    let lost: Vec<_> = board.nodes.iter().filter(|node| node.lost.is_some()).collect();
    let verdicts = lost.iter().map(|node| ("failed", node.lost.as_deref(), node.name.as_str()));
    output::warn(folded(verdicts));
    Ok(match lost.len() {
        0 => Exit::Done,
        some if some == board.nodes.len() => Exit::Nothing,
        _ => Exit::SomeFailed,
    })
}

/// The state of the display.
struct Show<'a> {
    board: Board,
    panes: Panes,
    /// The full-screen display; `None` without a terminal: then lines are printed.
    stage: Option<Stage>,
    /// The file with the figures for Prometheus, if there is one; then no lines are printed.
    metrics: Option<PathBuf>,
    places: &'a Places,
    /// When this file was last written, in nanoseconds of the monotonic clock.
    written_ns: u64,
    count: Option<u32>,
    /// When the screen was last drawn, in nanoseconds of the monotonic clock; 0 forces a redraw.
    drawn_ns: u64,
    /// Whether the user has ended the command.
    interrupted: bool,
    /// The error that occurred when a line was written.
    write_error: Option<io::Error>,
}

impl Show<'_> {
    /// Handles the new samples of nodes and the user's keys, and stops `view` when the command is
    /// complete.
    fn observe(&mut self, view: &mut View) {
        for (at, news) in view.take_news() {
            match news {
                Ok(node) => {
                    if self.board.add(at, node) {
                        self.write_error = self.print(at).err();
                    }
                }
                Err(reason) => self.board.lose(at, reason),
            }
            if self.is_complete() {
                self.write_error = self.write_error.take().or(self.write_metrics().err());
                return view.stop();
            }
        }
        if clock::now_ns().saturating_sub(self.written_ns) >= METRICS_NS {
            self.write_error = self.write_metrics().err();
        }
        self.interrupted |= self.obey_keys() || self.draw().is_err();
        if self.interrupted {
            view.stop();
        }
    }

    /// Returns whether all requested updates have been shown, or no further ones can be shown.
    fn is_complete(&self) -> bool {
        let is_full = self.count.is_some_and(|count| self.board.has_updates(count));
        let all_lost = self.board.nodes.iter().all(|node| node.lost.is_some());
        is_full || all_lost || self.write_error.is_some()
    }

    /// Writes the figures of all nodes to the file for Prometheus, if there is one.
    fn write_metrics(&mut self) -> io::Result<()> {
        self.written_ns = clock::now_ns();
        self.metrics.as_ref().map_or(Ok(()), |path| metrics::write(path, &self.board, self.places))
    }

    /// Prints the new figures of the node with index `at`, unless there is a full screen or a file.
    fn print(&self, at: usize) -> io::Result<()> {
        if self.metrics.is_some() {
            return Ok(());
        }
        let node = &self.board.nodes[at];
        let is_wanted = self.count.is_none_or(|count| node.updates <= count);
        let (Some(figures), None, true) = (&node.figures, &self.stage, is_wanted) else {
            return Ok(());
        };
        let mut output = io::stdout().lock();
        output.write_all(output::readable(&lines::all(&node.name, figures)).as_bytes())?;
        output.flush()
    }

    /// Handles key presses; returns whether to end the command.
    fn obey_keys(&mut self) -> bool {
        let Some(stage) = &mut self.stage else { return false };
        // A closed terminal ends the command, too.
        let Ok(keys) = stage.keys() else { return true };
        let mut ends = false;
        for key in keys {
            ends |= self.panes.obey(key);
            self.drawn_ns = 0;
        }
        ends
    }

    fn draw(&mut self) -> io::Result<()> {
        let now = clock::now_ns();
        let Some(stage) = &mut self.stage else { return Ok(()) };
        if now.saturating_sub(self.drawn_ns) < EVERY_NS {
            return Ok(());
        }
        self.drawn_ns = now;
        let board = &self.board;
        let panes = &mut self.panes;
        stage.draw(|frame| draw::draw(frame, board, panes))
    }
}
