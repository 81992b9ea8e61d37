//! How many bytes a processor of this machine passes on in a second of its time.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

use rustix::fs::{MemfdFlags, memfd_create};

use crate::{clock, threads};

/// The bytes that tee and cat read at once: BUFSIZ of glibc.
const BUFSIZ: usize = 8192;

/// The number of bytes of a measurement.
const TOTAL: u64 = 48 << 20;

/// The length of the file that is written, again and again, in bytes.
const FILE: u64 = 8 << 20;

/// Returns the bytes that a repeater of this machine passes on in one second of processor time: one
/// program reads a TCP connection, and writes a file in memory and a pipe; another reads the pipe
/// in `blocks`, and writes a TCP connection. `pipe` is the capacity of the pipe; `None` for that of
/// the kernel. Both are in bytes. Time that other programs take does not count. The median of
/// three.
///
/// # Errors
/// When this process cannot use the loopback device, or the kernel has no such pipe.
pub fn bytes_per_second(pipe: Option<u64>, blocks: usize) -> io::Result<f64> {
    let mut all = [once(pipe, blocks)?, once(pipe, blocks)?, once(pipe, blocks)?];
    all.sort_by(f64::total_cmp);
    Ok(all[1])
}

fn once(pipe: Option<u64>, blocks: usize) -> io::Result<f64> {
    let ((mut source, mut arrives), (mut leaves, mut sink)) = (connection()?, connection()?);
    let (mut reading, mut writing) = io::pipe()?;
    if let Some(bytes) = pipe {
        crate::fifo::resize(writing.as_raw_fd(), bytes)?;
    }
    let mut file = File::from(memfd_create("copying", MemfdFlags::CLOEXEC)?);
    let feed = move || -> io::Result<()> {
        let block = vec![1; BUFSIZ];
        (0..TOTAL / BUFSIZ as u64).try_for_each(|_| source.write_all(&block))
    };
    let tee = move || -> io::Result<u64> {
        let mut block = vec![0; BUFSIZ];
        let mut at = 0;
        loop {
            let bytes = arrives.read(&mut block)?;
            if bytes == 0 {
                return Ok(clock::thread_cpu_ns());
            }
            at += bytes as u64;
            if at > FILE {
                (at, _) = (0, file.rewind()?);
            }
            file.write_all(&block[..bytes])?;
            writing.write_all(&block[..bytes])?;
        }
    };
    let pass = move || -> io::Result<u64> {
        let mut block = vec![0; blocks];
        loop {
            match reading.read(&mut block)? {
                0 => return Ok(clock::thread_cpu_ns()),
                bytes => leaves.write_all(&block[..bytes])?,
            }
        }
    };
    thread::scope(|scope| {
        let feeding = threads::spawn_in(scope, "feed", feed)?;
        let teeing = threads::spawn_in(scope, "tee", tee)?;
        let passing = threads::spawn_in(scope, "pass", pass)?;
        io::copy(&mut sink, &mut io::sink())?;
        let died = || io::Error::other("a thread panicked");
        feeding.join().map_err(|_| died())??;
        let spent = teeing.join().map_err(|_| died())?? + passing.join().map_err(|_| died())??;
        Ok(TOTAL as f64 / (spent as f64 / 1e9))
    })
}

/// Returns both ends of a TCP connection of this machine with itself.
fn connection() -> io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let sender = TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (receiver, from) = listener.accept()?;
        // Another user of this machine may connect first.
        if from == sender.local_addr()? {
            return Ok((sender, receiver));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_pipe_costs_more_of_the_processor() {
        let wide = bytes_per_second(None, 65536);
        let small = bytes_per_second(Some(4096), 512);
        let wide = wide.unwrap();
        let small = small.unwrap();
        eprintln!("{:.0} and {:.0} MB/s", wide / 1e6, small / 1e6);
        assert!(wide > small * 1.2 && small > 1e6, "{wide:e} and {small:e}");
    }
}
