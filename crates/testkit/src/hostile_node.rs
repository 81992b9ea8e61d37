//! A peer with a key, of any role, that keeps to no rule: it sends any authenticated bytes in any
//! order, reads when it wants to, and acknowledges what it likes.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use garland_protocol::copy::CopyId;
use garland_protocol::files::{
    Answer, Ask, FRAME_MAX, FileReply, FileRequest, FilesOrder, open_file_frame, seal_file_frame,
};
use garland_protocol::wire::{
    Channel, FRAME_HEAD, KeyPair, PublicKey, Purpose, Secret, SessionId, SessionOrder,
    length_behind,
};
use garland_protocol::{FromAgent, Message, ToAgent};
use garland_sys::mptcp::Transport;
use garland_sys::socket::TcpStream;
use garland_sys::{clock, random, tcp};
use garland_transport::{Credentials, LinkError, introduce};

use crate::waiting::DEADLINE;

/// How long one read waits before the deadline of the whole is looked at.
const TICK: Duration = Duration::from_millis(50);

/// A session of a hostile peer.
pub struct HostileNode {
    stream: TcpStream,
    channel: Channel,
    address: SocketAddr,
    /// The number of messages that were sent.
    sent: u64,
    /// The number of messages that are acknowledged with the next frame.
    pub acknowledged: u64,
    received: Vec<u8>,
}

/// What came of a session within some time.
#[derive(Debug)]
pub enum Heard {
    /// The next message.
    Message(FromAgent),
    /// The agent has ended the connection.
    End,
    /// Nothing.
    Nothing,
}

