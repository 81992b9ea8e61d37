//! Draws the screen: a line of totals, the panes of nodes, lanes and jobs, and a line of keys.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};

use super::board::{Board, Node};
use super::figures::{Job, Lane, Limiter};
use super::lines;
use super::panes::{Order, Pane, Panes};
use super::rows;

/// The maximum width of a node's name, in columns.
const NAME: usize = 24;

/// The width of a bar, in columns.
const BAR: usize = 8;

/// The minimum width of a terminal, in columns, for which bars are drawn.
const ROOMY: u16 = 118;

/// The number of lines of a pane in addition to its rows: the border and the heading.
const AROUND: u16 = 3;

const HELP: [&str; 12] = [
    "q           end",
    "Tab, 1 2 3  choose a pane",
    "z, Esc      zoom the chosen pane, end the zoom",
    "arrows, PgUp, PgDn, Home, End",
    "            scroll the chosen pane",
    "s           order rows by name, or busiest first",
    "h, ?        show or hide this help",
    "",
    "A lane waits for whatever delays it most: its upstream",
    "(the wire or the sender), its downstream, the disk or",
    "the processor of the node. A lane that has everything",
    "waits for stable storage, or for other nodes.",
];

/// Draws the whole screen.
pub fn draw(frame: &mut Frame<'_>, board: &Board, panes: &mut Panes) {
    let whole = frame.area();
    let [top, middle, bottom] =
        Layout::vertical([Constraint::Length(1), Constraint::Min(0), Constraint::Length(1)])
            .areas(whole);
    frame.render_widget(summary(board, panes.order), top);
    let lane_rows = rows::lanes(board, panes.order);
    let job_rows = rows::jobs(board, panes.order);
    let counts = [board.nodes.len(), lane_rows.len(), job_rows.len()];
    for (pane, area) in Pane::ALL.into_iter().zip(areas(middle, counts, panes)) {
        match pane {
            Pane::Nodes => draw_nodes(frame, area, board, panes),
            Pane::Lanes => draw_lanes(frame, area, board, &lane_rows, panes),
            Pane::Jobs => draw_jobs(frame, area, board, &job_rows, panes),
        }
    }
    frame.render_widget(keys(), bottom);
    if panes.help {
        draw_help(frame, whole);
    }
}

/// Returns the areas of the panes. The panes of lanes and of jobs are as high as their rows need,
/// up to a third of `room` each; the pane of nodes has the rest. A zoomed pane has all of `room`.
fn areas(room: Rect, counts: [usize; 3], panes: &Panes) -> [Rect; 3] {
    if panes.alone {
        let nothing = Rect { height: 0, ..room };
        return Pane::ALL.map(|pane| if pane == panes.chosen() { room } else { nothing });
    }
    let wanted = |count: usize| {
        let rows = u16::try_from(count.max(1)).unwrap_or(u16::MAX);
        Constraint::Length(rows.saturating_add(AROUND).min(room.height / 3))
    };
    let [_, lanes, jobs] = counts;
    Layout::vertical([Constraint::Min(0), wanted(lanes), wanted(jobs)]).areas(room)
}

fn summary(board: &Board, order: Order) -> Line<'static> {
    let sum = |of: fn(&super::figures::Figures) -> f64| rows::sum(board, of);
    let order = match order {
        Order::Name => "by name",
        Order::Busiest => "busiest first",
    };
    let text = format!(
        "{} nodes, in {:.1} MB/s, out {:.1} MB/s; {order}",
        board.nodes.len(),
        lines::mega(sum(|figures| figures.received())),
        lines::mega(sum(|figures| figures.sent())),
    );
    Line::from(vec![" garland top ".reversed(), Span::raw(" "), Span::raw(text)])
}

fn keys() -> Line<'static> {
    Line::from(" q end  Tab pane  arrows scroll  s order  z zoom  h help").dim()
}

/// What a pane shows.
struct Contents<'a> {
    pane: Pane,
    /// The text in the border, without the pane's number.
    title: String,
    /// The line above the rows.
    heading: String,
    /// The number of rows.
    count: usize,
    /// Returns the row with this index.
    row: &'a dyn Fn(usize) -> Line<'static>,
}

