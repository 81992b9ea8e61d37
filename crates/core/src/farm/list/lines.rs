//! Job lists with one command per line. Empty lines and lines that begin with `#` are ignored.

use super::{ListError, numbered};
use crate::farm::{Command, Job, Text};

/// Bytes that have, or may have, a special meaning in a shell.
const MEANT: &[u8] = b"|&;<>()$`\\\"'*?[]#~=%!{}\n\r";

/// Commands and keywords that a shell runs itself, even if a program of that name exists.
const BUILT_IN: [&str; 48] = [
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "do", "done", "echo",
    "elif", "else", "esac", "eval", "exec", "exit", "export", "fc", "fg", "fi", "for", "function",
    "getopts", "hash", "if", "jobs", "local", "read", "readonly", "return", "select", "set",
    "shift", "source", "then", "time", "times", "trap", "type", "ulimit", "umask", "unalias",
    "unset", "until", "wait", "while",
];

/// Parses a list with one command per line.
///
/// # Errors
/// If the list has no jobs, or too many.
pub fn parse_lines(text: &[u8]) -> Result<Vec<Job>, ListError> {
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    numbered(lines.map(|line| Job::new(0, Text::from(line), command(line))).collect())
}

/// Returns the command of a line. A line runs without a shell unless it has special characters or
/// begins with a built-in command of the shell: starting a shell can take as long as a small job.
fn command(line: &[u8]) -> Command {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let plain = !line.iter().any(|byte| MEANT.contains(byte));
    let first = words.next().unwrap_or_default();
    let built_in = BUILT_IN.iter().any(|word| word.as_bytes() == first);
    if !plain || built_in {
        return Command::Line(Text::from(line));
    }
    Command::Words(std::iter::once(first).chain(words).map(Text::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_job() {
        let jobs = parse_lines(b"\n# nothing\n  sleep  1\t2\nexit 3\nls >x\r\n\xff \n").unwrap();
        let words =
            |words: &[&[u8]]| Command::Words(words.iter().map(|&word| word.into()).collect());
        let commands: Vec<_> = jobs.iter().map(|job| job.command.clone()).collect();
        assert_eq!(
            commands,
            [
                words(&[b"sleep", b"1", b"2"]),
                Command::Line("exit 3".into()),
                Command::Line("ls >x".into()),
                words(&[b"\xff"]),
            ]
        );
        assert_eq!(jobs.iter().map(|job| job.number).collect::<Vec<_>>(), [1, 2, 3, 4]);
        assert_eq!(parse_lines(b"\n#\n"), Err(ListError::Empty));
    }
}
