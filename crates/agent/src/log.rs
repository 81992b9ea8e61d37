//! The log of an agent for events that are not reported to a head. It goes to standard error, which
//! is a file for a standing agent.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use garland_core::printable;
use garland_sys::sync::Mutex;

/// The size in bytes above which a log is truncated.
const MAX: u64 = 256 << 10;

/// The number of bytes at the end of a log that are kept.
const KEPT_LOG_BYTES: usize = 64 << 10;

/// Writes a line to the agent's log. Errors are ignored: standard error may be a pipe without a
/// reader.
pub fn log(line: &str) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock();
    // Parts of the line may come from untrusted peers, and it may be shown on a terminal.
    let _ = writeln!(io::stderr(), "{}", printable::text(line));
    if let Ok(fd) = io::stderr().as_fd().try_clone_to_owned() {
        // Fails for logs that are not files, such as pipes.
        let _ = cut(&File::from(fd));
    }
}

/// Truncates a log that has become too long to the lines within its last [`KEPT_LOG_BYTES`] bytes.
/// The file must be open for appending.
fn cut(log: &File) -> io::Result<()> {
    let stat = log.metadata()?;
    if !stat.is_file() || stat.len() <= MAX {
        return Ok(());
    }
    let mut end = vec![0; KEPT_LOG_BYTES];
    log.read_exact_at(&mut end, stat.len() - KEPT_LOG_BYTES as u64)?;
    let line = end.iter().position(|&byte| byte == b'\n').map_or(0, |at| at + 1);
    log.set_len(0)?;
    let mut log = log;
    log.write_all(&end[line..])
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;

    use super::*;

    #[test]
    fn a_long_log_keeps_its_end() {
        let path = std::env::temp_dir().join(format!("garland-agent-log-{}", std::process::id()));
        let mut log = OpenOptions::new().create(true).read(true).append(true).open(&path).unwrap();
        for number in 0..40_000 {
            writeln!(log, "line {number}").unwrap();
            cut(&log).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(text.len() as u64 <= MAX, "{} bytes", text.len());
        assert!(text.starts_with("line ") && text.ends_with("line 39998\nline 39999\n"));
    }
}
