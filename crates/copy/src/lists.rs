//! Lists of paths and patterns in files.

use std::io::Read;
use std::path::Path;

use garland_core::printable;
use garland_dataplane::tree::Chosen;
use garland_sys::inherited;

use garland_terminal::failure::{Failure, OrFailure};

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
            let place = printable::path(file);
            let path = printable::name(path);
            let why = format!("{place}:{number}: {path}: paths are relative to SOURCE, without ..");
            return Err(Failure::usage(why));
        }
    }
    Ok(chosen)
}

/// Reads the list in `file`; `-` is standard input.
pub fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    let read = if file == Path::new("-") {
        inherited::input().and_then(|mut input| input.read_to_end(&mut text)).map(|_| text)
    } else {
        std::fs::read(file)
    };
    read.or_nothing(format!("reading {}", printable::path(file)))
}

/// Returns the lines that are not empty and no comments, and their numbers.
pub fn lines(text: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let lines = text.split(|byte| *byte == b'\n');
    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line)).zip(1..);
    lines.filter(|(line, _)| !matches!(line.first(), None | Some(b'#' | b';')))
}
