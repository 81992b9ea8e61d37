//! Which nodes hold up the input of the others.

use garland_core::cluster::nodelist;
use garland_sys::clock;
use garland_terminal::output;
use garland_terminal::screen::Screen;

/// Prints which nodes hold up the input: in a line on the terminal while they do, or, without a
/// terminal, once.
pub struct Waiting<'a> {
    names: &'a [String],
    screen: Screen,
    is_told: bool,
}

impl<'a> Waiting<'a> {
    /// Creates the line for the nodes with these `names`. It is not redrawn if `is_quiet`.
    pub fn new(names: &'a [String], is_quiet: bool) -> Self {
        Self { names, screen: Screen::new(is_quiet), is_told: false }
    }

    /// Shows that the nodes with these indexes hold up the others.
    pub fn show(&mut self, nodes: &[usize]) {
        if nodes.is_empty() {
            return self.clear();
        }
        let names: Vec<&str> = nodes.iter().map(|node| self.names[*node].as_str()).collect();
        let list = nodelist::fold(&names);
        let text = match nodes {
            [_] => format!("standard input waits for {list}, whose command does not read it"),
            _ => format!("standard input waits for {list}, whose commands do not read it"),
        };
        if !self.screen.is_hidden() {
            self.screen.draw(clock::now_ns(), &[text]);
        } else if !std::mem::replace(&mut self.is_told, true) {
            output::warn(format!("note: {text}\n"));
        }
    }

    /// Removes the line, before anything else is printed.
    pub fn clear(&mut self) {
        self.screen.clear();
    }
}
