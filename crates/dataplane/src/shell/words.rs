//! The last lines that a command says on its standard error.

use std::io::{self, Read};
use std::process::ChildStderr;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use garland_sys::threads;

/// So many bytes are kept, and so many lines of them shown.
const KEPT: usize = 2048;
const LINES: usize = 3;
const SHOWN: usize = 300;

/// What is still on its way when the command has ended is waited for so long: something that it left
/// running may keep its standard error open.
const LATE: Duration = Duration::from_millis(200);

/// Reads them as they come, from a thread of its own.
pub struct LastWords(Arc<Heard>);

#[derive(Default)]
struct Heard {
    /// The last bytes, and whether these are all.
    said: Mutex<(Vec<u8>, bool)>,
    over: Condvar,
}

impl LastWords {
    /// Listens to `pipe`.
    ///
    /// # Errors
    /// When the system makes no thread for it.
    pub fn of(mut pipe: ChildStderr) -> io::Result<Self> {
        let heard = Arc::<Heard>::default();
        let its = Arc::clone(&heard);
        threads::spawn("words", move || {
            let mut buffer = [0; KEPT];
            loop {
                let read = pipe.read(&mut buffer);
                let mut said = its.said.lock().unwrap_or_else(PoisonError::into_inner);
                match read {
                    Ok(read @ 1..) => {
                        said.0.extend(&buffer[..read]);
                        let surplus = said.0.len().saturating_sub(KEPT);
                        said.0.drain(..surplus);
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Ok(0) | Err(_) => {
                        said.1 = true;
                        its.over.notify_all();
                        return;
                    }
                }
            }
        })?;
        Ok(Self(heard))
    }

    /// The last lines, as one.
    pub fn into_text(self) -> String {
        let said = self.0.said.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.over.wait_timeout_while(said, LATE, |(_, over)| !*over);
        let (said, _) = waited.unwrap_or_else(PoisonError::into_inner);
        last_lines(&said.0)
    }
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut last: Vec<&str> = lines.rev().take(LINES).collect();
    last.reverse();
    // A terminal's line, whatever the command said.
    let mut text: String =
        last.join("; ").chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if let Some((surplus, _)) = text.char_indices().rev().nth(SHOWN) {
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
