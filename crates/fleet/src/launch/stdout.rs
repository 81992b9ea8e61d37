//! The standard output of a process that keeps an agent alive, or of a bridge to an agent: lines
//! until the agent is ready or reached, and then the bytes of a copy to standard output, those of
//! the agent, or nothing that anybody asked for.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::sync::Arc;

use garland_protocol::wire::{BridgeLine, ReadyLine};
use garland_sys::channel::Sender;
use garland_sys::socket::TcpStream;

use super::bootstrap::BootstrapLine;
use super::error::LaunchError;

/// The maximum length in bytes of the script's last line, such as `ENDED 255`.
const LAST_LINE: usize = 16;

/// The maximum length in bytes of a line. No line of the script or of an agent is as long; the rest
/// of another one is dropped.
const LINE_MAX: u64 = 64 << 10;

/// The maximum length in bytes of all lines until the agent is ready.
const LINES_MAX: usize = 8 << 20;

/// The maximum length in bytes of all lines of a task of a Slurm step; the rest is dropped.
const TASK_LINES_MAX: usize = 256 << 10;

/// The bytes that are read from a process at once.
const PIECE: usize = 64 << 10;

/// What a line takes in memory besides its bytes: many may be empty.
const LINE_COST: usize = 64;

/// Where the bytes go that a process prints after its lines.
#[derive(Clone, Debug, Default)]
pub enum Rest {
    /// Nowhere: another machine may print what it likes.
    #[default]
    Dropped,
    /// To this process's standard output.
    Output,
    /// Into this connection, which is shut down at their end.
    Connection(Arc<TcpStream>),
}

/// Reads the `output` of the `tasks` tasks of a Slurm step to its end, and tells the lines, each
/// with the number of its task. A task that says too much is not heard any more: others go on.
/// Lines with other numbers are none of a task, and share one limit: a node may make them up.
pub fn read_labelled(output: impl Read, tasks: usize, tell: &Sender<Result<String, LaunchError>>) {
    let mut output = BufReader::with_capacity(PIECE, output);
    let mut costs: HashMap<usize, usize> = HashMap::new();
    let mut unlabelled = 0;
    let mut is_heard = true;
    loop {
        let mut cost = 0;
        // srun itself says little.
        let Some(line) = next_line(&mut output, &mut cost) else { return };
        let so_far = match labelled(&line) {
            Some((task, _)) if task < tasks => costs.entry(task).or_default(),
            _ => &mut unlabelled,
        };
        *so_far += cost;
        if is_heard && *so_far <= TASK_LINES_MAX {
            // Nobody listens when all agents are started. A closed pipe would end them.
            is_heard = tell.send(Ok(line)).is_ok();
        }
    }
}

/// Splits a line of a Slurm step into the number of its task and the text; none if the line has no
/// number.
pub fn labelled(line: &str) -> Option<(usize, &str)> {
    let (label, text) = line.split_once(": ")?;
    Some((label.trim().parse().ok()?, text))
}

/// Reads `output` to its end. Tells the lines until the agent is ready or reached. What follows
/// goes to `rest`.
pub fn read(output: impl Read, tell: Sender<Result<String, LaunchError>>, rest: Rest) {
    let mut output = BufReader::with_capacity(PIECE, output);
    let told = tell_lines(&mut output, &tell);
    drop(tell);
    match (rest, told) {
        // A closed pipe could end the agent.
        (Rest::Dropped, Some(_)) => drop(io::copy(&mut output, &mut io::sink())),
        (Rest::Output, Some(is_marked)) => print(&mut output, is_marked),
        (Rest::Connection(connection), told) => {
            if told.is_some() {
                // Whoever has the other end learns only that it has ended.
                let _ = io::copy(&mut output, &mut &*connection);
            }
            let _ = connection.shut_down();
        }
        (_, None) => {}
    }
}

/// Passes `output` on to standard output. If `is_marked`, a line of the script follows the bytes.
fn print(output: &mut impl BufRead, is_marked: bool) {
    // Lock standard output only when there is output: a reader that waits with the lock would block
    // the readers of other agents.
    if matches!(output.fill_buf(), Ok([]) | Err(_)) {
        return;
    }
    let passed = pass_on(output, &mut io::stdout().lock(), is_marked);
    // If standard output is closed, the agent's own write error ends the copy.
    if passed.is_err_and(|error| error.kind() == ErrorKind::UnexpectedEof) {
        garland_terminal::errln!(
            "error: srun lost the last bytes of the copy to standard output; \
             copy to a file on the node instead"
        );
    }
}

/// Sends the lines up to the ready line to `tell`. Returns whether a line of the script follows the
/// bytes after it; `None` if no agent became ready.
fn tell_lines(
    output: &mut impl BufRead,
    tell: &Sender<Result<String, LaunchError>>,
) -> Option<bool> {
    let mut is_marked = false;
    let mut told = 0;
    loop {
        let line = next_line(output, &mut told)?;
        if told > LINES_MAX {
            let text = format!("it printed more than {LINES_MAX} bytes before its agent was ready");
            let _ = tell.send(Err(LaunchError::Refused(text)));
            return None;
        }
        let is_ready = ReadyLine::parse(&line).is_some() || BridgeLine::parse(&line).is_some();
        // In a Slurm step the script prints a line after the agent has ended.
        is_marked |= matches!(BootstrapLine::parse(&line), BootstrapLine::At(Some(_), _));
        let _ = tell.send(Ok(line));
        if is_ready {
            return Some(is_marked);
        }
    }
}

