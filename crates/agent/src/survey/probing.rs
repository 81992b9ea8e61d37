//! Finds which nodes reach each other: all nodes send over every NIC, several times, and listen on
//! all of them.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use garland_core::nic_facts::Heard;
use garland_protocol::measure::{SurveyAnswer, Token};
use garland_sys::datagram::DatagramSocket;
use garland_sys::error::reason;
use garland_sys::packet::{EXPERIMENTAL, FrameSocket};
use garland_sys::{clock, event, nic};

use super::probe;
use super::responder::MAX_DATAGRAMS_AT_ONCE;

/// The times at which probes are sent, from the receipt of the order. There are several, since
/// nodes receive the order at different times, and frames may be lost.
const SENT_AFTER: [Duration; 5] = [
    Duration::from_millis(150),
    Duration::from_millis(350),
    Duration::from_millis(550),
    Duration::from_millis(750),
    Duration::from_millis(950),
];

/// How long to listen for probes, from the receipt of the order.
const LISTEN: Duration = Duration::from_millis(1400);

/// The maximum number of heard probes that are kept; enough for a thousand nodes on one medium.
const MAX_HEARD_PROBES: usize = 4096;

/// Probes with Ethernet frames of an experimental EtherType, and returns the probes heard. Answers
/// with `Refused` if the agent lacks the privileges.
pub fn frames(token: Token, node: u32) -> io::Result<SurveyAnswer> {
    let mut sockets = Vec::new();
    for nic in nic::list()? {
        match FrameSocket::open(nic.index, EXPERIMENTAL) {
            Ok(socket) => sockets.push((nic.name, socket)),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(SurveyAnswer::Refused(reason(&error)));
            }
            // The interface was removed, or is down: it receives nothing.
            Err(_) => {}
        }
    }
    let send = || {
        for (name, socket) in &sockets {
            // Errors are ignored: an interface that is down is reported by its carrier.
            let _ = socket.broadcast(&probe::write(&token, node, name));
        }
    };
    let mut heard = BTreeSet::new();
    let mut receive = |place: usize| {
        let (name, socket): &(String, FrameSocket) = &sockets[place];
        let mut buffer = [0; 128];
        let Ok(length) = socket.receive(&mut buffer) else { return false };
        note(&mut heard, &token, name, &buffer[..length]);
        true
    };
    let fds: Vec<BorrowedFd<'_>> = sockets.iter().map(|(_, socket)| socket.as_fd()).collect();
    exchange(&fds, send, &mut receive)?;
    Ok(SurveyAnswer::Heard(heard.into_iter().collect()))
}

/// Probes with broadcast datagrams to `port`, sent over each NIC, and returns the probes heard. For
/// each datagram that arrives, the kernel reports the receiving NIC.
pub fn datagrams(token: Token, node: u32, port: u16) -> io::Result<SurveyAnswer> {
    let everybody = SocketAddrV4::new(Ipv4Addr::BROADCAST, port);
    let ears = DatagramSocket::open(port, None)?;
    let nics = nic::list()?;
    let sockets = nics.iter().map(|nic| {
        let socket = DatagramSocket::open(0, Some(&nic.name))?;
        Ok((nic.name.as_str(), socket))
    });
    let sockets = sockets.collect::<io::Result<Vec<_>>>()?;
    let send = || {
        for (name, socket) in &sockets {
            // Errors are ignored: an interface that is down is reported by its carrier.
            let _ = socket.send(&probe::write(&token, node, name), everybody);
        }
    };
    let mut heard = BTreeSet::new();
    let mut receive = |_| {
        let mut buffer = [0; 128];
        let Ok(arrival) = ears.receive(&mut buffer) else { return false };
        if let Some(nic) = nics.iter().find(|nic| nic.index == arrival.interface) {
            note(&mut heard, &token, &nic.name, &buffer[..arrival.length]);
        }
        true
    };
    exchange(&[ears.as_fd()], send, &mut receive)?;
    Ok(SurveyAnswer::Heard(heard.into_iter().collect()))
}

fn note(heard: &mut BTreeSet<Heard>, token: &Token, by: &str, bytes: &[u8]) {
    if let Some((node, nic)) = probe::read(token, bytes)
        && heard.len() < MAX_HEARD_PROBES
    {
        heard.insert(Heard { by: by.to_owned(), node, nic });
    }
}

/// Calls `send` at the times of [`SENT_AFTER`], and `receive` with the index of each socket that
/// has data, until [`LISTEN`] is over. `receive` takes one message, and returns whether there was
/// one.
fn exchange(
    fds: &[BorrowedFd<'_>],
    send: impl Fn(),
    receive: &mut dyn FnMut(usize) -> bool,
) -> io::Result<()> {
    let begin = clock::now_ns();
    let at = |after: Duration| begin + u64::try_from(after.as_nanos()).unwrap_or(u64::MAX >> 1);
    let mut times = SENT_AFTER.into_iter().map(at).peekable();
    loop {
        let now = clock::now_ns();
        if times.next_if(|time| *time <= now).is_some() {
            send();
        }
        if now >= at(LISTEN) {
            return Ok(());
        }
        let next = times.peek().copied().unwrap_or_else(|| at(LISTEN));
        let ready = event::wait_readable(fds, Some(clock::until(next)))?;
        for (place, _) in ready.into_iter().enumerate().filter(|(_, ready)| *ready) {
            // Whoever floods the port must not keep this thread from ending.
            let _ = (0..MAX_DATAGRAMS_AT_ONCE).all(|_| receive(place));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    #[test]
    fn a_flood_does_not_keep_it_from_ending() {
        // It always has data.
        let endless = File::open("/dev/zero").unwrap();
        let mut count = 0_u64;
        let mut receive = |_| {
            count += 1;
            true
        };
        exchange(&[endless.as_fd()], || {}, &mut receive).unwrap();
        assert!(count > MAX_DATAGRAMS_AT_ONCE as u64);
    }
}
