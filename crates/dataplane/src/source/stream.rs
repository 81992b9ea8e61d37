//! A source that can be read only once and whose length is not known before its end: standard
//! input, a named pipe, a command's output. A block is kept until all nodes have it.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use garland_core::plan::Layout;
use garland_core::printable;
use garland_protocol::copy::StreamEnd;
use garland_sys::error::reason;
use garland_sys::event;
use garland_sys::sync::{Condvar, Mutex, MutexGuard};
use rustix::fs::{Mode, OFlags};

use super::{Content, FeedError};
use crate::shell::Shell;

/// The maximum number of bytes that are kept for nodes that do not have them yet. At this limit
/// reading pauses, so that the slowest node determines the rate.
const WINDOW: usize = 256 << 20;

/// The maximum number of buffers that are kept for reuse.
const SPARE: usize = 16;

/// The interval at which a waiting thread checks whether its block is still needed.
const NEED_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A source that is read once, from a file descriptor: a pipe, or the output of a command.
pub struct StreamSource {
    name: String,
    input: File,
    /// The command that writes the stream, if any.
    shell: Option<Shell>,
    /// The block size in bytes.
    block: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The index of the first block in `kept`.
    first: u64,
    kept: VecDeque<Vec<u8>>,
    /// The block that is being read, and the number of its bytes so far.
    begun: Option<(Vec<u8>, usize)>,
    spare: Vec<Vec<u8>>,
    /// Whether a thread is reading the stream.
    busy: bool,
    length: u64,
    /// Once the stream has ended: the number of its blocks, or the reason of its failure.
    over: Option<Result<u64, String>>,
}

impl StreamSource {
    /// Returns the bytes of `input` as a source. `name` is its name in messages; the block size is
    /// that of `layout`.
    pub fn new(input: OwnedFd, name: &str, layout: Layout) -> Self {
        let name = name.to_owned();
        let input = File::from(input);
        let block = layout.block_size as usize;
        let state = Mutex::default();
        let changed = Condvar::new();
        Self { name, input, shell: None, block, state, changed }
    }

