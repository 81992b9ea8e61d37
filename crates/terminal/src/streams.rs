//! The outputs of several nodes or jobs, printed so that lines of one are never mixed with a line
//! of another: as lines come, or each output together. What has to wait is kept in memory only up
//! to [`KEPT_MAX`].

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::{Path, PathBuf};

use garland_sys::process;

use crate::output;

/// The number of bytes of an output that are kept in memory; more are kept in a file without a
/// name.
const KEPT_MAX: usize = 32 << 10;

/// The number of bytes of all outputs that are kept in memory: beyond it each goes to its file at
/// once.
const ALL_KEPT_MAX: usize = 32 << 20;

/// The number of bytes of the outputs of a node or job that are kept in files until they can be
/// printed. It may send without end.
pub const OUTPUT_MAX: usize = 1 << 30;

/// The number of bytes of all outputs that are kept in files until they can be printed: nodes or
/// jobs may be many. At most half of the space that is free at the beginning. Small outputs may
/// take half as much beyond it.
const ALL_OUTPUTS_MAX: u64 = 16 << 30;

/// The number of bytes of an output that count as small: the last third of the room is kept for
/// such outputs, whatever others take.
const SMALL_OUTPUT_MAX: u64 = 1 << 20;

/// The longest line that is printed whole, in bytes; longer ones are printed in pieces.
const LINE_MAX: usize = 64 << 10;

/// The order in which outputs are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// The bytes of the only output, as they come.
    Bytes,
    /// Whole lines, as they come.
    Lines,
    /// Each output together, when it has ended.
    Ended,
    /// Each output together, in the order of their numbers from 0: lines of the first one that has
    /// not ended as they come, those of others later.
    Numbered,
}

/// Prints the lines of an output.
#[derive(Debug)]
pub struct Lines {
    /// The text before each line; empty if lines have none.
    prefix: String,
    /// Whether the lines are those of standard error.
    is_error: bool,
    /// The beginning of a line whose end has not come.
    begun: Vec<u8>,
}

impl Lines {
    /// Creates the printer of an output, whose lines begin with `prefix`.
    pub fn new(prefix: &str, is_error: bool) -> Self {
        let prefix = prefix.to_owned();
        Self { prefix, is_error, begun: Vec::new() }
    }

    /// Prints the lines that `bytes` complete. Returns whether the reader may want more.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn add(&mut self, bytes: &[u8]) -> io::Result<bool> {
        self.begun.extend(bytes);
        let whole = self.begun.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let whole = if self.begun.len() - whole > LINE_MAX { self.begun.len() } else { whole };
        let rest = self.begun.split_off(whole);
        let lines = std::mem::replace(&mut self.begun, rest);
        self.print(&lines)
    }

    /// Returns whether there is a rest, which is printed without a newline.
    fn has_rest(&self) -> bool {
        !self.begun.is_empty() && self.prefix.is_empty()
    }

    /// Prints the rest, which does not end with a newline.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(&mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.begun);
        self.print(&rest).map(drop)
    }

    fn print(&self, lines: &[u8]) -> io::Result<bool> {
        let mut text = Vec::with_capacity(lines.len() + 64);
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            text.extend(self.prefix.as_bytes());
            text.extend(line);
        }
        // Without names the bytes stay as they are.
        if !self.prefix.is_empty() && !lines.is_empty() && !lines.ends_with(b"\n") {
            text.push(b'\n');
        }
        if text.is_empty() { Ok(true) } else { output::pass_on(&text, self.is_error) }
    }
}

/// An output that is kept.
#[derive(Debug, Default)]
pub struct Kept {
    /// The beginning of the output, in a file without a name.
    file: Option<File>,
    /// What follows it.
    memory: Vec<u8>,
    length: usize,
    /// Why the file could not be created or written: what came later is not kept.
    failed: Option<ErrorKind>,
}

impl Kept {
    /// Returns the length in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Adds output, of which `room` bytes may stay in memory. A file is created in `folder`, if one
    /// is needed.
    ///
    /// # Errors
    /// When the file cannot be created or written, now or earlier. What had been added before is
    /// kept, and nothing more is.
    pub fn add(&mut self, folder: &Path, bytes: &[u8], room: usize) -> io::Result<()> {
        if let Some(kind) = self.failed {
            return Err(kind.into());
        }
        if self.memory.len() + bytes.len() > KEPT_MAX || bytes.len() > room {
            self.write(folder, bytes).inspect_err(|error| self.failed = Some(error.kind()))?;
        } else {
            self.memory.extend(bytes);
        }
        self.length += bytes.len();
        Ok(())
    }

