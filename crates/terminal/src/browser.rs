//! Opens a report in the browser of whoever runs the command.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::process::Command;

use garland_core::printable;

use crate::failure::Failure;

/// What stands for the file in a command of `$BROWSER`.
const PLACE: &[u8] = b"%s";

/// Opens `file` with the first command of `$BROWSER` that can be started, or else with `xdg-open`.
/// Commands are separated by colons, their words by spaces; `%s` stands for the file, which is the
/// last word if no other one has it. Waits for the end of the command: a browser of the terminal
/// has the terminal until then.
///
/// # Errors
/// When no command can be started, or the one that was started fails. Then no other one is tried,
/// since it may have shown the file.
pub fn open(file: &Path) -> Result<(), Failure> {
    let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
    let refused = |why: &str| {
        let shown = printable::path(&file);
        Err(Failure::nothing(format!("cannot open {shown} in a browser: {why}")))
    };
    let chosen = std::env::var_os("BROWSER").unwrap_or_default();
    let lines = chosen.as_bytes().split(|byte| *byte == b':').chain([b"xdg-open".as_slice()]);
    for line in lines {
        let Some(mut command) = parse_command(line, &file) else { continue };
        let Ok(status) = command.status() else { continue };
        if status.success() {
            return Ok(());
        }
        let program = printable::path(Path::new(command.get_program()));
        return refused(&format!("{program} failed ({status})"));
    }
    refused("neither a command of $BROWSER nor xdg-open can be started")
}

/// Returns the command to open `file` by a command of `$BROWSER`; `None` if it has no words.
fn parse_command(line: &[u8], file: &Path) -> Option<Command> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let mut command = Command::new(OsStr::from_bytes(words.next()?));
    let mut has_file = false;
    for word in words {
        match word.windows(PLACE.len()).position(|part| part == PLACE) {
            Some(at) => {
                let file = file.as_os_str().as_bytes();
                let word = [&word[..at], file, &word[at + PLACE.len()..]].concat();
                command.arg(OsString::from_vec(word));
                has_file = true;
            }
            None => {
                command.arg(OsStr::from_bytes(word));
            }
        }
    }
    if !has_file {
        command.arg(file);
    }
    Some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_the_last_word_or_stands_in_place_of_its_sign() {
        let words = |line: &[u8]| {
            let command = parse_command(line, Path::new("/a b.html"))?;
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            Some(words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>())
        };
        let is = |line: &str, wanted: &[&str]| {
            assert_eq!(
                words(line.as_bytes()).as_deref(),
                Some(wanted)
                    .map(|words| {
                        words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()
                    })
                    .as_deref()
            );
        };
        is("firefox", &["firefox", "/a b.html"]);
        is("firefox --new-window", &["firefox", "--new-window", "/a b.html"]);
        is(" lynx  file://%s -x", &["lynx", "file:///a b.html", "-x"]);
        assert_eq!(words(b" "), None);
    }
}