/// Draws a pane's border, its heading, and the rows that fit.
fn draw_pane(frame: &mut Frame<'_>, area: Rect, panes: &mut Panes, contents: Contents<'_>) {
    let Contents { pane, title, heading, count, row } = contents;
    if area.height == 0 {
        return;
    }
    let is_chosen = panes.chosen() == pane;
    let room = usize::from(area.height.saturating_sub(AROUND));
    let shown = panes.shown(pane, count, room);
    let mut block = Block::bordered().title(format!(" {} {title} ", pane as usize + 1));
    if shown.len() < count {
        let hidden = count - shown.len();
        let last = shown.end;
        let first = (shown.start + 1).min(last);
        block = block.title_bottom(format!(" {first} to {last}, and {hidden} more "));
    }
    block = block.border_style(if is_chosen { Style::new().bold() } else { Style::new().dim() });
    let mut text = vec![Line::from(heading).bold()];
    text.extend(shown.map(row));
    let inside = block.inner(area);
    let cut: Vec<bool> = text.iter().map(|line| line.width() > usize::from(inside.width)).collect();
    frame.render_widget(Paragraph::new(text).block(block), area);
    // Mark lines that are cut off because the terminal is too narrow.
    for (y, _) in inside.rows().zip(cut).filter(|(_, cut)| *cut) {
        if let Some(last) = frame.buffer_mut().cell_mut((y.right().saturating_sub(1), y.y)) {
            last.set_symbol("…");
        }
    }
}

fn draw_nodes(frame: &mut Frame<'_>, area: Rect, board: &Board, panes: &mut Panes) {
    let rows = rows::nodes(board, panes.order);
    let names = rows.iter().map(|node| node.name.chars().count());
    let width = names.max().unwrap_or(0).clamp(4, NAME);
    let unknown = rows.iter().filter(|node| node.figures.is_none()).count();
    let mut title = format!("nodes: {}", rows.len());
    if unknown > 0 {
        title += &format!(", {unknown} without data");
    }
    let figures = || rows.iter().filter_map(|node| node.figures.as_ref());
    let most = figures().map(|it| it.received().max(it.sent())).fold(1e6, f64::max);
    let bars = area.width >= ROOMY;
    let heading = if bars {
        let heading = lines::node_heading(width);
        let (one, other) = heading.split_at(width + 10);
        let (two, rest) = other.split_at(10);
        format!("{one} {:BAR$}{two} {:BAR$}{rest}", "", "")
    } else {
        lines::node_heading(width)
    };
    let row = |at: usize| node_row(rows[at], width, bars.then_some(most));
    let contents = Contents { pane: Pane::Nodes, title, heading, count: rows.len(), row: &row };
    draw_pane(frame, area, panes, contents);
}

fn node_row(node: &Node, width: usize, most: Option<f64>) -> Line<'static> {
    let name = fit(&node.name, width);
    let Some(figures) = &node.figures else {
        let why = node.lost.as_deref().unwrap_or("no data yet");
        let line = Line::from(format!("{name} {why}"));
        return if node.lost.is_some() { line.red() } else { line.dim() };
    };
    let text = lines::node(&name, width, figures);
    let Some(most) = most else { return Line::from(text) };
    let at = |column: usize| text.char_indices().nth(column).map_or(text.len(), |(at, _)| at);
    let one = at(width + 10);
    let two = at(width + 20);
    Line::from(vec![
        Span::raw(text[..one].to_owned()),
        Span::styled(format!(" {}", bar(figures.received() / most)), Color::Cyan),
        Span::raw(text[one..two].to_owned()),
        Span::styled(format!(" {}", bar(figures.sent() / most)), Color::Magenta),
        Span::raw(text[two..].to_owned()),
    ])
}

fn draw_lanes(
    frame: &mut Frame<'_>,
    area: Rect,
    board: &Board,
    rows: &[(&Node, &Lane)],
    panes: &mut Panes,
) {
    let mut copies: Vec<&str> = rows.iter().map(|(_, lane)| lane.copy.as_str()).collect();
    copies.sort_unstable();
    copies.dedup();
    let mut title = match copies.len() {
        0 => "lanes: no copy is running".to_owned(),
        1 => format!("lanes on all nodes: {}, of 1 copy", rows.len()),
        several => format!("lanes on all nodes: {}, of {several} copies", rows.len()),
    };
    let longest = rows.iter().filter_map(|(_, lane)| lane.left).reduce(f64::max);
    if let Some(time) = lines::left(longest) {
        title += &format!("; {time} left");
    }
    let unreported = rows::sum(board, |figures| figures.more_lanes.into());
    let silent = rows::sum(board, |figures| figures.silent.into());
    if unreported > 0.0 {
        title += &format!(", and {unreported} more that did not fit into the nodes' reports");
    }
    if silent > 0.0 {
        title += &format!("; agents that do not answer: {silent}");
    }
    let width = name_width(rows.iter().map(|(node, _)| node.name.as_str()));
    let bars = if area.width >= ROOMY { BAR + 1 } else { 0 };
    let heading = format!(
        "{:<10} {:<width$} {:>bars$}{:>5} {:>6} {:>9} {:>9}  {:<20} to or from",
        "copy.lane", "node", "", "has", "left", "in MB/s", "out MB/s", "waits for"
    );
    let row = |at: usize| lane_row(rows[at].0, rows[at].1, width, bars > 0);
    let contents = Contents { pane: Pane::Lanes, title, heading, count: rows.len(), row: &row };
    draw_pane(frame, area, panes, contents);
}

