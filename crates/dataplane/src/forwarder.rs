//! Moves the bytes of a block from the upstream's socket to the sockets of the downstreams and into
//! a buffer, slice by slice while they arrive. The bytes are read into memory once and written from
//! there.

use std::io::{self, Write};

use garland_sys::socket::TcpStream;
use garland_sys::tcp;

use crate::context::Link;
use crate::recorder::LaneTracer;

/// The number of bytes that one call reads or writes at most.
const SLICE: usize = 256 << 10;

/// The maximum number of bytes that a relay waits for before it forwards them. Larger slices would
/// cost more than the wake-ups that they save: bytes that are forwarded late have left the CPU's
/// cache.
pub const SLICE_MAX: usize = 64 << 10;

/// The link to a downstream that a block is written to.
#[derive(Debug)]
pub struct DownstreamWriter {
    /// The link.
    pub link: Link,
    /// The error that broke the link, if any; nothing is written after it.
    pub error: Option<io::Error>,
}

impl DownstreamWriter {
    /// Writes `bytes`, unless the link is broken. Stores an error in `error`.
    pub fn give(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            self.error = (&*self.link.stream).write_all(bytes).err();
        }
    }
}

/// Moves the blocks of a lane from the upstream to the downstreams.
#[derive(Debug)]
pub struct Forwarder {
    scratch: Vec<u8>,
    slice: usize,
}

impl Forwarder {
    /// Returns a forwarder that waits for `slice` bytes, at least 1 and at most [`SLICE_MAX`],
    /// before it forwards them. Fewer bytes would wake the CPU too often; more would delay the
    /// nodes at the end of a long chain.
    pub fn new(slice: usize) -> Self {
        Self { scratch: Vec::new(), slice: slice.clamp(1, SLICE_MAX) }
    }

    /// Reads `length` bytes from `up` and writes them to all of `downs`; stores them in `keep`, if
    /// given. If `up` breaks, the downstreams receive zeros for the rest of the block, so that the
    /// next frame follows where they expect it.
    ///
    /// # Errors
    /// When the upstream breaks within the block. Errors of downstreams are stored in their
    /// writers.
    pub fn transfer(
        &mut self,
        up: &TcpStream,
        downs: &mut [DownstreamWriter],
        keep: Option<&mut [u8]>,
        length: usize,
        tracer: &mut LaneTracer,
    ) -> io::Result<()> {
        let moved = self.relay(up, downs, keep, length, tracer);
        set_low_water(up, 1);
        moved
    }

    fn relay(
        &mut self,
        up: &TcpStream,
        downs: &mut [DownstreamWriter],
        mut keep: Option<&mut [u8]>,
        length: usize,
        tracer: &mut LaneTracer,
    ) -> io::Result<()> {
        let mut done = 0;
        let mut water = 0;
        let mut now = tracer.now();
        while done < length {
            let least = self.slice.min(length - done);
            if least != water {
                set_low_water(up, least);
                water = least;
            }
            let kept = keep.as_deref_mut().map(|keep| &mut keep[done..length]);
            let rest = length - done;
            let came = take_slice(&mut self.scratch, up, kept, rest)
                .inspect_err(|_| downs.iter_mut().for_each(|down| pad(down, rest)))?;
            now = tracer.received(now, came.len());
            for down in &mut *downs {
                down.give(came);
                now = tracer.sent(now, down.link.peer, came.len());
            }
            done += came.len();
        }
        Ok(())
    }
}

/// Sets SO_RCVLOWAT, so that the thread is woken only when `bytes` bytes have arrived. Errors are
/// ignored: the thread is then woken more often.
fn set_low_water(up: &TcpStream, bytes: usize) {
    let _ = tcp::set_low_water(up, u32::try_from(bytes).unwrap_or(u32::MAX));
}

/// Waits for bytes, and reads at most `length` of them into `keep`, or into `scratch` if `keep` is
/// none. Returns the bytes read.
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

