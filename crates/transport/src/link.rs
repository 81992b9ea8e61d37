//! Links: the connections between neighbours in a copy. In a Noise greeting both ends prove that
//! they know the copy's secret. Afterwards the link carries frames and sealed blocks, without
//! Noise.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use garland_protocol::{
    ChannelError, CopyId, FRAME_LEN, Frame, FrameError, Handshake, Keys, Kind, PREAMBLE_LEN,
    Preamble, Purpose, Role, Secret, VersionError,
};
use garland_sys::mptcp::Transport;
use garland_sys::tcp;
use thiserror::Error;

use crate::link_pool::LinkPool;
use crate::timed::Timed;
use garland_sys::error::reason;

/// Timeout for a greeting.
const GREETING: Duration = Duration::from_secs(2);

/// How long a parked connection may leave a greeting unacknowledged.
const WARM: Duration = Duration::from_millis(500);

/// The longest greeting message that is accepted, in bytes.
const GREETING_MAX: usize = 256;

/// The error of a link: its greeting failed, or it broke.
#[derive(Debug, Error)]
pub enum LinkError {
    /// The connection failed or broke.
    #[error("{reason}", reason = break_reason(.0))]
    Io(#[from] io::Error),
    /// The peer has another version.
    #[error(transparent)]
    Version(#[from] VersionError),
    /// The handshake failed, since the peer does not know the secret.
    #[error(transparent)]
    Channel(#[from] ChannelError),
    /// A frame is not authentic.
    #[error(transparent)]
    Frame(#[from] FrameError),
}

/// Returns the reason why a link broke, for messages.
pub fn break_reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the other end closed it".to_owned(),
        _ => reason(error),
    }
}

/// The copy, lane and epoch of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The copy.
    pub copy: CopyId,
    /// The number of the lane.
    pub lane: u16,
    /// The epoch of the lane's route.
    pub epoch: u32,
}

/// The parameters of a link that is opened.
pub struct Dial<'a> {
    /// The address of the downstream agent.
    pub address: SocketAddr,
    /// The copy, lane and epoch of the link.
    pub hop: Hop,
    /// The secret that both ends know.
    pub secret: &'a Secret,
    /// The keys derived from the secret.
    pub keys: &'a Keys,
    /// Congestion controls to use, best first.
    pub congestion: &'a [String],
    /// The transport of a new connection.
    pub transport: Transport,
}

/// Opens a link to the downstream agent, over a parked connection if one works, else over a new
/// one.
pub fn dial(to: &Dial<'_>, link_pool: Option<&LinkPool>) -> Result<TcpStream, LinkError> {
    if let Some(stream) = link_pool.and_then(|link_pool| link_pool.lease(to.address))
        // A connection whose peer is gone fails after this time, instead of the whole timeout.
        && tcp::break_unacknowledged(&stream, Some(WARM)).is_ok()
        && let Ok(stream) = greet(stream, to)
    {
        tcp::break_unacknowledged(&stream, None)?;
        return Ok(stream);
    }
    greet(tcp::connect(to.address, GREETING, to.transport)?, to)
}

fn greet(stream: TcpStream, to: &Dial<'_>) -> Result<TcpStream, LinkError> {
    let Dial { hop, secret, keys, congestion, .. } = *to;
    let congestion: Vec<&str> = congestion.iter().map(String::as_str).collect();
    // Errors are ignored: the kernel's default works, too.
    let _ = tcp::choose_congestion(&stream, &congestion);
    let mut timed = Timed::begin(&stream, GREETING);
    let ours = Preamble::ours(Purpose::Link).to_bytes();
    let mut shake = Handshake::link(Role::Initiator, secret, &ours)?;
    let mut open = Frame::bare(Kind::Open, hop.copy, hop.lane, 0);
    open.epoch = hop.epoch;
    offer(&mut timed, &mut shake, [&ours, &hop.copy.0, &open.to_bytes(keys)])?;
    stream.set_read_timeout(None)?;
    tcp::keep_alive(&stream)?;
    Ok(stream)
}