/// Returns the next line, or its beginning, and adds to `told` what it costs; `None` at the end.
fn next_line(output: &mut impl BufRead, told: &mut usize) -> Option<String> {
    let line = part_of_line(output, told)?;
    let mut is_whole = line.ends_with(b"\n");
    while !is_whole && *told <= LINES_MAX {
        is_whole = part_of_line(output, told).is_none_or(|rest| rest.ends_with(b"\n"));
    }
    Some(String::from_utf8_lossy(&line).into_owned())
}

/// Returns the next bytes up to the end of the line; `None` if there are none.
fn part_of_line(output: &mut impl BufRead, told: &mut usize) -> Option<Vec<u8>> {
    let mut part = Vec::new();
    let read = output.by_ref().take(LINE_MAX).read_until(b'\n', &mut part).ok()?;
    *told += read + LINE_COST;
    (read > 0).then_some(part)
}

/// Copies `output` to `to`. If `marked`, removes the script's last line, which follows the bytes.
/// srun forwards only complete lines reliably; this line shows that no bytes are lost.
///
/// # Errors
/// When reading or writing fails; `UnexpectedEof` when the last line is missing.
pub fn pass_on(output: &mut impl Read, to: &mut impl Write, marked: bool) -> io::Result<()> {
    if !marked {
        io::copy(output, to)?;
        return to.flush();
    }
    let mut buffer = vec![0; 64 << 10];
    let mut held = Vec::new();
    loop {
        let read = output.read(&mut buffer)?;
        if read == 0 {
            break;
        }
        held.extend(&buffer[..read]);
        let sure = held.len().saturating_sub(LAST_LINE);
        to.write_all(&held[..sure])?;
        held.drain(..sure);
    }
    let end = last_line(&held);
    to.write_all(&held[..end.unwrap_or(held.len())])?;
    to.flush()?;
    end.map(drop).ok_or_else(|| ErrorKind::UnexpectedEof.into())
}

/// Returns the offset of the script's last line at the end of `held`; none if it is incomplete.
fn last_line(held: &[u8]) -> Option<usize> {
    const WORD: &[u8] = b"ENDED ";
    let at = held.windows(WORD.len()).rposition(|part| part == WORD)?;
    let status = held[at + WORD.len()..].strip_suffix(b"\n")?;
    (!status.is_empty() && status.iter().all(u8::is_ascii_digit)).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(output: &[u8], marked: bool) -> (Vec<u8>, bool) {
        let mut to = Vec::new();
        let whole = pass_on(&mut &*output, &mut to, marked).is_ok();
        (to, whole)
    }

    #[test]
    fn the_scripts_last_line_is_removed() {
        let long = vec![b'E'; 200_000];
        for bytes in [&b""[..], b"x", b"ENDED ", b"ENDED 0\n", &long] {
            let marked = [bytes, b"ENDED 0\n"].concat();
            assert_eq!(passed(&marked, true), (bytes.to_vec(), true));
            assert_eq!(passed(bytes, false), (bytes.to_vec(), true));
        }
        assert_eq!(passed(b"half a line", true), (b"half a line".to_vec(), false));
    }

    #[test]
    fn a_task_that_prints_on_and_on_hides_no_line_of_others() {
        let long = format!("0: {}\n", "x".repeat(1000)).repeat(100_000);
        let text = format!("1: AT n2 -\n{long}no number\n1: last\n");
        let (tell, lines) = garland_sys::channel::channel();
        read_labelled(text.as_bytes(), 2, &tell);
        drop(tell);
        let mut others = Vec::new();
        let mut length = 0;
        while let Ok(line) = lines.recv() {
            let line = line.expect("a line").trim_end().to_owned();
            match line.starts_with("0: ") {
                true => length += line.len(),
                false => others.push(line),
            }
        }
        assert_eq!(others, ["1: AT n2 -", "no number", "1: last"]);
        assert!(length <= TASK_LINES_MAX, "{length}");
    }

    #[test]
    fn numbers_that_no_task_has_share_one_limit() {
        let made_up = |number: usize| format!("{number}: {}\n", "x".repeat(1000));
        let text: String = (2..2000).map(made_up).collect();
        let (tell, lines) = garland_sys::channel::channel();
        read_labelled(format!("{text}1: last\n").as_bytes(), 2, &tell);
        drop(tell);
        let lines: Vec<String> = std::iter::from_fn(|| lines.recv().ok()).flatten().collect();
        assert!(lines.iter().map(String::len).sum::<usize>() <= TASK_LINES_MAX);
        assert_eq!(lines.last().map(String::as_str), Some("1: last\n"));
    }

    #[test]
    fn the_rest_of_a_line_that_is_too_long_is_no_line() {
        let long = "x".repeat(LINE_MAX as usize);
        let text = format!("AT - -\n{long}REFUSED why\nNEED x86_64 -\nlast");
        let mut output = text.as_bytes();
        let mut told = 0;
        let lines: Vec<String> = std::iter::from_fn(|| next_line(&mut output, &mut told)).collect();
        assert_eq!(lines, ["AT - -\n", &long, "NEED x86_64 -\n", "last"]);
    }
}
