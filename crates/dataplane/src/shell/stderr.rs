//! Keeps the last lines that a command writes to its standard error.

use std::io::{self, Read};
use std::process::ChildStderr;
use std::sync::Arc;
use std::time::Duration;

use garland_sys::sync::{Condvar, Mutex};
use garland_sys::threads;

/// The maximum number of bytes that are kept; at most `LINES` lines of them, and
/// `MAX_SHOWN_CHARACTERS` characters, are shown.
const MAX_KEPT_BYTES: usize = 2048;
const LINES: usize = 3;
const MAX_SHOWN_CHARACTERS: usize = 300;

/// How long to wait for the end of the pipe once the command has ended: a process that the command
/// has started may keep the pipe open.
const PIPE_END_TIMEOUT: Duration = Duration::from_millis(200);

/// The last bytes of a command's standard error, which is read by a separate thread.
pub struct StderrTail(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// The last bytes read, and whether the end of the pipe was reached.
    tail: Mutex<(Vec<u8>, bool)>,
    over: Condvar,
}

impl StderrTail {
    /// Starts a thread that reads `pipe` to its end.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn start(mut pipe: ChildStderr) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let its = Arc::clone(&shared);
        threads::spawn("stderr", move || {
            let mut buffer = [0; MAX_KEPT_BYTES];
            loop {
                let read = pipe.read(&mut buffer);
                let mut tail = its.tail.lock();
                match read {
                    Ok(read @ 1..) => {
                        tail.0.extend(&buffer[..read]);
                        let surplus = tail.0.len().saturating_sub(MAX_KEPT_BYTES);
                        tail.0.drain(..surplus);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => {
                        tail.1 = true;
                        its.over.notify_all();
                        return;
                    }
                }
            }
        })?;
        Ok(Self(shared))
    }

    /// Waits briefly for the end of the pipe. Returns the last lines, joined by semicolons.
    pub fn into_text(self) -> String {
        let mut tail = self.0.tail.lock();
        let _ = self.0.over.wait_while_for(&mut tail, |(_, over)| !*over, PIPE_END_TIMEOUT);
        last_lines(&tail.0)
    }
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut last: Vec<&str> = lines.rev().take(LINES).collect();
    last.reverse();
    // Control characters must not reach the terminal.
    let mut text: String =
        last.join("; ").chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if let Some((surplus, _)) = text.char_indices().rev().nth(MAX_SHOWN_CHARACTERS) {
        text = format!("..{}", &text[surplus..]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::last_lines;

    #[test]
    fn lines_are_few_short_and_fit_for_a_terminal() {
        assert_eq!(last_lines(b"a\n\nb\x1b[2J\r\n  c\nd\n"), "b [2J; c; d");
        assert_eq!(last_lines(b""), "");
        let long = last_lines("ü".repeat(500).as_bytes());
        assert!(long.starts_with("..ü") && long.chars().count() <= 303, "{long}");
    }
}
