//! Reads and writes of one file, several at once, by io_uring. Where it is forbidden or missing
//! (`Ring::new` fails: containers, kernel.io_uring_disabled), threads do it.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, types};

use crate::pages::Pages;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file.
    Read,
    /// To the file.
    Write,
}

/// A ring over one file, with a buffer for each operation that can be in flight. It stays with the
/// thread that made it, which alone may submit.
pub struct Ring {
    ring: IoUring,
    _stays: PhantomData<*const ()>,
    file: File,
    buffers: Option<Pages>,
    block: usize,
    in_flight: Vec<bool>,
}

/// An operation's end.
#[derive(Debug)]
pub struct Completion {
    /// Its buffer's number.
    pub slot: usize,
    /// How many bytes were moved.
    pub result: io::Result<usize>,
}

impl Ring {
    /// A ring for `depth` operations of `block` bytes each on `file`.
    ///
    /// # Errors
    /// When the kernel hasn't io_uring, or doesn't let this process use it.
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

    /// The buffer `slot`; nothing while the kernel has it.
    pub fn buffer(&mut self, slot: usize) -> Option<&mut [u8]> {
        if *self.in_flight.get(slot)? {
            return None;
        }
        self.buffers.as_mut()?.get_mut(slot * self.block..(slot + 1) * self.block)
    }

    /// Queues the move of a whole buffer at `offset`; it is submitted with the next `wait`.
    ///
    /// # Errors
    /// When that buffer is in flight, or there is none of that number.
    pub fn push(&mut self, slot: usize, direction: Direction, offset: u64) -> io::Result<()> {
        let length = u32::try_from(self.block).map_err(|_| io::ErrorKind::InvalidInput)?;
        let buffer = self.buffer(slot).ok_or(io::ErrorKind::InvalidInput)?.as_mut_ptr();
        let fd = types::Fd(self.file.as_raw_fd());
        let entry = match direction {
            Direction::Read => opcode::Read::new(fd, buffer, length).offset(offset).build(),
            Direction::Write => opcode::Write::new(fd, buffer, length).offset(offset).build(),
        };
        // SAFETY: the buffer and the descriptor are this value's own and stay until the completion
        // has come: `in_flight` keeps others from the buffer, and `drop` waits, or gives both up to
        // the kernel for ever.
        unsafe { self.ring.submission().push(&entry.user_data(slot as u64)) }
            .map_err(|_| io::Error::from(io::ErrorKind::WouldBlock))?;
        self.in_flight[slot] = true;
        Ok(())
    }

    /// Submits what is queued and waits for one completion at least, if something is in flight.
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

    /// An operation that has ended, if there is one.
    pub fn completion(&mut self) -> Option<Completion> {
        let entry = self.ring.completion().next()?;
        let slot = usize::try_from(entry.user_data()).ok()?;
        *self.in_flight.get_mut(slot)? = false;
        let result = usize::try_from(entry.result())
            .map_err(|_| io::Error::from_raw_os_error(-entry.result()));
        Some(Completion { slot, result })
    }
}

/// A ring whose completions are worked off where they are waited for: no interrupt for the thread in
/// between (as fio has it since 3.33). Kernels before 6.1 can't, and interrupt.
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
                // The kernel may still write into the buffers: they can't be freed.
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