fn pad(down: &mut DownstreamWriter, length: usize) {
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
    use std::sync::Arc;

    use garland_protocol::copy::LinkSide;
    use garland_sys::socket::pair;

    use super::*;

    fn pattern(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 7 % 251) as u8).collect()
    }

    fn to(stream: &TcpStream) -> DownstreamWriter {
        let stream = Arc::new(stream.try_clone().unwrap());
        let link = Link { side: LinkSide::Down, epoch: 0, peer: 0, stream, opened_ns: 0 };
        DownstreamWriter { link, error: None }
    }

    /// Moves `length` bytes by a new forwarder.
    fn transfer(
        up: &TcpStream,
        downs: &mut [DownstreamWriter],
        keep: Option<&mut [u8]>,
        length: usize,
    ) -> io::Result<()> {
        Forwarder::new(64 << 10).transfer(up, downs, keep, length, &mut LaneTracer::default())
    }

    /// Reads `length` bytes from a downstream's end of a link.
    fn received(mut sink: &TcpStream, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        sink.read_exact(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn bytes_are_passed_on_and_kept() {
        for branches in [1, 3] {
            let (mut source, up) = pair().unwrap();
            let pairs: Vec<(TcpStream, TcpStream)> =
                (0..branches).map(|_| pair().unwrap()).collect();
            let bytes = pattern(3 << 20);
            let mut kept = vec![0; bytes.len()];
            std::thread::scope(|scope| {
                scope.spawn(|| source.write_all(&bytes).unwrap());
                let length = bytes.len();
                let sinks: Vec<_> = pairs
                    .iter()
                    .map(|(_, sink)| scope.spawn(move || received(sink, length)))
                    .collect();
                let mut downs: Vec<DownstreamWriter> =
                    pairs.iter().map(|(down, _)| to(down)).collect();
                transfer(&up, &mut downs, Some(&mut kept), bytes.len()).unwrap();
                assert!(downs.iter().all(|down| down.error.is_none()), "{downs:?}");
                for sink in sinks {
                    assert!(sink.join().unwrap() == bytes, "{branches} branches");
                }
            });
            assert!(kept == bytes, "{branches} branches");
        }
    }

    #[test]
    fn a_broken_upstream_is_replaced_by_zeros() {
        let (mut source, up) = pair().unwrap();
        let (down, sink) = pair().unwrap();
        source.write_all(b"only this").unwrap();
        drop(source);
        let mut downs = [to(&down)];
        let moved = transfer(&up, &mut downs, None, 20);
        assert!(moved.is_err() && downs[0].error.is_none(), "{moved:?}");
        assert_eq!(received(&sink, 20), b"only this\0\0\0\0\0\0\0\0\0\0\0");
    }

    #[test]
    fn a_broken_downstream_costs_the_node_and_the_others_nothing() {
        for branches in [0, 1] {
            let (mut source, up) = pair().unwrap();
            let (down, sink) = pair().unwrap();
            drop(sink);
            let others: Vec<(TcpStream, TcpStream)> =
                (0..branches).map(|_| pair().unwrap()).collect();
            let bytes = pattern(8 << 20);
            let mut kept = vec![0; bytes.len()];
            std::thread::scope(|scope| {
                scope.spawn(|| source.write_all(&bytes).unwrap());
                for (_, sink) in &others {
                    let bytes = &bytes;
                    scope.spawn(move || assert!(received(sink, bytes.len()) == *bytes));
                }
                let mut downs = vec![to(&down)];
                downs.extend(others.iter().map(|(down, _)| to(down)));
                transfer(&up, &mut downs, Some(&mut kept), bytes.len()).unwrap();
                assert!(downs[0].error.is_some(), "{branches} branches");
                assert!(downs[1..].iter().all(|down| down.error.is_none()), "{downs:?}");
            });
            assert!(kept == bytes, "{branches} branches");
        }
    }

    #[test]
    fn a_broken_downstream_costs_a_node_that_keeps_nothing_nothing() {
        let (mut source, up) = pair().unwrap();
        let (down, sink) = pair().unwrap();
        drop(sink);
        up.set_read_timeout(Some(std::time::Duration::from_secs(10))).unwrap();
        let (done, is_done) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let mut downs = vec![to(&down)];
            let moved = transfer(&up, &mut downs, None, 8 << 20);
            done.send((moved.is_ok(), downs[0].error.is_some())).unwrap();
        });
        std::thread::spawn(move || source.write_all(&pattern(8 << 20)));
        let moved = is_done.recv_timeout(std::time::Duration::from_secs(20));
        assert_eq!(moved, Ok((true, true)), "the block must go on without the downstream");
    }
}
