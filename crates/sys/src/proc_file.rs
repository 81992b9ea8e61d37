//! Files of `/proc` that have names in them: of mounted directories and of programs, which need not
//! be UTF-8 text. One such name must not hide all others.

use std::fs;
use std::io;
use std::path::Path;

/// Reads a file of `/proc`. Bytes that are no UTF-8 are replaced.
///
/// # Errors
/// When it cannot be read.
pub fn read(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_cut_within_a_letter_hides_nothing() {
        // 15 bytes are kept of the name of a program: here a letter of two is cut.
        fs::write("/proc/thread-self/comm", "01234567890123\u{fc}").unwrap();
        assert!(fs::read_to_string("/proc/thread-self/status").is_err());
        let status = read("/proc/thread-self/status").unwrap();
        assert!(status.contains("Name:\t01234567890123") && status.contains("\nUid:"), "{status}");
    }
}
