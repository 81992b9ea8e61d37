//! The Unix sockets of a network namespace that somebody listens on, and whose they are
//! (sock_diag(7)).

use std::io::{self, ErrorKind};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};

/// The length of the header of a message, `struct nlmsghdr`.
const HEADER: usize = 16;

/// The type of a request for sockets, and of a message about one (`SOCK_DIAG_BY_FAMILY`).
const BY_FAMILY: u16 = 20;

/// The type of a message with an error (`NLMSG_ERROR`).
const FAILED: u16 = 2;

/// The type of the last message (`NLMSG_DONE`).
const DONE: u16 = 3;

/// The flags of a request for all sockets (`NLM_F_REQUEST | NLM_F_DUMP`).
const DUMP: u16 = 0x301;

/// The state of a socket that is listened on (`TCP_LISTEN`).
const LISTEN: u32 = 10;

/// What is asked of each socket: its name and its user (`UDIAG_SHOW_NAME | UDIAG_SHOW_UID`).
const REQUESTED_ATTRIBUTES: u32 = 0x1 | 0x40;

/// The length of what precedes the attributes in a message, `struct unix_diag_msg`. Its second byte
/// is the type of the socket.
const FIXED: usize = 16;

/// The type of a stream socket.
const STREAM: u8 = 1;

/// The number of the attribute with the name (`UNIX_DIAG_NAME`).
const NAME: u16 = 0;

/// The number of the attribute with the user (`UNIX_DIAG_UID`), which Linux 5.3 added.
const USER: u16 = 7;

/// The most bytes that the kernel puts into one packet.
const PACKET_MAX: usize = 32 << 10;

/// Calls `tell` with the abstract name and the user of each stream socket that is listened on. The
/// name has no leading zero byte.
///
/// # Errors
/// When the kernel does not tell, or is older than 5.3.
pub(crate) fn listening(tell: &mut dyn FnMut(&[u8], u32)) -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    let protocol = Some(netlink::SOCK_DIAG);
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol)?;
    send(&socket, &request(), SendFlags::empty())?;
    let mut room = vec![0; PACKET_MAX];
    loop {
        let (_, length) = recv(&socket, &mut room[..], RecvFlags::TRUNC)?;
        let packet = room.get(..length).ok_or(ErrorKind::InvalidData)?;
        if !read_packet(packet, tell)? {
            return Ok(());
        }
    }
}

/// Returns the request: a header, and `struct unix_diag_req`.
fn request() -> Vec<u8> {
    let family = AddressFamily::UNIX.as_raw() as u8;
    let any_cookie = u32::MAX;
    let mut asked = vec![family, 0, 0, 0];
    for number in [1 << LISTEN, 0, REQUESTED_ATTRIBUTES, any_cookie, any_cookie] {
        asked.extend(u32::to_ne_bytes(number));
    }
    let length = (HEADER + asked.len()) as u32;
    let mut request = length.to_ne_bytes().to_vec();
    request.extend(BY_FAMILY.to_ne_bytes());
    request.extend(DUMP.to_ne_bytes());
    // The numbers of the request and of its sender, of which there is one only.
    request.extend([0; 8]);
    request.extend(asked);
    request
}

/// Reads the messages of a packet. Returns whether others follow.
fn read_packet(mut packet: &[u8], tell: &mut dyn FnMut(&[u8], u32)) -> io::Result<bool> {
    while let Some(length) = u32_at(packet, 0).filter(|_| packet.len() >= HEADER) {
        let message = packet.get(HEADER..length as usize).ok_or(ErrorKind::InvalidData)?;
        match u16_at(packet, 4) {
            Some(DONE) => return Ok(false),
            Some(FAILED) => {
                let number = u32_at(message, 0).map_or(0, u32::cast_signed);
                return Err(Errno::from_raw_os_error(number.saturating_neg()).into());
            }
            Some(BY_FAMILY) => read_socket(message, tell)?,
            _ => {}
        }
        packet = packet.get(aligned(length as usize)..).unwrap_or_default();
    }
    Ok(true)
}

/// Reads the message about a socket.
fn read_socket(message: &[u8], tell: &mut dyn FnMut(&[u8], u32)) -> io::Result<()> {
    let is_stream = message.get(1) == Some(&STREAM);
    let mut attributes = message.get(FIXED..).unwrap_or_default();
    let mut name = None;
    let mut user = None;
    while let Some(length) = u16_at(attributes, 0) {
        let value = attributes.get(4..length.into()).ok_or(ErrorKind::InvalidData)?;
        match u16_at(attributes, 2) {
            // The name of a socket that is none of a file begins with a zero byte.
            Some(NAME) => name = value.strip_prefix(b"\0"),
            Some(USER) => user = u32_at(value, 0),
            _ => {}
        }
        attributes = attributes.get(aligned(length.into())..).unwrap_or_default();
    }
    let user = user.ok_or(ErrorKind::Unsupported)?;
    if let Some(name) = name.filter(|_| is_stream) {
        tell(name, user);
    }
    Ok(())
}

/// Messages and attributes begin at multiples of four bytes.
fn aligned(length: usize) -> usize {
    length.next_multiple_of(4)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_ne_bytes(*bytes))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_ne_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_are_cut_are_refused_or_end_early() {
        let mut packet = Vec::new();
        packet.extend(36_u32.to_ne_bytes());
        packet.extend(BY_FAMILY.to_ne_bytes());
        packet.extend([0; 10]);
        packet.extend([1, STREAM, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        packet.extend([4, 0, 0, 0]);
        for length in 0..=packet.len() {
            // Without its user, no socket is believed.
            let read = read_packet(&packet[..length], &mut |_, _| panic!("{length}"));
            assert_eq!(read.is_ok(), length < HEADER, "{length}");
        }
        let user = [8, 0, USER as u8, 0, 7, 0, 0, 0];
        packet[0] += user.len() as u8;
        packet[32] = 7;
        packet.splice(36.., [0, b'a', b'b', 0].into_iter().chain(user));
        packet[0] += 4;
        let mut told = Vec::new();
        let more = read_packet(&packet, &mut |name, user| told.push((name.to_vec(), user)));
        assert!(more.unwrap());
        assert_eq!(told, [(b"ab".to_vec(), 7)]);
    }
}
