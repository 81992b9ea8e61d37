//! The screen on terminals of all sizes.

use garland_protocol::copy::CopyId;
use garland_protocol::measure::{
    Account, CopyView, JobView, KernelCounts, LaneView, NicCounts, NodeView, Waits,
};
use garland_terminal::keys::Key;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;

const SECOND: u64 = 1_000_000_000;

/// Returns the view of a node that takes part in a copy over two lanes and runs a job, `at` seconds
/// after the first sample.
fn view(node: u64, at: u64) -> Box<NodeView> {
    let nic = NicCounts {
        name: "eth0".to_owned(),
        received: at * (node + 1) * 1_000_000,
        sent: at * 500_000,
    };
    let kernel = KernelCounts { nics: vec![nic], ..KernelCounts::default() };
    let lane = |lane: u16| LaneView {
        lane,
        came: at * 4_000_000,
        went: 0,
        waits: Some(Waits { up: at * SECOND * 9 / 10, ..Waits::default() }),
    };
    let copy = CopyView {
        copy: CopyId([0xab; 16]),
        name: "/data/model.bin".to_owned(),
        is_source: false,
        held: 25 * at,
        blocks: Some(100),
        length: Some(100 << 20),
        block_size: 1 << 20,
        finishing: false,
        lanes: vec![lane(0), lane(1)],
    };
    let job = u32::try_from(node).unwrap() + 1;
    let job = JobView { job, command: "sleep 60".to_owned(), cores: 2, running_ns: 7 * SECOND };
    let account = Account { copies: vec![copy], jobs: vec![job], ..Account::default() };
    Box::new(NodeView { at_ns: (at + 1) * SECOND, kernel, account, silent: 0 })
}

/// A board of `nodes` nodes with two samples each.
fn board_of(nodes: u64) -> Board {
    let mut board = Board::new((1..=nodes).map(|node| format!("n{node:03}")));
    for at in 0..nodes {
        assert!(!board.add(at as usize, view(at, 0)));
        assert!(board.add(at as usize, view(at, 1)));
    }
    board
}

fn drawn(board: &Board, panes: &mut Panes, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, board, panes)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| -> String { (0..width).map(|x| buffer[(x, y)].symbol()).collect() };
    (0..height).map(|y| format!("{}\n", line(y).trim_end())).collect()
}

#[test]
fn a_screen_has_nodes_lanes_and_jobs() {
    let mut board = board_of(2);
    board.lose(1, "its agent exited or was killed".to_owned());
    insta::assert_snapshot!(drawn(&board, &mut Panes::default(), 130, 24));
}

#[test]
fn what_has_no_room_is_counted_and_can_be_scrolled_to() {
    let board = board_of(2000);
    let mut panes = Panes::default();
    let screen = drawn(&board, &mut panes, 100, 40);
    assert!(screen.contains(" 1 nodes: 2000 ") && screen.contains("n001 "), "{screen}");
    // Of 38 lines, a third each is for lanes and jobs, including their borders.
    assert!(screen.contains(" 1 to 11, and 1989 more "), "{screen}");
    assert!(screen.contains("lanes on all nodes: 4000, of 1 copy"), "{screen}");
    assert!(screen.contains(" 1 to 9, and 3991 more "), "{screen}");
    panes.obey(Key::End);
    let screen = drawn(&board, &mut panes, 100, 40);
    assert!(screen.contains("│n2000 ") && screen.contains(" 1990 to 2000, and"), "{screen}");
    panes.obey(Key::Home);
    panes.obey(Key::Char('s'));
    let screen = drawn(&board, &mut panes, 100, 40);
    let busiest = screen.lines().position(|line| line.contains("│n2000 ")).unwrap();
    assert_eq!(busiest, 3, "{screen}");
    panes.obey(Key::Char('3'));
    panes.obey(Key::Char('z'));
    let screen = drawn(&board, &mut panes, 100, 40);
    assert!(!screen.contains("nodes: 2000") && screen.contains(" 1 to 35, and 1965"), "{screen}");
}

#[test]
fn a_terminal_of_any_size_is_drawn_on() {
    let board = board_of(5);
    for (width, height) in [(1, 1), (2, 2), (10, 3), (30, 5), (80, 4), (3, 60), (500, 300)] {
        let mut panes = Panes::default();
        for key in [Key::Char('x'), Key::Char('h'), Key::End, Key::Char('z')] {
            panes.obey(key);
            let _ = drawn(&board, &mut panes, width, height);
        }
    }
}

#[test]
fn what_is_too_wide_shows_that_it_is() {
    let screen = drawn(&board_of(1), &mut Panes::default(), 60, 24);
    let lane = screen.lines().find(|line| line.contains("ababab.0")).unwrap();
    assert!(lane.ends_with("…│"), "{screen}");
}

#[test]
fn bars_are_as_long_as_their_share() {
    assert_eq!([bar(0.0), bar(1.0), bar(7.0)], ["        ", "████████", "████████"]);
    assert_eq!([bar(0.5), bar(1.0 / 64.0)], ["████    ", "▏       "]);
    assert_eq!([fit("node", 6), fit("node-0815", 6)], ["node  ", "node-…"]);
}
