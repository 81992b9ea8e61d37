//! A file with a command a line. Empty lines and those that begin with # are left out.

use super::{ListError, numbered};
use crate::farm::{Command, Job, Text};

/// Bytes that a shell gives a meaning to, or may.
const MEANT: &[u8] = b"|&;<>()$`\\\"'*?[]#~=%!{}\n\r";

/// Words that a shell obeys by itself, or that mean something else to it than to the system.
const BUILT_IN: [&str; 48] = [
    ".", ":", "alias", "bg", "break", "case", "cd", "command", "continue", "do", "done", "echo",
    "elif", "else", "esac", "eval", "exec", "exit", "export", "fc", "fg", "fi", "for", "function",
    "getopts", "hash", "if", "jobs", "local", "read", "readonly", "return", "select", "set",
    "shift", "source", "then", "time", "times", "trap", "type", "ulimit", "umask", "unalias",
    "unset", "until", "wait", "while",
];

/// The jobs of a list.
///
/// # Errors
/// When there are none, or too many.
pub fn parse_lines(text: &[u8]) -> Result<Vec<Job>, ListError> {
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    numbered(lines.map(|line| Job::new(0, Text::from(line), command(line))).collect())
}

/// What runs a line: a shell, unless all that it would do is to part the words. A shell takes as long to
/// start as a small job.
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
