//! How a block's bytes get from the upstream's socket to the downstream's and to a buffer, slice by
//! slice while they still arrive.
//!
//! Two ways, the same result. `Splice` moves the bytes inside the kernel and reads only the node's
//! own double; `Copy` reads them once and writes them on. A node that keeps the file must read every
//! byte anyway, and then the fresh bytes are cheaper to send from its cache than to send from pages
//! and read from them later: measured over unshaped wires to 5 nodes, `Copy` took 0.70-0.83 CPU
//! seconds a GiB and node, `Splice` 0.86-0.94; over shaped ones to 20 nodes they were equal.

use std::io::{self, Write};
use std::net::TcpStream;

use garland_sys::pipe::{self, Pipe};
use garland_sys::tcp;

use crate::recorder::Passage;

/// Bytes that are read and written at a time when bytes are copied.
const SLICE: usize = 256 << 10;

/// The most bytes that a relay waits for before it passes them on. Larger slices cost more than
/// the wake-ups they save: the bytes have left the processor's cache when they are taken.
const SLICE_MAX: usize = 64 << 10;

/// Which way bytes take through a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// Inside the kernel; falls back to `Copy` where a socket can't be spliced.
    Splice,
    /// Through this process's memory.
    #[default]
    Copy,
}

/// What became of a block's bytes.
#[derive(Debug, Default)]
pub struct Moved {
    /// The upstream broke before the block was whole.
    pub up_error: Option<io::Error>,
    /// The downstream broke; it got nothing after that.
    pub down_error: Option<io::Error>,
}

/// A lane's way through one node.
#[derive(Debug)]
pub struct Conduit {
    pipes: Option<(Pipe, Pipe)>,
    scratch: Vec<u8>,
    slice: usize,
}

impl Conduit {
    /// A way of the wanted kind, or the other one where the system hasn't it. Bytes are passed on
    /// when `slice` of them have come in: less would wake the CPU for drops, more would make a long
    /// chain slow to fill.
    #[must_use]
    pub fn new(path: Path, slice: usize) -> Self {
        let pipes = match path {
            Path::Splice => Pipe::new().ok().zip(Pipe::new().ok()),
            Path::Copy => None,
        };
        Self { pipes, scratch: Vec::new(), slice: slice.clamp(1, SLICE_MAX) }
    }

    /// Moves `length` bytes from `up` to `down` and into `keep`, whichever are given. If `up`
    /// breaks, what `down` has yet to get is made up by zeros, so that its stream keeps its form.
    pub fn transfer(
        &mut self,
        up: &TcpStream,
        down: Option<&TcpStream>,
        keep: Option<&mut [u8]>,
        length: usize,
        passage: &mut Passage,
    ) -> Moved {
        let moved = match down {
            Some(down) => self.relay(up, down, keep, length, passage),
            None => self.receive(up, keep, length, passage),
        };
        set_low_water(up, 1);
        moved
    }

    fn receive(
        &mut self,
        up: &TcpStream,
        mut keep: Option<&mut [u8]>,
        length: usize,
        passage: &mut Passage,
    ) -> Moved {
        let mut done = 0;
        let mut now = passage.now();
        while done < length {
            let kept = keep.as_deref_mut().map(|keep| &mut keep[done..length]);
            set_low_water(up, self.slice.min(length - done));
            match take_slice(&mut self.scratch, up, kept, length - done) {
                Ok(came) => {
                    done += came.len();
                    now = passage.received(now, came.len());
                }
                Err(error) => return Moved { up_error: Some(error), down_error: None },
            }
        }
        Moved::default()
    }

    fn relay(
        &mut self,
        up: &TcpStream,
        down: &TcpStream,
        mut keep: Option<&mut [u8]>,
        length: usize,
        passage: &mut Passage,
    ) -> Moved {
        let mut moved = Moved::default();
        let mut done = 0;
        let mut water = 0;
        while done < length {
            let least = self.slice.min(length - done);
            if least != water {
                set_low_water(up, least);
                water = least;
            }
            let kept = keep.as_deref_mut().map(|keep| &mut keep[done..length]);
            let more = &mut moved.down_error;
            let slice = match &self.pipes {
                Some(pipes) => splice_slice(pipes, up, down, kept, length - done, more, passage),
                None => copy_slice(&mut self.scratch, up, down, kept, length - done, more, passage),
            };
            match slice {
                Ok(bytes) => done += bytes,
                Err(error) if done == 0 && self.pipes.is_some() && pipe::is_unsupported(&error) => {
                    self.pipes = None;
                }
                Err(error) => {
                    moved.up_error = Some(error);
                    if moved.down_error.is_none() {
                        moved.down_error = pad(down, length - done).err();
                    }
                    break;
                }
            }
        }
        if moved.down_error.is_some() && self.pipes.is_some() {
            // What the broken downstream didn't take is still in the pipe.
            self.pipes = Pipe::new().ok().zip(Pipe::new().ok());
        }
        moved
    }
}

/// Asks to be woken when `bytes` have come in. Without it the relay is woken more often, no more.
fn set_low_water(up: &TcpStream, bytes: usize) {
    let _ = tcp::set_low_water(up, u32::try_from(bytes).unwrap_or(u32::MAX));
}

