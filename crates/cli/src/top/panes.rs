//! The user's view: the chosen pane, the scroll positions, and the order of rows.

use garland_terminal::keys::{self, Key};

/// The panes, from the top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pane {
    Nodes,
    Lanes,
    Jobs,
}

impl Pane {
    pub const ALL: [Self; 3] = [Self::Nodes, Self::Lanes, Self::Jobs];
}

/// The order of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Nodes and jobs in the order of the node list; lanes by copy, then by number.
    #[default]
    Name,
    /// Nodes and lanes by falling rates; the jobs that have run longest first.
    Busiest,
}

/// The user's view.
#[derive(Default)]
pub struct Panes {
    /// The index of the chosen pane, which the keys scroll.
    chosen: usize,
    /// The first visible row of each pane.
    first: [usize; 3],
    /// The number of rows that fit into each pane.
    rooms: [usize; 3],
    pub order: Order,
    /// Whether the chosen pane is zoomed: shown alone.
    pub alone: bool,
    pub help: bool,
}

impl Panes {
    /// Returns the chosen pane.
    pub fn chosen(&self) -> Pane {
        Pane::ALL[self.chosen]
    }

    /// Handles a key; returns whether to end the command.
    pub fn obey(&mut self, key: Key) -> bool {
        let page = self.rooms[self.chosen].max(1);
        let first = &mut self.first[self.chosen];
        match key {
            Key::Char('q' | 'Q') | keys::INTERRUPT => return true,
            Key::Char('h' | '?') => self.help = !self.help,
            Key::Escape => (self.help, self.alone) = (false, false),
            Key::Char('\t') => self.chosen = (self.chosen + 1) % Pane::ALL.len(),
            Key::BackTab => self.chosen = (self.chosen + Pane::ALL.len() - 1) % Pane::ALL.len(),
            Key::Char('1') => self.chosen = 0,
            Key::Char('2') => self.chosen = 1,
            Key::Char('3') => self.chosen = 2,
            Key::Char('z') => self.alone = !self.alone,
            Key::Char('s') => {
                self.order = match self.order {
                    Order::Name => Order::Busiest,
                    Order::Busiest => Order::Name,
                };
            }
            Key::Up | Key::Char('k') => *first = first.saturating_sub(1),
            Key::Down | Key::Char('j') => *first = first.saturating_add(1),
            Key::PageUp => *first = first.saturating_sub(page),
            Key::PageDown | Key::Char(' ') => *first = first.saturating_add(page),
            Key::Home | Key::Char('g') => *first = 0,
            Key::End | Key::Char('G') => *first = usize::MAX,
            Key::Char(_) => {}
        }
        false
    }

    /// Returns the range of a pane's `rows` rows that is visible if `room` rows fit, and limits the
    /// scroll position so that the pane stays filled.
    pub fn shown(&mut self, pane: Pane, rows: usize, room: usize) -> std::ops::Range<usize> {
        let at = pane as usize;
        self.rooms[at] = room;
        self.first[at] = self.first[at].min(rows.saturating_sub(room));
        self.first[at]..rows.min(self.first[at] + room)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_scroll_the_chosen_pane_within_its_rows() {
        let mut panes = Panes::default();
        assert_eq!(panes.shown(Pane::Nodes, 100, 10), 0..10);
        assert!(!panes.obey(Key::PageDown) && !panes.obey(Key::Down));
        assert_eq!(panes.shown(Pane::Nodes, 100, 10), 11..21);
        panes.obey(Key::End);
        assert_eq!(panes.shown(Pane::Nodes, 100, 10), 90..100);
        panes.obey(Key::Up);
        assert_eq!(panes.shown(Pane::Nodes, 100, 10), 89..99);
        // The pane has fewer rows than before, and then more room than rows.
        assert_eq!(panes.shown(Pane::Nodes, 20, 10), 10..20);
        assert_eq!(panes.shown(Pane::Nodes, 3, 10), 0..3);
        panes.obey(Key::BackTab);
        assert_eq!(panes.chosen(), Pane::Jobs);
        panes.obey(Key::Down);
        assert_eq!((panes.shown(Pane::Nodes, 9, 3), panes.shown(Pane::Jobs, 9, 3)), (0..3, 1..4));
        panes.obey(Key::Char('\t'));
        assert_eq!(panes.chosen(), Pane::Nodes);
    }

    #[test]
    fn keys_that_end_end_and_others_do_not() {
        let mut panes = Panes::default();
        for key in [Key::Char('x'), Key::Char('s'), Key::Char('h'), Key::Escape, Key::Char('z')] {
            assert!(!panes.obey(key), "{key:?}");
        }
        assert!(panes.alone && !panes.help && panes.order == Order::Busiest);
        assert!(panes.obey(Key::Char('q')) && panes.obey(keys::INTERRUPT));
    }
}
