//! How a block's bytes get from the upstream's socket to those of the downstreams and to a buffer,
//! slice by slice while they still arrive.
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
pub const SLICE_MAX: usize = 64 << 10;

/// Which way bytes take through a relay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// Inside the kernel; falls back to `Copy` where a socket can't be spliced, or there are several
    /// downstreams.
    Splice,
    /// Through this process's memory.
    #[default]
    Copy,
}

/// A downstream that a block goes on to.
#[derive(Debug)]
pub struct Onward<'a> {
    /// The link's epoch.
    pub epoch: u32,
    /// Its place in the plan.
    pub peer: u16,
    /// Its link.
    pub stream: &'a TcpStream,
    /// It broke; it got nothing after that.
    pub error: Option<io::Error>,
}

impl Onward<'_> {
    /// Gives it bytes, if it isn't broken.
    pub fn give(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = self.stream.write_all(bytes).err();
        }
    }
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

    /// Moves `length` bytes from `up` to all of `downs` and into `keep`, whichever are given. If `up`
    /// breaks, what the others have yet to get is made up by zeros, so that their streams keep their
    /// form.
    ///
    /// # Errors
    /// When the upstream broke before the block was whole.
    pub fn transfer(
        &mut self,
        up: &TcpStream,
        downs: &mut [Onward<'_>],
        keep: Option<&mut [u8]>,
        length: usize,
        passage: &mut Passage,
    ) -> io::Result<()> {
        let moved = match downs {
            [] => self.receive(up, keep, length, passage),
            downs => self.relay(up, downs, keep, length, passage),
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
    ) -> io::Result<()> {
        let mut done = 0;
        let mut now = passage.now();
        while done < length {
            let kept = keep.as_deref_mut().map(|keep| &mut keep[done..length]);
            set_low_water(up, self.slice.min(length - done));
            let came = take_slice(&mut self.scratch, up, kept, length - done)?;
            done += came.len();
            now = passage.received(now, came.len());
        }
        Ok(())
    }

    fn relay(
        &mut self,
        up: &TcpStream,
        downs: &mut [Onward<'_>],
        mut keep: Option<&mut [u8]>,
        length: usize,
        passage: &mut Passage,
    ) -> io::Result<()> {
        let mut done = 0;
        let mut water = 0;
        while done < length {
            let least = self.slice.min(length - done);
            if least != water {
                set_low_water(up, least);
                water = least;
            }
            let kept = keep.as_deref_mut().map(|keep| &mut keep[done..length]);
            let slice = match (&self.pipes, &mut *downs) {
                (Some(pipes), [down]) => {
                    splice_slice(pipes, up, down, kept, length - done, passage)
                }
                (_, downs) => {
                    copy_slice(&mut self.scratch, up, downs, kept, length - done, passage)
                }
            };
            match slice {
                Ok(bytes) => done += bytes,
                Err(error) if done == 0 && self.pipes.is_some() && pipe::is_unsupported(&error) => {
                    self.pipes = None;
                }
                Err(error) => {
                    downs.iter_mut().for_each(|down| pad(down, length - done));
                    self.empty_pipes(downs);
                    return Err(error);
                }
            }
        }
        self.empty_pipes(downs);
        Ok(())
    }

    fn empty_pipes(&mut self, downs: &[Onward<'_>]) {
        if self.pipes.is_some() && downs.iter().any(|down| down.error.is_some()) {
            // What a broken downstream didn't take is still in the pipe.
            self.pipes = Pipe::new().ok().zip(Pipe::new().ok());
        }
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
    down: &mut Onward<'_>,
    keep: Option<&mut [u8]>,
    length: usize,
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
        if down.error.is_none() {
            down.error = first.drain(down.stream, came, more).err();
        }
        passage.sent(now, down.peer, came);
        return Ok(came);
    };
    let mut done = 0;
    while done < came {
        let mut part = came - done;
        if down.error.is_none() {
            part = first.tee(second, part)?;
            down.error = second.drain(down.stream, part, more).err();
        }
        now = passage.sent(now, down.peer, part);
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
    downs: &mut [Onward<'_>],
    keep: Option<&mut [u8]>,
    length: usize,
    passage: &mut Passage,
) -> io::Result<usize> {
    let began = passage.now();
    let came = take_slice(scratch, up, keep, length)?;
    let mut now = passage.received(began, came.len());
    for down in downs {
        down.give(came);
        now = passage.sent(now, down.peer, came.len());
    }
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

fn pad(down: &mut Onward<'_>, length: usize) {
    let zeros = vec![0; SLICE.min(length)];
    let mut left = length;
    while left > 0 && down.error.is_none() {
        let slice = left.min(SLICE);
        down.give(&zeros[..slice]);
        left -= slice;
    }
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

    fn to(stream: &TcpStream) -> Onward<'_> {
        Onward { epoch: 0, peer: 0, stream, error: None }
    }

    #[test]
    fn both_ways_pass_on_and_keep_the_same_bytes() {
        for (path, branches) in [(Path::Splice, 1), (Path::Copy, 1), (Path::Splice, 3)] {
            let (mut source, up) = pair();
            let pairs: Vec<(TcpStream, TcpStream)> = (0..branches).map(|_| pair()).collect();
            let bytes = pattern(3 << 20);
            let mut kept = vec![0; bytes.len()];
            std::thread::scope(|scope| {
                scope.spawn(|| source.write_all(&bytes).unwrap());
                let sinks = pairs.iter().map(|(_, sink)| {
                    scope.spawn(|| {
                        let mut passed = vec![0; bytes.len()];
                        Read::read_exact(&mut &*sink, &mut passed).unwrap();
                        passed
                    })
                });
                let sinks: Vec<_> = sinks.collect();
                let mut downs: Vec<Onward<'_>> = pairs.iter().map(|(down, _)| to(down)).collect();
                let (mut conduit, keep) = (Conduit::new(path, 64 << 10), Some(&mut kept[..]));
                let passage = &mut Passage::default();
                conduit.transfer(&up, &mut downs, keep, bytes.len(), passage).unwrap();
                assert!(downs.iter().all(|down| down.error.is_none()), "{downs:?}");
                for sink in sinks {
                    assert!(sink.join().unwrap() == bytes, "{path:?}");
                }
            });
            assert!(kept == bytes, "{path:?}");
        }
    }

    #[test]
    fn a_broken_upstream_is_made_up_by_zeros() {
        for path in [Path::Splice, Path::Copy] {
            let (mut source, up) = pair();
            let (down, mut sink) = pair();
            source.write_all(b"only this").unwrap();
            drop(source);
            let (mut downs, passage) = ([to(&down)], &mut Passage::default());
            let moved = Conduit::new(path, 64 << 10).transfer(&up, &mut downs, None, 20, passage);
            assert!(moved.is_err() && downs[0].error.is_none(), "{path:?}: {moved:?}");
            let mut passed = [1; 20];
            sink.read_exact(&mut passed).unwrap();
            assert_eq!(&passed, b"only this\0\0\0\0\0\0\0\0\0\0\0");
        }
    }

    #[test]
    fn a_broken_downstream_costs_the_node_and_the_others_nothing() {
        for (path, branches) in [(Path::Splice, 0), (Path::Copy, 0), (Path::Copy, 1)] {
            let (mut source, up) = pair();
            let (down, sink) = pair();
            drop(sink);
            let others: Vec<(TcpStream, TcpStream)> = (0..branches).map(|_| pair()).collect();
            let bytes = pattern(8 << 20);
            let mut kept = vec![0; bytes.len()];
            std::thread::scope(|scope| {
                scope.spawn(|| source.write_all(&bytes).unwrap());
                for (_, sink) in &others {
                    let bytes = &bytes;
                    scope.spawn(move || {
                        let mut passed = vec![0; bytes.len()];
                        Read::read_exact(&mut &*sink, &mut passed).unwrap();
                        assert!(&passed == bytes);
                    });
                }
                let mut downs = vec![to(&down)];
                downs.extend(others.iter().map(|(down, _)| to(down)));
                let (mut conduit, keep) = (Conduit::new(path, 64 << 10), Some(&mut kept[..]));
                let passage = &mut Passage::default();
                conduit.transfer(&up, &mut downs, keep, bytes.len(), passage).unwrap();
                assert!(downs[0].error.is_some(), "{path:?}");
                assert!(downs[1..].iter().all(|down| down.error.is_none()), "{downs:?}");
            });
            assert!(kept == bytes, "{path:?}");
        }
    }
}
