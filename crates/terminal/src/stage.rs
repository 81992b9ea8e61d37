//! Full-screen mode of the terminal. A key, a signal or a panic ends it and restores the terminal.

use std::io::{self, Stdout, Write};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_sys::terminal;
use ratatui::{Frame, Terminal};

use super::canvas::Canvas;
use super::keys::{self, Key};

/// The control sequences to enter and leave xterm's alternate screen, with the cursor hidden.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// A terminal in full-screen mode.
pub struct Stage {
    terminal: Terminal<Canvas<Stdout>>,
    taken: Arc<Taken>,
    /// The beginning of an incomplete key sequence.
    unread: Vec<u8>,
}

/// The state of the terminal, which is restored when full-screen mode ends.
struct Taken {
    keys: Option<terminal::Keys>,
    given_back: AtomicBool,
}

impl Taken {
    fn give_back(&self) {
        // Leaving full-screen mode twice would move the cursor back over text printed in between.
        if self.given_back.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut output = io::stdout();
        // Errors, such as those of a closed terminal, are ignored.
        let _ = output.write_all(LEAVE.as_bytes()).and_then(|()| output.flush());
        self.keys.iter().for_each(terminal::Keys::give_back);
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Stage {
    /// Enters full-screen mode; returns `None` if standard output is not a terminal, or the
    /// terminal does not support control sequences.
    ///
    /// # Errors
    /// When the terminal cannot be written or configured.
    pub fn enter() -> io::Result<Option<Self>> {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if is_dumb || terminal::output_size().is_none() {
            return Ok(None);
        }
        let taken =
            Arc::new(Taken { keys: terminal::Keys::take()?, given_back: AtomicBool::new(false) });
        let weak = Arc::downgrade(&taken);
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            // The panic message must go to the normal screen.
            weak.upgrade().iter().for_each(|taken| taken.give_back());
            before(panic);
        }));
        let mut output = io::stdout();
        output.write_all(ENTER.as_bytes()).and_then(|()| output.flush())?;
        // https://no-color.org
        let coloured = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let terminal = Terminal::new(Canvas::new(output, coloured))?;
        Ok(Some(Self { terminal, taken, unread: Vec::new() }))
    }

    /// Returns the descriptor that is readable when a key was pressed; `None` if keys cannot be
    /// read.
    pub fn input() -> Option<BorrowedFd<'static>> {
        terminal::input()
    }

    /// Returns the keys that were pressed since the last call; none if keys cannot be read.
    ///
    /// # Errors
    /// When the terminal is closed.
    pub fn keys(&mut self) -> io::Result<Vec<Key>> {
        let Some(input) = &self.taken.keys else { return Ok(Vec::new()) };
        let mut room = [0; 256];
        let read = input.read(&mut room)?;
        self.unread.extend(&room[..read]);
        Ok(keys::take(&mut self.unread))
    }

    /// Draws the screen; only changes are sent.
    ///
    /// # Errors
    /// When the terminal is closed.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(drop)
    }
}
