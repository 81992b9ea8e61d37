//! What a link carries: a short connection by one NIC, measured where it arrives.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use garland_core::proto::SurveyAnswer;
use garland_sys::arrival::Arrival;
use garland_sys::event::{self, Interest};
use garland_sys::{clock, tcp};

/// The longest that a connection may be asked to take.
const MOST_MILLIS: u32 = 5_000;

/// How much longer the answer may take.
const PATIENCE_NS: u64 = 5_000_000_000;

/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(2);

/// Counts what arrives, after a quarter of the time in which the sender finds its pace.
pub struct Meter {
    warm: u64,
    end: u64,
    last_end: u64,
    first: Option<Arrival>,
    last: Arrival,
}

impl Meter {
    /// For so many milliseconds from `now`, and five times as long while little came.
    pub fn new(millis: u32, now: u64) -> Self {
        let length = u64::from(millis.clamp(1, MOST_MILLIS)) * 1_000_000;
        let (warm, end, last_end) = (now + length / 4, now + length, now + 5 * length);
        let last = Arrival { at_ns: now, bytes: 0 };
        Self { warm, end, last_end, first: None, last }
    }

    /// So much has come by now.
    pub fn note(&mut self, arrived: Arrival) {
        if arrived.at_ns >= self.warm {
            self.first.get_or_insert(arrived);
        }
        self.last = arrived;
    }

    /// Whether it has seen enough.
    pub fn is_over(&self) -> bool {
        const LITTLE: u64 = 64 << 10;
        let now = self.last.at_ns;
        now >= self.last_end || (now >= self.end && self.counted().bytes >= LITTLE)
    }

    /// Bits per second.
    pub fn rate(&self) -> f64 {
        let Arrival { at_ns: window, bytes } = self.counted();
        if window == 0 { 0.0 } else { bytes as f64 * 8e9 / window as f64 }
    }

    /// What came in the time that counts, and how long that is.
    fn counted(&self) -> Arrival {
        let first = self.first.unwrap_or(self.last);
        let at_ns = self.last.at_ns.saturating_sub(first.at_ns);
        Arrival { at_ns, bytes: self.last.bytes.saturating_sub(first.bytes) }
    }
}

/// Sends by one NIC until the receiver has measured it.
pub fn send(nic: &str, to: SocketAddrV4, millis: u32) -> io::Result<SurveyAnswer> {
    let millis = millis.clamp(1, MOST_MILLIS);
    let mut stream = tcp::connect_by(nic, to.into(), CONNECT)?;
    // The wire is to be measured, not what bbr takes it for.
    tcp::choose_congestion(&stream, &tcp::PREFERRED)?;
    stream.write_all(&millis.to_le_bytes())?;
    stream.set_nonblocking(true)?;
    let piece = vec![0x5a; 256 << 10];
    let deadline = clock::now_ns() + 5 * u64::from(millis) * 1_000_000 + PATIENCE_NS;
    let rate = answered(&mut stream, &piece, deadline);
    // What still waits in buffers is of no use; a reset spares the wire the rest.
    tcp::reset_on_close(&stream)?;
    rate.map(SurveyAnswer::Rate)
}

fn answered(stream: &mut TcpStream, piece: &[u8], deadline: u64) -> io::Result<f64> {
    let mut rate = [0; 8];
    let mut read = 0;
    while clock::now_ns() < deadline {
        let interest = Interest { fd: stream.as_fd(), write: true };
        let ready = event::wait(&[interest], Some(clock::until(deadline)))?;
        if ready[0].read {
            match stream.read(&mut rate[read..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if read == rate.len() {
                return Ok(f64::from_le_bytes(rate));
            }
        }
        if ready[0].write {
            match stream.write(piece) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_quarter_does_not_count() {
        let mut meter = Meter::new(400, 0);
        let mut bytes = 0;
        for millisecond in 0..=400 {
            assert!(!meter.is_over());
            bytes += if millisecond < 100 { 1 } else { 1000 };
            meter.note(Arrival { at_ns: millisecond * 1_000_000, bytes });
        }
        assert!(meter.is_over());
        assert!((meter.rate() / 8e6 - 1.0).abs() < 1e-9);
    }
}
