//! Ends a standing agent of any protocol version: the head's side.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::Duration;

use garland_protocol::wire::{
    Channel, FRAME_HEAD, KeyPair, PublicKey, Purpose, RetireReply, RetireRequest, length_behind,
};
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpStream;
use garland_sys::{clock, threads};

use crate::detour;
use crate::dial::{ConnectionError, Timeouts, greet};
use crate::greeting::Credentials;
use crate::limits;
use crate::timed::Timed;

/// The time between attempts to connect to a port whose agent ends.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(20);

/// The least time for the end of an agent to which connections take a detour, each of which takes
/// seconds.
const DETOUR_TIMEOUT: Duration = Duration::from_secs(20);

/// Asks the agent at `address`, which must have the public key `theirs`, to end. After its consent,
/// which only the owner of that key can give, waits until nothing listens on its port. `timeout`
/// applies to the connection, to the greeting, to the answer, and to the end.
///
/// # Errors
/// When nothing answers in time, the agent does not have that key or does not understand this, or
/// it does not end. The connection is refused if the agent had ended before, or ends at the request
/// of another head at present; but also if somebody on the path says so. So this is no proof.
pub fn retire(
    address: SocketAddr,
    ours: &KeyPair,
    theirs: &PublicKey,
    request: RetireRequest,
    timeout: Duration,
) -> Result<RetireReply, ConnectionError> {
    let timeouts = Timeouts { connect: timeout, answer: timeout };
    let keys = Credentials::Keys(ours, *theirs);
    let asked = greet(address, timeouts, Purpose::Retire, &keys, &request.to_bytes())
        .and_then(|(stream, channel)| await_reply(&stream, channel, timeout));
    match asked {
        // What the port tells now is no more than a matter of time.
        Ok(RetireReply::Ends) => await_end(address, timeout).map(|_| RetireReply::Ends),
        // A connection also breaks if another head has asked the agent to end.
        Err(ConnectionError::Io(_)) => Err(await_end(address, timeout)?),
        stays => stays,
    }
}

/// Reads the agent's answer.
fn await_reply(
    stream: &TcpStream,
    mut channel: Channel,
    timeout: Duration,
) -> Result<RetireReply, ConnectionError> {
    let mut peer = Timed::begin(stream, timeout)?;
    let head: [u8; FRAME_HEAD] = peer.read_array()?;
    let garbage = |_| ConnectionError::Garbage;
    let length = length_behind(head, limits::MESSAGE).map_err(garbage)?;
    let mut frame = [&head[..], &vec![0; length]].concat();
    peer.read_exact(&mut frame[FRAME_HEAD..])?;
    let contents = channel.receiving.open(&mut frame).map_err(garbage)?.unwrap_or_default();
    RetireReply::parse(&contents).ok_or(ConnectionError::Garbage)
}

/// Waits until connections to `address` are refused: the listening socket of a process that ends
/// may be closed after its connections. Returns the refusal.
fn await_end(address: SocketAddr, timeout: Duration) -> Result<ConnectionError, ConnectionError> {
    let timeout = if detour::is_taken(&address) { timeout.max(DETOUR_TIMEOUT) } else { timeout };
    let until_ns = clock::after(timeout);
    loop {
        let error = match detour::connect(address, timeout, Transport::Tcp) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                return Ok(ConnectionError::Connect(address, error));
            }
            Err(error) => error,
            Ok(_) => io::ErrorKind::TimedOut.into(),
        };
        if clock::until(until_ns).is_zero() {
            return Err(ConnectionError::Connect(address, error));
        }
        threads::sleep(ATTEMPT_PAUSE);
    }
}