impl HostileNode {
    /// Opens a session with the agent at `port` of this machine, which has the public key `theirs`.
    ///
    /// # Errors
    /// When the agent refuses the key.
    pub fn open(port: u16, ours: &KeyPair, theirs: &PublicKey) -> Result<Self, LinkError> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let stream = tcp::connect(address, DEADLINE, Transport::Tcp)?;
        let open = ToAgent::Session(SessionOrder::Open(SessionId(random::bytes())));
        let credentials = Credentials::Keys(ours, *theirs);
        let channel =
            introduce(&stream, DEADLINE, Purpose::Control, &credentials, &open.to_bytes())?;
        stream.set_read_timeout(Some(TICK))?;
        stream.set_write_timeout(Some(DEADLINE))?;
        let received = Vec::new();
        Ok(Self { stream, channel, address, sent: 0, acknowledged: 0, received })
    }

    /// Sends bytes as the next message. Errors are ignored: the agent may have ended the session.
    pub fn say(&mut self, message: &[u8]) {
        self.sent += 1;
        let numbers = [self.sent.to_le_bytes(), self.acknowledged.to_le_bytes()].concat();
        let mut frame = Vec::new();
        let sealed = self.channel.sending.seal(&[&numbers, message].concat(), &mut frame);
        if sealed.is_ok() {
            let _ = self.stream.write_all(&frame);
        }
    }

    /// Sends an order, as the next message.
    pub fn order(&mut self, order: &ToAgent) {
        self.say(&order.to_bytes());
    }

    /// Returns what comes next within `patience`. Nothing is acknowledged.
    pub fn hear(&mut self, patience: Duration) -> Heard {
        let until_ns = clock::after(patience);
        loop {
            match self.channel.receiving.open(&mut self.received) {
                Ok(Some(frame)) => {
                    // The numbers of the frame; one without a message acknowledges.
                    let message = frame.get(16..).and_then(FromAgent::parse);
                    if let Some(message) = message {
                        return Heard::Message(message);
                    }
                    continue;
                }
                Ok(None) => {}
                Err(_) => return Heard::End,
            }
            let mut buffer = [0; 16 << 10];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Heard::End,
                Ok(read) => self.received.extend(&buffer[..read]),
                Err(error)
                    if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) =>
                {
                    if clock::until(until_ns).is_zero() {
                        return Heard::Nothing;
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Heard::End,
            }
        }
    }

    /// Returns the first message for which `pick` returns something.
    ///
    /// # Panics
    /// When the session ends before, or nothing of the kind comes.
    pub fn await_message<T>(&mut self, pick: impl Fn(FromAgent) -> Option<T>) -> T {
        let until_ns = clock::after(DEADLINE);
        loop {
            match self.hear(clock::until(until_ns)) {
                Heard::Message(message) => {
                    if let Some(picked) = pick(message) {
                        return picked;
                    }
                }
                heard => panic!("the message did not come: {heard:?}"),
            }
        }
    }

    /// Waits until the agent ends the session, and returns the reason that it gave.
    ///
    /// # Panics
    /// When the session does not end.
    pub fn await_end(&mut self) -> Option<String> {
        let until_ns = clock::after(DEADLINE);
        let mut why = None;
        loop {
            match self.hear(clock::until(until_ns)) {
                Heard::Message(FromAgent::Refused(reason)) => why = Some(reason),
                Heard::Message(_) => {}
                Heard::End => return why,
                Heard::Nothing => panic!("the session goes on"),
            }
        }
    }

    /// Returns whether the agent still answers.
    pub fn is_served(&mut self) -> bool {
        let asked = u64::from_le_bytes(random::bytes());
        self.order(&ToAgent::Clock(asked));
        let until_ns = clock::after(DEADLINE);
        loop {
            match self.hear(clock::until(until_ns)) {
                Heard::Message(FromAgent::Clock(told, ..)) if told == asked => return true,
                Heard::Message(_) => {}
                Heard::End | Heard::Nothing => return false,
            }
        }
    }

    /// Opens a connection for files, if the agent lets it.
    pub fn try_open_files(&mut self) -> Option<HostileFiles> {
        let id = CopyId(random::bytes());
        let secret = Secret(random::bytes());
        self.order(&ToAgent::Files(FilesOrder { id, secret: secret.clone(), sealed: true }));
        let until_ns = clock::after(TICK * 4);
        loop {
            match self.hear(clock::until(until_ns)) {
                Heard::Message(FromAgent::FilesOpen(answered, None)) if answered == id => {
                    return self.connect_files(id, secret).ok();
                }
                Heard::Message(FromAgent::FilesOpen(answered, Some(_))) if answered == id => {
                    return None;
                }
                Heard::Message(_) => {}
                Heard::End | Heard::Nothing => return None,
            }
        }
    }

    /// Opens a connection for files.
    ///
    /// # Errors
    /// Why the agent refuses it, as text.
    pub fn open_files(&mut self) -> Result<HostileFiles, String> {
        let mount = self.open_mount()?;
        self.connect_files(mount.id, mount.secret)
    }

    /// Has the agent serve files to who knows a secret of this peer's choice.
    ///
    /// # Errors
    /// Why the agent refuses it, as text.
    pub fn open_mount(&mut self) -> Result<FilesOrder, String> {
        let order = FilesOrder {
            id: CopyId(random::bytes()),
            secret: Secret(random::bytes()),
            sealed: true,
        };
        self.order(&ToAgent::Files(order.clone()));
        let refused = self.await_message(|message| match message {
            FromAgent::FilesOpen(answered, refused) if answered == order.id => Some(refused),
            _ => None,
        });
        refused.map_or(Ok(order), Err)
    }

    /// Connects to a mount that was opened, as often as this peer likes.
    ///
    /// # Errors
    /// Why the agent refuses it, as text.
    pub fn connect_files(&self, id: CopyId, secret: Secret) -> Result<HostileFiles, String> {
        let told = |error: LinkError| error.to_string();
        let stream = tcp::connect(self.address, DEADLINE, Transport::Tcp);
        let stream = stream.map_err(|error| error.to_string())?;
        let credentials = Credentials::Secret(id, secret);
        let first = 0_u16.to_le_bytes();
        let channel =
            introduce(&stream, DEADLINE, Purpose::Files, &credentials, &first).map_err(told)?;
        stream.set_read_timeout(Some(DEADLINE)).map_err(|error| error.to_string())?;
        Ok(HostileFiles { stream, channel, asked: 0 })
    }
}

/// A connection for files of a hostile peer.
pub struct HostileFiles {
    stream: TcpStream,
    channel: Channel,
    asked: u64,
}

impl HostileFiles {
    /// Sends a request, and returns the answer with the payload, or the error number of the node.
    ///
    /// # Errors
    /// The error number; 0 if the agent has ended the connection, or the request has no reply.
    pub fn ask(&mut self, ask: Ask) -> Result<(Answer, Vec<u8>), u16> {
        self.asked += 1;
        let has_reply = ask.has_reply();
        let mut frame = vec![0; FRAME_HEAD];
        let request = FileRequest { number: self.asked, ask };
        seal_file_frame(&mut self.channel.sending, &mut frame, &request);
        self.stream.write_all(&frame).map_err(|_| 0_u16)?;
        if !has_reply {
            return Err(0);
        }
        let mut head = [0; FRAME_HEAD];
        self.stream.read_exact(&mut head).map_err(|_| 0_u16)?;
        let mut body = vec![0; length_behind(head, FRAME_MAX).map_err(|_| 0_u16)?];
        self.stream.read_exact(&mut body).map_err(|_| 0_u16)?;
        let opener = self.channel.receiving.take();
        let opened = open_file_frame::<FileReply>(&opener, &mut body);
        let (reply, parts) = opened.map_err(|_| 0_u16)?;
        reply.outcome.map(|answer| (answer, body[..parts.message].to_vec()))
    }
}
