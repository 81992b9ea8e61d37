//! The whole terminal, for a command that draws on all of it. However it ends - a key, a signal, a panic -
//! the terminal is what it was.

use std::io::{self, Stdout, Write};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_sys::terminal;
use ratatui::{Frame, Terminal};

use super::canvas::Canvas;
use super::keys::{self, Key};

/// xterm's other screen, without a cursor; and back.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// A terminal to draw on.
pub struct Stage {
    terminal: Terminal<Canvas<Stdout>>,
    taken: Arc<Taken>,
    /// The beginning of a key that hasn't come whole.
    unread: Vec<u8>,
}

/// What has to be given back.
struct Taken {
    keys: Option<terminal::Keys>,
    given_back: AtomicBool,
}

impl Taken {
    fn give_back(&self) {
        // Twice would take the cursor back to where it was before what has been said since.
        if self.given_back.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut output = io::stdout();
        // One that is gone needs nothing.
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
    /// Takes the terminal; `None` where standard output isn't one, or is one that knows no control
    /// sequences.
    ///
    /// # Errors
    /// When the terminal refuses.
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
            // What it says would be gone with the other screen.
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

    /// What can be read when a key is pressed, if keys can be.
    pub fn input() -> Option<BorrowedFd<'static>> {
        terminal::input()
    }

    /// The keys that were pressed since the last call.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn keys(&mut self) -> io::Result<Vec<Key>> {
        let Some(input) = &self.taken.keys else { return Ok(Vec::new()) };
        let mut room = [0; 256];
        let read = input.read(&mut room)?;
        self.unread.extend(&room[..read]);
        Ok(keys::take(&mut self.unread))
    }

    /// Draws all of it; only what has changed is sent.
    ///
    /// # Errors
    /// When the terminal is gone.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(drop)
    }
}