fn lane_row(node: &Node, lane: &Lane, width: usize, bars: bool) -> Line<'static> {
    let name = fit(&node.name, width);
    let share = lane.length.map(|length| lane.held as f64 / length.max(1) as f64);
    let has = match lane.length {
        Some(length) => format!("{} %", lines::percent(lane.held, length)),
        None => "?".to_owned(),
    };
    let id = format!("{}.{}", lane.copy, lane.number);
    let drawn_bar = if bars { bar(share.unwrap_or(0.0)) + " " } else { String::new() };
    let time = lines::left(lane.left).unwrap_or_default();
    let received = lines::mega(lane.received);
    let sent = lines::mega(lane.sent);
    let rates = format!("{has:>5} {time:>6} {received:>9.1} {sent:>9.1}  ");
    let part = lane.share.map_or_else(String::new, |share| format!(" {:.0} %", share * 100.0));
    let waits = format!("{:<20} ", format!("{}{part}", lane.limiter.word()));
    Line::from(vec![
        Span::raw(format!("{id:<10} {name} ")),
        Span::styled(drawn_bar, Color::Green),
        Span::raw(rates),
        Span::styled(waits, colour(lane.limiter)),
        Span::raw(lane.name.clone()),
    ])
}

fn colour(limiter: Limiter) -> Color {
    match limiter {
        Limiter::Upstream => Color::Cyan,
        Limiter::Downstream => Color::Magenta,
        Limiter::Disk | Limiter::Stable => Color::Yellow,
        Limiter::Processor => Color::Red,
        _ => Color::Reset,
    }
}

fn draw_jobs(
    frame: &mut Frame<'_>,
    area: Rect,
    board: &Board,
    rows: &[(&Node, &Job)],
    panes: &mut Panes,
) {
    let unreported = rows::sum(board, |figures| figures.more_jobs.into());
    let waiting = rows::sum(board, |figures| figures.waiting.into());
    let mut title = match rows.len() {
        0 => "jobs: none".to_owned(),
        some => format!("running jobs: {some}"),
    };
    if unreported > 0.0 {
        title += &format!(", and {unreported} more that did not fit into the nodes' reports");
    }
    if waiting > 0.0 {
        title += &format!("; waiting for a processor: {waiting}");
    }
    let width = name_width(rows.iter().map(|(node, _)| node.name.as_str()));
    let heading =
        format!("{:>10} {:<width$} {:>9} {:>5}  command", "job", "node", "seconds", "cores");
    let row = |at: usize| {
        let (node, job) = rows[at];
        let name = fit(&node.name, width);
        let Job { number, command, cores, seconds } = job;
        Line::from(format!("{number:>10} {name} {seconds:>9.0} {cores:>5}  {command}"))
    };
    let contents = Contents { pane: Pane::Jobs, title, heading, count: rows.len(), row: &row };
    draw_pane(frame, area, panes, contents);
}

fn draw_help(frame: &mut Frame<'_>, whole: Rect) {
    let width = HELP.iter().map(|line| line.len()).max().unwrap_or(0) + 4;
    let width = u16::try_from(width).unwrap_or(u16::MAX).min(whole.width);
    let height = u16::try_from(HELP.len() + 2).unwrap_or(u16::MAX).min(whole.height);
    let x = (whole.width - width) / 2;
    let y = (whole.height - height) / 2;
    let area = Rect { x, y, width, height };
    let text: Vec<Line<'_>> = HELP.iter().map(|line| Line::from(format!(" {line}"))).collect();
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(text).block(Block::bordered().title(" keys ")), area);
}

fn name_width<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or(0).clamp(4, NAME)
}

/// Pads a name to `width` columns, or cuts it there and marks the cut.
fn fit(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return format!("{name:<width$}");
    }
    name.chars().take(width - 1).chain(['…']).collect()
}

/// Returns a bar for `share` (0 to 1), with a resolution of an eighth of a column.
fn bar(share: f64) -> String {
    const EIGHTHS: [char; 9] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
    let eighths = (share.clamp(0.0, 1.0) * (8 * BAR) as f64).round() as usize;
    (0..BAR).map(|at| EIGHTHS[eighths.saturating_sub(8 * at).min(8)]).collect()
}

#[cfg(test)]
mod tests;
