//! Finds the largest packet that passes: tries the planned length, then bisects.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use garland_protocol::measure::MtuProbe;
use garland_sys::clock::after;
use garland_sys::datagram::DatagramSocket;
use garland_sys::{clock, event, random};

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
    let fits = |bytes: u16| passes(&socket, probe, bytes);
    if fits(probe.most)? {
        return Ok(Some(probe.most));
    }
    if probe.most <= MIN_DATAGRAM || !fits(MIN_DATAGRAM)? {
        return Ok(None);
    }
    let mut good = MIN_DATAGRAM;
    let mut bad = probe.most;
    while bad - good > 1 {
        let middle = good + (bad - good) / 2;
        if fits(middle)? { good = middle } else { bad = middle }
    }
    Ok(Some(good))
}

/// Returns whether a packet of `bytes` bytes, headers included, is answered.
fn passes(socket: &DatagramSocket, probe: &MtuProbe, bytes: u16) -> io::Result<bool> {
    let mut packet = vec![0; usize::from(bytes.saturating_sub(HEADERS)).max(5)];
    packet[0] = ECHO;
    for patience in ATTEMPT_TIMEOUTS {
        // A stranger who is not on the path cannot guess the number, and so cannot answer.
        let number: [u8; 4] = random::bytes();
        packet[1..5].copy_from_slice(&number);
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
            while clock::now_ns() < deadline
                && let Ok(arrival) = socket.receive(&mut answer)
            {
                if arrival.length == answer.len() && arrival.from == probe.to && answer == number {
                    return Ok(true);
                }
            }
        }
    }
    Ok(false)
}

/// The error of a packet that is longer than the NIC's MTU.
const EMSGSIZE: i32 = rustix::io::Errno::MSGSIZE.raw_os_error();

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};

    use super::super::responder::Responder;
    use super::*;

    /// Answers `probe` from `from` with what `answer` makes of the number of each datagram that
    /// arrives at `at`, and returns the size that passed.
    fn found(at: &UdpSocket, from: &UdpSocket, answer: fn([u8; 4]) -> Vec<u8>) -> Option<u16> {
        let to: SocketAddrV4 = at.local_addr().unwrap().to_string().parse().unwrap();
        at.set_read_timeout(Some(Duration::from_secs(2))).unwrap();
        let probe = MtuProbe { nic: "lo".to_owned(), to, most: 500 };
        std::thread::scope(|scope| {
            let finding = scope.spawn(move || largest(&probe).unwrap());
            let mut packet = [0; 600];
            while !finding.is_finished()
                && let Ok((_, asking)) = at.recv_from(&mut packet)
            {
                from.send_to(&answer(packet[1..5].try_into().unwrap()), asking).unwrap();
            }
            finding.join().unwrap()
        })
    }

    #[test]
    fn only_who_was_asked_and_received_the_packet_can_answer() {
        let [at, other] = [(); 2].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
        assert_eq!(found(&at, &at, |number| number.to_vec()), Some(500));
        assert_eq!(found(&at, &other, |number| number.to_vec()), None);
        // Of numbers that count from 1, a stranger sends some.
        let guesses = |_| 1_u32.to_le_bytes().to_vec();
        assert_eq!(found(&at, &at, guesses), None);
    }

    #[test]
    fn a_responder_answers_from_the_address_that_was_asked() {
        let own = Ipv4Addr::new(127, 0, 0, 3);
        let responder = Responder::open(&[own]).unwrap();
        let to = SocketAddrV4::new(own, responder.ports.0);
        let probe = MtuProbe { nic: "lo".to_owned(), to, most: 1500 };
        assert_eq!(find(&[probe]).unwrap(), [Some(1500)]);
    }
}