/// Answers the greeting of a peer that opens a link; its preamble, `theirs`, has been read. `find`
/// returns the secret and keys of a copy, and may wait briefly for it to begin.
pub fn accept<T: AsRef<Keys>>(
    peer: &mut Timed<'_>,
    theirs: &[u8; PREAMBLE_LEN],
    find: impl FnOnce(CopyId) -> Option<(Secret, T)>,
) -> Result<Hop, LinkError> {
    let mut copy = [0; 16];
    peer.read_exact(&mut copy)?;
    let hello = read_message(&mut *peer)?;
    let stranger = || LinkError::Channel(ChannelError::Refused);
    let (secret, keys) = peer.aside(|| find(CopyId(copy))).ok_or_else(stranger)?;
    let mut shake = Handshake::link(Role::Responder, &secret, theirs)?;
    answer(peer, &mut shake, Purpose::Link, &hello)?;
    let (open, _) = read_frame(&mut *peer, keys.as_ref())?;
    if open.kind != Kind::Open || open.copy != CopyId(copy) {
        return Err(LinkError::Frame(FrameError::Garbage));
    }
    peer.stream().set_read_timeout(None)?;
    tcp::keep_alive(peer.stream())?;
    Ok(Hop { copy: open.copy, lane: open.lane, epoch: open.epoch })
}

/// Reads a preamble and checks that its version fits this build.
pub fn read_preamble(mut stream: impl Read) -> Result<(Preamble, [u8; PREAMBLE_LEN]), LinkError> {
    let mut bytes = [0; PREAMBLE_LEN];
    stream.read_exact(&mut bytes)?;
    Ok((Preamble::parse(&bytes)?, bytes))
}

/// Reads a frame, and verifies it with the `keys` of its copy.
pub fn read_frame(
    mut stream: impl Read,
    keys: &Keys,
) -> Result<(Frame, [u8; FRAME_LEN]), LinkError> {
    let mut bytes = [0; FRAME_LEN];
    stream.read_exact(&mut bytes)?;
    Ok((Frame::parse(&bytes, keys)?, bytes))
}

/// Sends the connecting side's greeting: preamble, identity, the handshake's first message, and the
/// bytes that follow it. Then reads the answer.
pub(crate) fn offer(
    peer: &mut Timed<'_>,
    shake: &mut Handshake,
    [preamble, identity, rest]: [&[u8]; 3],
) -> Result<(), LinkError> {
    let mut hello = [preamble, identity].concat();
    put_message(&mut hello, &shake.write(&[])?);
    hello.extend(rest);
    peer.write_all(&hello)?;
    read_preamble(&mut *peer)?;
    shake.read(&read_message(&mut *peer)?)?;
    Ok(())
}

/// Answers a greeting for `purpose` whose first handshake message, `hello`, has been read.
pub fn answer(
    peer: &mut Timed<'_>,
    shake: &mut Handshake,
    purpose: Purpose,
    hello: &[u8],
) -> Result<(), LinkError> {
    shake.read(hello)?;
    let mut answer = Preamble::ours(purpose).to_bytes().to_vec();
    put_message(&mut answer, &shake.write(&[])?);
    Ok(peer.write_all(&answer)?)
}

/// Appends a greeting message with its length to `out`.
fn put_message(out: &mut Vec<u8>, message: &[u8]) {
    let length = u16::try_from(message.len()).expect("a greeting is short");
    out.extend(length.to_le_bytes());
    out.extend(message);
}

/// Reads a greeting message.
pub fn read_message(mut stream: impl Read) -> Result<Vec<u8>, LinkError> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let length = usize::from(u16::from_le_bytes(length));
    if length > GREETING_MAX {
        return Err(LinkError::Channel(ChannelError::TooLong(length)));
    }
    let mut message = vec![0; length];
    stream.read_exact(&mut message)?;
    Ok(message)
}