/// Moves what has come in, at most `length` bytes, inside the kernel; how many.
fn splice_slice(
    (first, second): &(Pipe, Pipe),
    up: &TcpStream,
    down: &TcpStream,
    keep: Option<&mut [u8]>,
    length: usize,
    down_error: &mut Option<io::Error>,
    passage: &mut Passage,
) -> io::Result<usize> {
    let began = passage.now();
    let came = first.fill(up, length)?;
    if came == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let more = came < length;
    let mut now = passage.received(began, came);
    let Some(keep) = keep else {
        if down_error.is_none() {
            *down_error = first.drain(down, came, more).err();
        }
        passage.sent(now, came);
        return Ok(came);
    };
    let mut done = 0;
    while done < came {
        let mut part = came - done;
        if down_error.is_none() {
            part = first.tee(second, part)?;
            *down_error = second.drain(down, part, more).err();
        }
        now = passage.sent(now, part);
        first.read_exact(&mut keep[done..done + part])?;
        now = passage.received(now, 0);
        done += part;
    }
    Ok(came)
}

/// Moves what has come in, at most `length` bytes, through this process's memory; how many.
fn copy_slice(
    scratch: &mut Vec<u8>,
    up: &TcpStream,
    mut down: &TcpStream,
    keep: Option<&mut [u8]>,
    length: usize,
    down_error: &mut Option<io::Error>,
    passage: &mut Passage,
) -> io::Result<usize> {
    let began = passage.now();
    let came = take_slice(scratch, up, keep, length)?;
    let now = passage.received(began, came.len());
    if down_error.is_none() {
        *down_error = down.write_all(came).err();
    }
    passage.sent(now, came.len());
    Ok(came.len())
}

/// Takes what has come in, at most `length` bytes, into `keep` or else `scratch`.
fn take_slice<'a>(
    scratch: &'a mut Vec<u8>,
    up: &TcpStream,
    keep: Option<&'a mut [u8]>,
    length: usize,
) -> io::Result<&'a [u8]> {
    let buffer = match keep {
        Some(keep) => keep,
        None => {
            scratch.resize(SLICE, 0);
            scratch
        }
    };
    let slice = length.min(SLICE).min(buffer.len());
    match tcp::receive(up, &mut buffer[..slice])? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        came => Ok(&buffer[..came]),
    }
}

fn pad(mut down: &TcpStream, length: usize) -> io::Result<()> {
    let zeros = vec![0; SLICE.min(length)];
    let mut left = length;
    while left > 0 {
        let slice = left.min(SLICE);
        down.write_all(&zeros[..slice])?;
        left -= slice;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (near, listener.accept().unwrap().0)
    }

    fn pattern(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 7 % 251) as u8).collect()
    }

    #[test]
    fn both_ways_pass_on_and_keep_the_same_bytes() {
        for path in [Path::Splice, Path::Copy] {
            let (mut source, up) = pair();
            let (down, mut sink) = pair();
            let bytes = pattern(3 << 20);
            let mut kept = vec![0; bytes.len()];
            let mut passed = vec![0; bytes.len()];
            std::thread::scope(|scope| {
                scope.spawn(|| source.write_all(&bytes).unwrap());
                scope.spawn(|| sink.read_exact(&mut passed).unwrap());
                let mut conduit = Conduit::new(path, 64 << 10);
                let moved = conduit.transfer(
                    &up,
                    Some(&down),
                    Some(&mut kept),
                    bytes.len(),
                    &mut Passage::default(),
                );
                assert!(moved.up_error.is_none() && moved.down_error.is_none(), "{moved:?}");
            });
            assert!(kept == bytes && passed == bytes, "{path:?}");
        }
    }

    #[test]
    fn a_broken_upstream_is_made_up_by_zeros() {
        for path in [Path::Splice, Path::Copy] {
            let (mut source, up) = pair();
            let (down, mut sink) = pair();
            source.write_all(b"only this").unwrap();
            drop(source);
            let moved = Conduit::new(path, 64 << 10).transfer(
                &up,
                Some(&down),
                None,
                20,
                &mut Passage::default(),
            );
            assert!(moved.up_error.is_some() && moved.down_error.is_none(), "{path:?}: {moved:?}");
            let mut passed = [1; 20];
            sink.read_exact(&mut passed).unwrap();
            assert_eq!(&passed, b"only this\0\0\0\0\0\0\0\0\0\0\0");
        }
    }

    #[test]
    fn a_broken_downstream_costs_the_node_nothing() {
        for path in [Path::Splice, Path::Copy] {
            let (mut source, up) = pair();
            let (down, sink) = pair();
            drop(sink);
            let bytes = pattern(8 << 20);
            let mut kept = vec![0; bytes.len()];
            std::thread::scope(|scope| {
                scope.spawn(|| source.write_all(&bytes).unwrap());
                let mut conduit = Conduit::new(path, 64 << 10);
                let moved = conduit.transfer(
                    &up,
                    Some(&down),
                    Some(&mut kept),
                    bytes.len(),
                    &mut Passage::default(),
                );
                assert!(moved.up_error.is_none() && moved.down_error.is_some(), "{path:?}");
            });
            assert!(kept == bytes, "{path:?}");
        }
    }
}