    /// Returns the bytes of the named pipe at `path` as a source. Does not wait for a writer.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn of_pipe(path: &Path, layout: Layout) -> io::Result<Self> {
        // Non-blocking, without waiting for a writer: nodes can be prepared meanwhile.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let input = rustix::fs::open(path, flags, Mode::empty())?;
        Ok(Self::new(input, &printable::path(path), layout))
    }

    /// Starts the command `line` in `folder`, by default the working directory, and returns its
    /// output as a source. The output is complete only if the command exits with code 0.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn of_command(line: &[u8], folder: Option<&Path>, layout: Layout) -> io::Result<Self> {
        let (shell, output) = Shell::writing(line, folder)?;
        let name = format!("`{}`", shell.line());
        Ok(Self { shell: Some(shell), ..Self::new(OwnedFd::from(output), &name, layout) })
    }

    /// Reads until the current block is complete, the stream has ended, or `stale` returns true.
    /// The state is unlocked while a block is read.
    fn read_on<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        stale: &dyn Fn() -> bool,
    ) -> MutexGuard<'a, State> {
        state.busy = true;
        let spare = state.begun.take().or_else(|| state.spare.pop().map(|block| (block, 0)));
        drop(state);
        let (mut block, mut filled) = spare.unwrap_or_else(|| (vec![0; self.block], 0));
        let over = match self.fill(&mut block, &mut filled, stale) {
            Ok(false) => None,
            // The output is complete only if the command succeeds.
            Ok(true) => self.verdict(stale),
            Err(error) => Some(Err(format!("cannot read {}: {}", self.name, reason(&error)))),
        };
        let mut state = self.state.lock();
        if filled == self.block || filled > 0 && matches!(over, Some(Ok(()))) {
            block.truncate(filled);
            state.length += filled as u64;
            state.kept.push_back(block);
        } else {
            state.begun = Some((block, filled));
        }
        let blocks = state.end();
        state.over = over.map(|over| over.map(|()| blocks));
        state.busy = false;
        self.changed.notify_all();
        state
    }

    /// Waits for the command, if there is one. Returns how the stream has ended: with success, or
    /// with the reason of the failure. Returns none if `stale` returns true before that.
    fn verdict(&self, stale: &dyn Fn() -> bool) -> Option<Result<(), String>> {
        let Some(shell) = &self.shell else { return Some(Ok(())) };
        loop {
            let verdict = shell.verdict(NEED_CHECK_INTERVAL);
            if verdict.is_some() || stale() {
                return verdict;
            }
        }
    }

    /// Reads into `block` until it is full, the stream has ended, or `stale` returns true while
    /// there is nothing to read. Adds to `filled`, the number of bytes in the block. Returns
    /// whether the stream has ended.
    fn fill(
        &self,
        block: &mut [u8],
        filled: &mut usize,
        stale: &dyn Fn() -> bool,
    ) -> io::Result<bool> {
        while *filled < block.len() {
            if !event::wait_readable(&[self.input.as_fd()], Some(NEED_CHECK_INTERVAL))?[0] {
                if stale() {
                    return Ok(false);
                }
                continue;
            }
            match (&self.input).read(&mut block[*filled..]) {
                Ok(0) => return Ok(true),
                Ok(read) => *filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

impl State {
    /// Returns the index of the first block that has not been read completely.
    fn end(&self) -> u64 {
        self.first + self.kept.len() as u64
    }

    fn block(&self, index: u64) -> Option<&Vec<u8>> {
        self.kept.get(usize::try_from(index.checked_sub(self.first)?).ok()?)
    }
}

impl Content for StreamSource {
    fn read(&self, _: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        let state = self.state.lock();
        let block = state.block(index).filter(|block| block.len() == bytes.len());
        bytes.copy_from_slice(block.ok_or_else(|| FeedError::Gone(self.name(), index))?);
        Ok(())
    }

    fn await_block(
        &self,
        _: Layout,
        index: u64,
        stale: &dyn Fn() -> bool,
    ) -> Result<u32, FeedError> {
        let mut state = self.state.lock();
        loop {
            if index < state.first {
                return Err(FeedError::Gone(self.name(), index));
            }
            if let Some(block) = state.block(index) {
                return Ok(u32::try_from(block.len()).unwrap_or(u32::MAX));
            }
            match &state.over {
                Some(Ok(blocks)) => {
                    let before = blocks.saturating_sub(1) * self.block as u64;
                    let last_length = state.length.saturating_sub(before);
                    let last_length = u32::try_from(last_length).unwrap_or(u32::MAX);
                    return Err(FeedError::Ended(StreamEnd { blocks: *blocks, last_length }));
                }
                Some(Err(reason)) => return Err(FeedError::Broken(reason.clone())),
                None => {}
            }
            if stale() {
                return Err(FeedError::NotYet);
            }
            let full = state.kept.len() >= (WINDOW / self.block).max(1);
            state = if state.busy || full {
                let _ = self.changed.wait_for(&mut state, NEED_CHECK_INTERVAL);
                state
            } else {
                self.read_on(state, stale)
            };
        }
    }

    fn release(&self, index: u64) {
        let mut state = self.state.lock();
        while state.first < index {
            let Some(mut block) = state.kept.pop_front() else { break };
            state.first += 1;
            // The buffers in use by the lanes are reused; the rest of a window is freed.
            if state.spare.len() < SPARE {
                block.resize(self.block, 0);
                state.spare.push(block);
            }
        }
        self.changed.notify_all();
    }

    fn length(&self) -> u64 {
        self.state.lock().length
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn is_unchanged(&self) -> bool {
        true
    }

    fn device(&self) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    const WANTED: &dyn Fn() -> bool = &|| false;

    fn layout() -> Layout {
        Layout::open_ended(4096).unwrap()
    }

    fn pipe() -> (StreamSource, io::PipeWriter) {
        let (reader, writer) = io::pipe().unwrap();
        (StreamSource::new(reader.into(), "a pipe", layout()), writer)
    }

    #[test]
    fn blocks_are_whole_however_little_a_read_returns_and_the_end_is_reported() {
        let (source, mut writer) = pipe();
        let bytes: Vec<u8> = (0..10_000_u32).map(|at| (at % 251) as u8).collect();
        let wanted = bytes.clone();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                bytes.chunks(777).for_each(|chunk| writer.write_all(chunk).unwrap())
            });
            // The block of another lane first.
            for (index, length) in [(1, 4096), (0, 4096), (2, 1808)] {
                assert_eq!(source.await_block(layout(), index, WANTED).unwrap(), length);
                let mut block = vec![0; length as usize];
                source.read(layout(), index, &mut block).unwrap();
                let start = index as usize * 4096;
                assert!(block == wanted[start..start + length as usize]);
            }
        });
        for index in [3, 9] {
            let end = source.await_block(layout(), index, WANTED);
            let Err(FeedError::Ended(end)) = end else { panic!("{end:?}") };
            assert_eq!(end, StreamEnd { blocks: 3, last_length: 1808 });
        }
        assert_eq!(source.length(), 10_000);
    }

    #[test]
    fn only_blocks_that_every_node_has_are_released() {
        let (source, mut writer) = pipe();
        writer.write_all(&[1; 3 * 4096]).unwrap();
        source.await_block(layout(), 2, WANTED).unwrap();
        source.release(1);
        assert!(matches!(source.await_block(layout(), 0, WANTED), Err(FeedError::Gone(..))));
        assert!(source.await_block(layout(), 1, WANTED).is_ok());
        // No node is left: blocks that have not arrived cannot be released.
        source.release(u64::MAX);
        writer.write_all(&[2; 4096]).unwrap();
        drop(writer);
        assert_eq!(source.await_block(layout(), 3, WANTED).unwrap(), 4096);
        let end = source.await_block(layout(), 4, WANTED);
        let Err(FeedError::Ended(end)) = end else { panic!("{end:?}") };
        assert_eq!(end, StreamEnd { blocks: 4, last_length: 4096 });
    }

    #[test]
    fn a_block_that_is_no_longer_wanted_is_not_awaited_and_not_lost() {
        let (source, mut writer) = pipe();
        writer.write_all(b"begun").unwrap();
        let polls = std::cell::Cell::new(0);
        let stale = || polls.replace(polls.get() + 1) > 1;
        assert!(matches!(source.await_block(layout(), 0, &stale), Err(FeedError::NotYet)));
        drop(writer);
        let mut bytes = [0; 5];
        assert_eq!(source.await_block(layout(), 0, WANTED).unwrap(), 5);
        source.read(layout(), 0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"begun");
    }

    #[test]
    fn a_command_that_fails_has_no_end() {
        let source = StreamSource::of_command(b"echo x; echo why >&2; exit 4", None, layout());
        let end = source.unwrap().await_block(layout(), 0, WANTED);
        let Err(FeedError::Broken(reason)) = end else { panic!("{end:?}") };
        assert!(reason.ends_with("ended with code 4: why"), "{reason}");
        let source = StreamSource::of_command(b"echo x", None, layout()).unwrap();
        assert_eq!(source.await_block(layout(), 0, WANTED).unwrap(), 2);
        let end = source.await_block(layout(), 1, WANTED);
        let Err(FeedError::Ended(end)) = end else { panic!("{end:?}") };
        assert_eq!(end, StreamEnd { blocks: 1, last_length: 2 });
    }
}
