//! How many bytes a processor of this machine copies in a second of its time.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::thread;

use crate::{clock, threads};

/// The bytes that are written and read at once, as by bw_tcp of lmbench.
const BLOCK: usize = 64 * 1024;

/// The number of bytes of a measurement.
const TOTAL: u64 = 128 << 20;

/// Returns the bytes that this machine sends to itself over TCP in one second of processor time, of the
/// sender and the receiver together: what bw_tcp of lmbench measures on a machine with one processor. Time
/// that other programs take does not count. The median of three.
///
/// # Errors
/// When this process cannot use the loopback device.
pub fn bytes_per_second() -> io::Result<f64> {
    let mut all = [once()?, once()?, once()?];
    all.sort_by(f64::total_cmp);
    Ok(all[1])
}

fn once() -> io::Result<f64> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    let (mut receiver, _) = listener.accept()?;
    let sends = move || -> io::Result<u64> {
        let block = vec![1; BLOCK];
        for _ in 0..TOTAL / BLOCK as u64 {
            sender.write_all(&block)?;
        }
        Ok(clock::thread_cpu_ns())
    };
    thread::scope(|scope| {
        let sending = threads::spawn_in(scope, "copying", sends)?;
        let before = clock::thread_cpu_ns();
        let mut block = vec![0; BLOCK];
        let mut received = 0;
        loop {
            match receiver.read(&mut block)? {
                0 => break,
                bytes => received += bytes as u64,
            }
        }
        let own = clock::thread_cpu_ns() - before;
        let other = sending.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))?;
        Ok(received as f64 / ((own + other) as f64 / 1e9))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_does_not_depend_on_what_else_runs() {
        let rate = bytes_per_second().unwrap();
        // More than machines of 2002 copied, less than caches carry.
        assert!((2e8..1e11).contains(&rate), "{rate:e}");
    }
}
