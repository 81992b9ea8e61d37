//! Lists of paths and patterns in files.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use garland_core::printable;
use garland_dataplane::tree::Chosen;
use garland_sys::inherited;
use garland_terminal::failure::{Failure, OrFailure};

use crate::ends::is_descriptor;

/// Returns the paths in `file`, one a line or with NUL between them; `-` is standard input.
pub fn chosen(file: &Path) -> Result<Chosen, Failure> {
    let text = read(file)?;
    let paths: Vec<(&[u8], usize)> = if text.contains(&0) {
        text.split(|byte| *byte == 0).zip(1..).filter(|(path, _)| !path.is_empty()).collect()
    } else {
        lines(&text).collect()
    };
    let mut chosen = Chosen::default();
    for (path, number) in paths {
        if !chosen.add(path) {
            return Err(unfit(path, &format!("{}:{number}", printable::path(file))));
        }
    }
    Ok(chosen)
}

/// Returns why the `path` at `place` in a list chooses nothing.
fn unfit(path: &[u8], place: &str) -> Failure {
    let mut parts = path.split(|byte| *byte == b'/');
    let path = printable::name(path);
    // So says --failed-to of a node that failed as a whole.
    if parts.all(|part| matches!(part, b"" | b".")) {
        return Failure::usage(format!("{place}: `{path}` stands for everything")).hint(
            "start the copy again without --files-from, or go on with it: garland cp --resume RUN",
        );
    }
    Failure::usage(format!("{place}: {path}: paths are relative to SOURCE, without .."))
}

/// Whether the list in `file` cannot be read again, or not by another command: it is standard
/// input, a descriptor of this process, or a pipe.
#[must_use]
pub fn is_read_once(file: &Path) -> bool {
    let is_empty_for_ever = || file.canonicalize().is_ok_and(|file| file == Path::new("/dev/null"));
    let is_no_file = || file.metadata().is_ok_and(|stat| !stat.is_file());
    file == Path::new("-") || is_descriptor(file) || is_no_file() && !is_empty_for_ever()
}

/// Whether two lists are one input, which only the first of them would get.
#[must_use]
pub fn is_one_input(first: &Path, second: &Path) -> bool {
    let input = |file: &Path| {
        let file = if file == Path::new("-") { Path::new("/dev/stdin") } else { file };
        file.metadata().ok().map(|stat| (stat.dev(), stat.ino()))
    };
    is_read_once(first)
        && is_read_once(second)
        && (first == second || input(first).is_some_and(|first| input(second) == Some(first)))
}

/// Reads the list in `file`; `-` is standard input.
pub fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let content = if file == Path::new("-") {
        inherited::input().and_then(|mut input| input.read_to_end(&mut text)).map(|_| text)
    } else {
        std::fs::read(file)
    };
    content.or_nothing(format!("cannot read {}", printable::path(file)))
}

/// Returns the lines that are not empty and no comments, and their numbers.
pub fn lines(text: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).zip(1..);
    lines.filter(|(line, _)| !matches!(line.first(), None | Some(b'#' | b';')))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn pipes_and_descriptors_are_read_once_and_by_one_list() {
        let [first, second] = [(), ()].map(|()| io::pipe().expect("a pipe"));
        let path = |number: i32| format!("/dev/fd/{number}");
        let [first, other] = [&first, &second].map(|(reader, _)| path(reader.as_raw_fd()));
        for file in ["-", "/dev/stdin", &first, &other] {
            assert!(is_read_once(Path::new(file)), "{file}");
            assert!(is_one_input(Path::new(file), Path::new(file)), "{file}");
        }
        for file in ["Cargo.toml", "/dev/null", "missing"] {
            assert!(!is_read_once(Path::new(file)), "{file}");
            assert!(!is_one_input(Path::new(file), Path::new(file)), "{file}");
        }
        let is_one = |one: &str, two: &str| is_one_input(Path::new(one), Path::new(two));
        assert!(is_one("-", "/dev/stdin") && is_one("/dev/fd/0", "-"));
        assert!(!is_one(&first, &other) && !is_one("-", "Cargo.toml"));
    }

    #[test]
    fn what_stands_for_everything_is_told_apart_from_what_leads_outside() {
        let list = std::env::temp_dir().join(format!("garland-whole-{}", std::process::id()));
        let said = |text: &str| {
            fs::write(&list, text).expect("it is written");
            chosen(&list).err().map(|failure| failure.to_string()).unwrap_or_default()
        };
        for whole in [".", "./", "/", "/."] {
            let message = said(&format!("one\n{whole}\n"));
            let wanted = format!(":2: `{whole}` stands for everything\nhint: start the copy again");
            assert!(message.contains(&wanted), "{message}");
        }
        assert!(said("../one").contains(":1: ../one: paths are relative to SOURCE, without .."));
        assert_eq!(said("one\n./two\n"), "");
        fs::remove_file(list).expect("it is removed");
    }
}
