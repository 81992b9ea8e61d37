//! Concurrent reads and writes of one file by io_uring(7). If io_uring is missing or forbidden (in
//! containers, or by kernel.io_uring_disabled), `Ring::new` fails, and the caller uses threads.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, types};

use crate::pages::Pages;

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

/// An io_uring for one file, with one buffer for each operation that can be in flight. Only the
/// thread that created it may submit operations.
pub struct Ring {
    ring: IoUring,
    _stays: PhantomData<*const ()>,
    file: File,
    buffers: Option<Pages>,
    block: usize,
    in_flight: Vec<bool>,
}

/// The result of a completed operation.
#[derive(Debug)]
pub struct Completion {
    /// The number of the operation's buffer.
    pub slot: usize,
    /// The number of transferred bytes, or the error of the operation.
    pub result: io::Result<usize>,
}

impl Ring {
    /// Creates a ring for `file`. Up to `depth` operations of `block` bytes each can be in flight.
    ///
    /// # Errors
    /// When the kernel lacks io_uring, or forbids it to this process.
    pub fn new(file: &File, depth: usize, block: usize) -> io::Result<Self> {
        let entries = u32::try_from(depth).map_err(|_| io::ErrorKind::InvalidInput)?;
        let ring = build(entries.next_power_of_two())?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::Read::CODE) || !probe.is_supported(opcode::Write::CODE) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Ok(Self {
            ring,
            _stays: PhantomData,
            file: file.try_clone()?,
            buffers: Some(Pages::new(depth * block)?),
            block,
            in_flight: vec![false; depth],
        })
    }

    /// Returns the buffer number `slot`; `None` while an operation on it is in flight.
    pub fn buffer(&mut self, slot: usize) -> Option<&mut [u8]> {
        if *self.in_flight.get(slot)? {
            return None;
        }
        self.buffers.as_mut()?.get_mut(slot * self.block..(slot + 1) * self.block)
    }

    /// Queues an operation that transfers the whole buffer `slot` at `offset` in the file. The next
    /// [`wait`](Self::wait) submits it.
    ///
    /// # Errors
    /// When an operation on the buffer is in flight, or there is no such buffer.
    pub fn push(&mut self, slot: usize, direction: Direction, offset: u64) -> io::Result<()> {
        let length = u32::try_from(self.block).map_err(|_| io::ErrorKind::InvalidInput)?;
        let buffer = self.buffer(slot).ok_or(io::ErrorKind::InvalidInput)?.as_mut_ptr();
        let fd = types::Fd(self.file.as_raw_fd());
        let entry = match direction {
            Direction::Read => opcode::Read::new(fd, buffer, length).offset(offset).build(),
            Direction::Write => opcode::Write::new(fd, buffer, length).offset(offset).build(),
        };
        // SAFETY: this value owns the buffer and the descriptor, and keeps both until the operation
        // completes: `in_flight` prevents other uses of the buffer, and `drop` waits for the
        // completion, or leaks the buffers.
        unsafe { self.ring.submission().push(&entry.user_data(slot as u64)) }
            .map_err(|_| io::Error::from(io::ErrorKind::WouldBlock))?;
        self.in_flight[slot] = true;
        Ok(())
    }

    /// Submits the queued operations and waits for at least one completion if any operation is in
    /// flight.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn wait(&mut self) -> io::Result<()> {
        let wanted = usize::from(self.in_flight.contains(&true));
        loop {
            match self.ring.submit_and_wait(wanted) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result.map(drop),
            }
        }
    }

    /// Returns the next completed operation; `None` if there is none.
    pub fn completion(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        let slot = usize::try_from(entry.user_data()).ok()?;
        *self.in_flight.get_mut(slot)? = false;
        let result = usize::try_from(entry.result())
            .map_err(|_| io::Error::from_raw_os_error(-entry.result()));
        Some(Completion { slot, result })
    }
}

/// Creates a ring for `entries` operations that processes completions only while the thread waits
/// for them, so that they do not interrupt it (as fio does since 3.33). On kernels before 6.1,
/// which lack this mode, completions interrupt the thread.
fn build(entries: u32) -> io::Result<IoUring> {
    let quiet = IoUring::builder()
        .setup_clamp()
        .setup_coop_taskrun()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .build(entries);
    match quiet {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            IoUring::builder().setup_clamp().build(entries)
        }
        built => built,
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        while self.in_flight.contains(&true) {
            if self.wait().is_err() {
                // The kernel may still write into the buffers, so they must not be freed.
                std::mem::forget(self.buffers.take());
                return;
            }
            while self.completion().is_some() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn blocks_go_there_and_back() {
        let path = std::env::temp_dir().join(format!("garland-uring-{}", std::process::id()));
        let file =
            File::options().read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut ring = Ring::new(&file, 4, 4096).unwrap();
        for slot in 0..4 {
            ring.buffer(slot).unwrap().fill(b'a' + slot as u8);
            ring.push(slot, Direction::Write, 4096 * slot as u64).unwrap();
            assert!(ring.buffer(slot).is_none(), "the kernel has it");
            assert!(ring.push(slot, Direction::Write, 0).is_err());
        }
        let mut ended = 0;
        while ended < 4 {
            ring.wait().unwrap();
            while let Some(completion) = ring.completion() {
                assert_eq!(completion.result.unwrap(), 4096);
                ended += 1;
            }
        }
        let mut bytes = vec![0; 16_384];
        file.read_exact_at(&mut bytes, 0).unwrap();
        assert!(
            bytes.chunks(4096).zip(b"abcd").all(|(block, byte)| block.iter().all(|b| b == byte))
        );
        ring.push(2, Direction::Read, 1 << 30).unwrap();
        ring.wait().unwrap();
        assert_eq!(ring.completion().unwrap().result.unwrap(), 0, "the file ends before");
        ring.push(3, Direction::Read, 0).unwrap();
        drop(ring);
    }
}