    /// Writes what is in memory, and then `bytes`, to the file.
    fn write(&mut self, folder: &Path, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(without_name(&folder.join("output.part"))?),
        };
        let before = (self.length - self.memory.len()) as u64;
        let written = file.write_all(&self.memory).and_then(|()| file.write_all(bytes));
        if written.is_err() {
            // A part of it may be there: what is in memory would be printed twice.
            file.set_len(before)?;
        } else {
            self.memory.clear();
        }
        written
    }

    /// Passes the output to `each` in pieces.
    ///
    /// # Errors
    /// When the file cannot be read, or `each` fails.
    pub fn read(&mut self, mut each: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if let Some(file) = &mut self.file {
            file.rewind()?;
            let mut buffer = vec![0; KEPT_MAX];
            loop {
                match file.read(&mut buffer)? {
                    0 => break,
                    read => each(&buffer[..read])?,
                }
            }
        }
        each(&self.memory)
    }
}

/// Creates a file that has no name any more, so that nothing of it is left when this process ends.
fn without_name(path: &Path) -> io::Result<File> {
    // A process that was killed may have left one.
    let _ = fs::remove_file(path);
    let file = File::options().read(true).write(true).create_new(true).open(path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// The standard output and the standard error of a node or job, in this order.
#[derive(Debug)]
struct Stream {
    parts: [(Lines, Kept); 2],
    has_ended: bool,
}

impl Stream {
    /// Returns the number of bytes that are kept.
    fn kept(&self) -> u64 {
        self.parts.iter().map(|(_, kept)| kept.length() as u64).sum()
    }

    /// Returns the number of bytes that are kept in memory.
    fn in_memory(&self) -> usize {
        self.parts.iter().map(|(_, kept)| kept.memory.len()).sum()
    }

    /// Prints what is kept, and keeps it no longer.
    fn print(&mut self) -> io::Result<()> {
        let print = |(lines, kept): &mut (Lines, Kept)| {
            std::mem::take(kept).read(|bytes| lines.add(bytes).map(drop))
        };
        self.parts.iter_mut().try_for_each(print)
    }

    /// Prints what is kept, and the rest of lines. Returns whether that ends within a line.
    fn end(mut self) -> io::Result<bool> {
        self.print()?;
        let is_cut = self.parts.iter().any(|(lines, _)| lines.has_rest());
        self.parts.iter_mut().try_for_each(|(lines, _)| lines.end())?;
        Ok(is_cut)
    }
}

/// The outputs of nodes or jobs, which have numbers.
#[derive(Debug)]
pub struct Streams {
    arrangement: Arrangement,
    /// The texts that stand before the lines of each; there may be none.
    prefixes: Vec<String>,
    folder: PathBuf,
    open: BTreeMap<u32, Stream>,
    /// The first number that has not ended.
    first: u32,
    is_wanted: bool,
    /// Whether the output that was printed last ended within a line.
    is_within_line: bool,
    /// The number of bytes of all outputs that are kept, how many may be, and how many of them are
    /// in memory.
    kept: u64,
    kept_max: u64,
    in_memory: usize,
}

impl Streams {
    /// Creates the outputs, none of which has begun. Large ones are kept in files in `folder`.
    pub fn new(arrangement: Arrangement, prefixes: Vec<String>, folder: &Path) -> Self {
        let folder = folder.to_owned();
        let open = BTreeMap::new();
        let is_wanted = true;
        let is_within_line = false;
        let kept_max = process::free_space(&folder).map_or(ALL_OUTPUTS_MAX, |free| free / 2);
        let kept_max = kept_max.min(ALL_OUTPUTS_MAX);
        let first = 0;
        let kept = 0;
        let in_memory = 0;
        Self {
            arrangement,
            prefixes,
            folder,
            open,
            first,
            is_wanted,
            is_within_line,
            kept,
            kept_max,
            in_memory,
        }
    }

    /// Returns the order in which outputs are printed.
    pub fn arrangement(&self) -> Arrangement {
        self.arrangement
    }

    /// Returns whether the output that was printed last ended within a line.
    pub fn is_within_line(&self) -> bool {
        self.is_within_line
    }

    /// Returns whether the reader of standard output is still there.
    pub fn is_wanted(&self) -> bool {
        self.is_wanted
    }

    /// Returns whether `length` more bytes of a node or job can be kept until they can be printed:
    /// together with what is kept of it by now, at most [`OUTPUT_MAX`], and no more of all together
    /// than there is room for. A small output has room that large ones cannot take.
    pub fn has_room(&self, number: u32, length: usize) -> bool {
        let kept = self.open.get(&number).map_or(0, Stream::kept);
        let more = length as u64;
        let reserve = if kept + more <= SMALL_OUTPUT_MAX { self.kept_max / 2 } else { 0 };
        let has_share = self.is_live(number) || self.kept + more <= self.kept_max + reserve;
        self.is_small(number, length) && has_share
    }

    /// Returns whether an output is not longer than [`OUTPUT_MAX`] with `length` more bytes.
    pub fn is_small(&self, number: u32, length: usize) -> bool {
        self.open.get(&number).map_or(0, Stream::kept) + length as u64 <= OUTPUT_MAX as u64
    }

    /// Returns whether an output is printed as it comes.
    fn is_live(&self, number: u32) -> bool {
        match self.arrangement {
            Arrangement::Bytes | Arrangement::Lines => true,
            Arrangement::Ended => false,
            Arrangement::Numbered => number == self.first,
        }
    }

    /// Adds bytes to an output.
    ///
    /// # Errors
    /// When they can be neither printed nor kept.
    pub fn add(&mut self, number: u32, is_error: bool, bytes: &[u8]) -> io::Result<()> {
        let is_live = self.is_live(number);
        let folder = self.folder.clone();
        let is_wanted = match self.arrangement {
            Arrangement::Bytes => output::pass_on(bytes, is_error)?,
            _ => {
                let room = ALL_KEPT_MAX.saturating_sub(self.in_memory);
                let (lines, kept) = &mut self.stream(number).parts[usize::from(is_error)];
                if !is_live {
                    let before = kept.memory.len();
                    let added = kept.add(&folder, bytes, room);
                    let after = kept.memory.len();
                    self.in_memory = self.in_memory + after - before;
                    added?;
                    self.kept += bytes.len() as u64;
                    return Ok(());
                }
                lines.add(bytes)?
            }
        };
        self.is_wanted &= is_wanted || is_error;
        Ok(())
    }

    /// Ends an output, and prints what waited for that.
    ///
    /// # Errors
    /// When what was kept cannot be read or printed.
    pub fn end(&mut self, number: u32) -> io::Result<()> {
        if self.arrangement != Arrangement::Numbered {
            return self.close_one(number);
        }
        self.stream(number).has_ended = true;
        while self.open.get(&self.first).is_some_and(|stream| stream.has_ended) {
            self.close_one(self.first)?;
            self.first += 1;
        }
        let Some(stream) = self.open.get_mut(&self.first) else { return Ok(()) };
        let kept = stream.kept();
        let in_memory = stream.in_memory();
        let printed = stream.print();
        self.kept -= kept - stream.kept();
        self.in_memory -= in_memory - stream.in_memory();
        printed
    }

    fn close_one(&mut self, number: u32) -> io::Result<()> {
        if let Some(stream) = self.open.remove(&number) {
            self.kept -= stream.kept();
            self.in_memory -= stream.in_memory();
            self.is_within_line = stream.end()?;
        }
        Ok(())
    }

    /// Forgets what an output has kept: it starts over.
    ///
    /// # Errors
    /// When the end of what was begun cannot be printed.
    pub fn restart(&mut self, number: u32) -> io::Result<()> {
        let Some(mut stream) = self.open.remove(&number) else { return Ok(()) };
        self.kept -= stream.kept();
        self.in_memory -= stream.in_memory();
        stream.parts.iter_mut().try_for_each(|(lines, _)| lines.end())
    }

    /// Prints the outputs that have ended and wait for their turn, in order. Returns the number of
    /// each, and whether it could be printed. Those that have not ended are left.
    pub fn end_waiting(&mut self) -> Vec<(u32, io::Result<()>)> {
        let ended = self.open.iter().filter(|(_, stream)| stream.has_ended);
        let ended: Vec<u32> = ended.map(|(number, _)| *number).collect();
        ended.into_iter().map(|number| (number, self.close_one(number))).collect()
    }

    /// Prints all that is left.
    ///
    /// # Errors
    /// When what was kept cannot be read or printed.
    pub fn close(self) -> io::Result<()> {
        self.open.into_values().try_for_each(|stream| stream.end().map(drop))
    }

    fn stream(&mut self, number: u32) -> &mut Stream {
        let prefix = usize::try_from(number).ok().and_then(|at| self.prefixes.get(at));
        let prefix = prefix.map_or("", String::as_str);
        self.open.entry(number).or_insert_with(|| Stream {
            parts: [false, true].map(|is_error| (Lines::new(prefix, is_error), Kept::default())),
            has_ended: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_written_is_not_kept_in_memory_and_not_read_twice() {
        let nowhere = Path::new("/nonexistent");
        let full = File::options().read(true).write(true).open("/dev/full").expect("it exists");
        for file in [None, Some(full)] {
            let mut kept = Kept { file, ..Kept::default() };
            kept.add(nowhere, &[1; KEPT_MAX], KEPT_MAX).expect("memory has room");
            for _ in 0..3 {
                kept.add(nowhere, &[2; KEPT_MAX], KEPT_MAX).expect_err("there is no file");
            }
            assert_eq!((kept.length(), kept.memory.len()), (KEPT_MAX, KEPT_MAX));
            let has_file = kept.file.take().is_some();
            let mut read = Vec::new();
            kept.read(|bytes| {
                read.extend_from_slice(bytes);
                Ok(())
            })
            .expect("it is in memory");
            assert_eq!(read, [1; KEPT_MAX], "{has_file}");
        }
    }

    #[test]
    fn outputs_that_wait_for_their_turn_are_printed_when_there_is_none_any_more() {
        let mut streams = Streams::new(Arrangement::Numbered, Vec::new(), &std::env::temp_dir());
        streams.add(2, false, b"").expect("it is kept");
        streams.end(2).expect("it waits");
        streams.add(1, false, b"").expect("it is kept");
        let printed: Vec<u32> =
            streams.end_waiting().into_iter().map(|(number, _)| number).collect();
        assert_eq!(printed, [2], "1 runs still");
        assert!(streams.end_waiting().is_empty());
    }

    #[test]
    fn what_waits_for_others_has_a_limit_and_what_is_printed_has_none() {
        let mut streams = Streams::new(Arrangement::Numbered, Vec::new(), &std::env::temp_dir());
        streams.add(1, false, b"waits\n").expect("it is kept");
        streams.add(1, true, b"too\n").expect("it is kept");
        assert!(streams.has_room(1, OUTPUT_MAX - 10));
        assert!(!streams.has_room(1, OUTPUT_MAX - 9));
        assert!(streams.has_room(0, OUTPUT_MAX), "it is printed as it comes");
        streams.restart(1).expect("nothing is begun");
        assert!(streams.has_room(1, OUTPUT_MAX), "it starts over");
    }

    #[test]
    fn what_waits_of_all_together_takes_little_memory() {
        let mut streams = Streams::new(Arrangement::Numbered, Vec::new(), &std::env::temp_dir());
        let few = vec![b'x'; KEPT_MAX];
        let fit = u32::try_from(ALL_KEPT_MAX / KEPT_MAX).expect("few");
        for number in 1..=fit + 3 {
            streams.add(number, false, &few).expect("it is kept");
        }
        assert_eq!(streams.in_memory, ALL_KEPT_MAX);
        assert_eq!(streams.kept, u64::from(fit + 3) * KEPT_MAX as u64);
        streams.restart(2).expect("nothing is begun");
        assert_eq!(streams.in_memory, ALL_KEPT_MAX - KEPT_MAX);
        streams.add(2, true, &few).expect("it is kept");
        assert_eq!(streams.in_memory, ALL_KEPT_MAX);
    }

    #[test]
    fn what_waits_of_all_together_has_a_limit() {
        let mut streams = Streams::new(Arrangement::Numbered, Vec::new(), &std::env::temp_dir());
        const MIB: usize = 1 << 20;
        streams.kept_max = 5 << 20;
        for number in 1..=2 {
            streams.add(number, false, &vec![b'x'; 2 * MIB]).expect("it is kept");
        }
        assert!(streams.has_room(2, MIB) && !streams.has_room(2, MIB + 1));
        assert!(streams.has_room(0, MIB + 1), "it is printed as it comes");
        streams.restart(1).expect("nothing is begun");
        assert!(streams.has_room(2, 3 * MIB) && !streams.has_room(2, 3 * MIB + 1));
        streams.add(2, false, &vec![b'x'; 3 * MIB]).expect("it is kept");
        // What others print is not lost for one that prints much.
        assert!(!streams.has_room(2, 1));
        assert!(streams.has_room(3, MIB) && !streams.has_room(3, MIB + 1));
        // Nor is there room without end for many small ones.
        for number in 3..=4 {
            streams.add(number, false, &vec![b'x'; MIB]).expect("it is kept");
        }
        assert!(streams.has_room(5, MIB / 2) && !streams.has_room(5, MIB));
    }
}
