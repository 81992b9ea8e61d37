//! Finds the largest packet that passes: tries the planned length, then bisects.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use garland_protocol::measure::MtuProbe;
use garland_sys::clock::after;
use garland_sys::datagram::DatagramSocket;
use garland_sys::{clock, event};

use super::responder::ECHO;

/// The size of the IPv4 and UDP headers in bytes.
const HEADERS: u16 = 28;

/// The datagram size in bytes which every host must accept (RFC 791).
const MIN_DATAGRAM: u16 = 576;

/// Timeouts of the attempts. There are several, since a lost packet or a busy node must not look
/// like a small MTU.
const ATTEMPT_TIMEOUTS: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(100),
    Duration::from_millis(200),
    Duration::from_millis(400),
];

/// The maximum number of probes of one order.
const MAX_PROBES: usize = 1024;

/// For each probe, returns the size of the largest packet that was answered, in bytes.
pub fn find(probes: &[MtuProbe]) -> io::Result<Vec<Option<u16>>> {
    probes.iter().take(MAX_PROBES).map(largest).collect()
}

fn largest(probe: &MtuProbe) -> io::Result<Option<u16>> {
    let socket = DatagramSocket::open(0, Some(&probe.nic))?;
    socket.never_cut()?;
    let mut number = 0;
    let mut passes = |bytes: u16| passes(&socket, probe, bytes, &mut number);
    if passes(probe.most)? {
        return Ok(Some(probe.most));
    }
    if probe.most <= MIN_DATAGRAM || !passes(MIN_DATAGRAM)? {
        return Ok(None);
    }
    let mut good = MIN_DATAGRAM;
    let mut bad = probe.most;
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if passes(middle)? { good = middle } else { bad = middle }
    }
    Ok(Some(good))
}

/// Returns whether a packet of `bytes` bytes, headers included, is answered.
fn passes(
    socket: &DatagramSocket,
    probe: &MtuProbe,
    bytes: u16,
    number: &mut u32,
) -> io::Result<bool> {
    let mut packet = vec![0; usize::from(bytes.saturating_sub(HEADERS)).max(5)];
    packet[0] = ECHO;
    for patience in ATTEMPT_TIMEOUTS {
        *number += 1;
        packet[1..5].copy_from_slice(&number.to_le_bytes());
        match socket.send(&packet, probe.to) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(EMSGSIZE) => return Ok(false),
            // No host answers for the address, or there is no route: the packet does not pass.
            Err(_) => {}
        }
        let deadline = after(patience);
        let mut answer = [0; 4];
        while clock::now_ns() < deadline {
            event::wait_readable(&[socket.as_fd()], Some(clock::until(deadline)))?;
            while let Ok(arrival) = socket.receive(&mut answer) {
                if arrival.length == 4 && u32::from_le_bytes(answer) == *number {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// The error of a packet that is longer than the NIC's MTU.
const EMSGSIZE: i32 = rustix::io::Errno::MSGSIZE.raw_os_error();
