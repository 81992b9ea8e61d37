//! An agent for tests, which answers what and when a test wants.

use std::io::{Read, Write};
use std::time::Duration;

use garland_protocol::files::{
    Answer, FILES_LINKS, FRAME_MAX, FileReply, FileRequest, open_file_frame, seal_file_frame,
};
use garland_protocol::wire::{Channel, FRAME_HEAD, Handshake, Secret, Side, length_behind};
use garland_sys::socket::{TcpStream, pair};
use rustix::io::Errno;

use super::link::Ends;

/// The time within which a test expects a request.
const DEADLINE: Duration = Duration::from_secs(30);

/// The agent's end of one connection of a mount.
pub struct HandAgent {
    stream: TcpStream,
    channel: Channel,
}

impl HandAgent {
    /// Returns the mount's ends of its connections to an agent, and the agent's ends.
    pub fn connections() -> (Vec<Ends>, Vec<Self>) {
        (0..FILES_LINKS).map(|_| Self::connection()).unzip()
    }

    fn connection() -> (Ends, Self) {
        let (near, stream) = pair().expect("a port is free");
        stream.set_read_timeout(Some(DEADLINE)).expect("it is a socket");
        let secret = Secret([7; 32]);
        let begin = |side| Handshake::link(side, &secret, b"").expect("the secret has its length");
        let mut ours = begin(Side::Responder);
        let mut theirs = begin(Side::Initiator);
        let hello = theirs.write(b"").expect("it begins");
        ours.read(&hello).expect("the secret is known");
        let answer = ours.write(b"").expect("it answers");
        theirs.read(&answer).expect("the secret is known");
        let channel = theirs.into_channel().expect("the handshake is finished");
        let ends = Ends { stream: near, asks: channel.sending, answers: channel.receiving };
        let channel = ours.into_channel().expect("the handshake is finished");
        (ends, Self { stream, channel })
    }

    /// Waits for the next request; `None` when the connection is closed.
    pub fn receive(&mut self) -> Option<FileRequest> {
        let mut head = [0; FRAME_HEAD];
        self.stream.read_exact(&mut head).ok()?;
        let mut body = vec![0; length_behind(head, FRAME_MAX).expect("a frame is bounded")];
        self.stream.read_exact(&mut body).ok()?;
        let opened = open_file_frame(&self.channel.receiving.take(), &mut body);
        Some(opened.expect("the mount has sealed it").0)
    }

    /// Answers the request `number`; `payload` are the bytes that it read.
    pub fn answer(&mut self, number: u64, outcome: Result<Answer, Errno>, payload: &[u8]) {
        let outcome = outcome.map_err(|error| error.raw_os_error() as u16);
        let mut frame = vec![0; FRAME_HEAD];
        frame.extend_from_slice(payload);
        seal_file_frame(&mut self.channel.sending, &mut frame, &FileReply { number, outcome });
        // It fails if the mount has closed the connection.
        let _ = self.stream.write_all(&frame);
    }
}
