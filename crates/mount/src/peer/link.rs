//! One connection. The thread that makes a request sends as much of it as the socket accepts at
//! once, so that a small request needs no context switch. A sending thread writes the rest.

use std::collections::{BTreeSet, VecDeque};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_protocol::files::{
    FRAME_MAX, FileReply, FileRequest, open_file_frame, seal_file_frame,
};
use garland_protocol::wire::{FRAME_HEAD, Line, length_behind};
use garland_sys::socket::TcpStream;
use garland_sys::sync::{Condvar, Mutex, MutexGuard};
use garland_sys::tcp;

/// A connection after its handshake.
pub struct Ends {
    /// The TCP connection.
    pub stream: TcpStream,
    /// Encrypts and numbers the frames that are sent.
    pub asks: Line,
    /// Decrypts and verifies the frames that are received.
    pub answers: Line,
}

/// The sending side of a connection.
pub struct Link {
    stream: Arc<TcpStream>,
    line: Mutex<Line>,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Whether bytes of replies have arrived since [`Link::take_moved`].
    has_moved: AtomicBool,
}

/// The receiving side of a connection.
pub struct Receiver {
    stream: Arc<TcpStream>,
    line: Line,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Unsent>,
    /// The numbers of the requests in `frames`.
    numbers: BTreeSet<u64>,
    /// Whether the sending thread is writing a frame that it has taken from the queue.
    is_busy: bool,
    is_over: bool,
}

impl Queue {
    fn take(&mut self) -> Option<Unsent> {
        let unsent = self.frames.pop_front()?;
        self.numbers.remove(&unsent.number);
        Some(unsent)
    }
}

/// A request of which not all is sent.
struct Unsent {
    number: u64,
    /// The rest of its frame.
    frame: Vec<u8>,
}

impl Link {
    /// Splits a connection into its two sides.
    pub fn new(ends: Ends) -> (Arc<Self>, Receiver) {
        let Ends { stream, asks, answers } = ends;
        let stream = Arc::new(stream);
        let receiver = Receiver { stream: Arc::clone(&stream), line: answers };
        let line = Mutex::new(asks);
        let queue = Mutex::default();
        let changed = Condvar::new();
        let has_moved = AtomicBool::new(false);
        (Arc::new(Self { stream, line, queue, changed, has_moved }), receiver)
    }

    /// Sends the request `asked`; `frame` holds its payload, behind space for the header.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn send(&self, mut frame: Vec<u8>, asked: &FileRequest) -> io::Result<()> {
        // Frames are numbered by their order on the wire: one at a time from here on.
        let mut line = self.line.lock();
        seal_file_frame(&mut line, &mut frame, asked);
        let mut queue = self.queue();
        if queue.is_over {
            return Err(io::ErrorKind::NotConnected.into());
        }
        if queue.frames.is_empty() && !queue.is_busy {
            let sent = tcp::try_send(&self.stream, &frame)?.unwrap_or(0);
            if sent == frame.len() {
                return Ok(());
            }
            frame.drain(..sent);
        }
        queue.numbers.insert(asked.number);
        queue.frames.push_back(Unsent { number: asked.number, frame });
        self.changed.notify_one();
        Ok(())
    }

    /// Writes queued frames until the connection is shut down; runs on the sending thread.
    ///
    /// # Errors
    /// When the connection is lost.
    pub fn send_all(&self) -> io::Result<()> {
        loop {
            let unsent = {
                let mut queue = self.queue();
                queue.is_busy = false;
                while queue.frames.is_empty() && !queue.is_over {
                    self.changed.wait(&mut queue);
                }
                if queue.is_over {
                    return Ok(());
                }
                queue.is_busy = true;
                queue.take()
            };
            if let Some(Unsent { frame, .. }) = unsent {
                (&*self.stream).write_all(&frame)?;
            }
        }
    }

    /// Notes that bytes of a reply have arrived.
    pub fn note_moved(&self) {
        self.has_moved.store(true, Ordering::Relaxed);
    }

    /// Returns whether bytes of replies have arrived since the last call.
    pub fn take_moved(&self) -> bool {
        self.has_moved.swap(false, Ordering::Relaxed)
    }

    /// Ends the connection. What the agent does not have yet, it does not get: nobody waits for it.
    pub fn shut(&self) {
        self.queue().is_over = true;
        self.changed.notify_all();
        // It drops what is in the kernel's buffer, and sends a reset. Some kernels refuse while a
        // thread receives; then the reset is sent once no thread uses the connection.
        let _ = tcp::reset_on_close(&self.stream);
        let _ = rustix::net::connect_unspec(&**self.stream);
        // It fails if the peer has closed the connection.
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Returns whether the sending thread has not begun with this request.
    pub fn is_queued(&self, number: u64) -> bool {
        self.queue().numbers.contains(&number)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock()
    }
}

impl Receiver {
    /// Waits for a reply, and calls `moved` whenever bytes of it have arrived. Returns the reply,
    /// its frame, and the length of the payload, with which the frame begins.
    ///
    /// # Errors
    /// When the connection is lost, or the frame is invalid.
    pub fn receive(&mut self, moved: impl Fn()) -> io::Result<(FileReply, Vec<u8>, usize)> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        let mut stream = &*self.stream;
        let mut head = [0; FRAME_HEAD];
        stream.read_exact(&mut head)?;
        let mut body = vec![0; length_behind(head, FRAME_MAX).map_err(invalid)?];
        let mut filled = 0;
        while filled < body.len() {
            match stream.read(&mut body[filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => filled += length,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            moved();
        }
        let (answered, parts) = open_file_frame(&self.line.take(), &mut body).map_err(invalid)?;
        Ok((answered, body, parts.message))
    }
}
