//! One connection of a mount. A few threads share it: one waits for a request while others execute
//! theirs. The thread that has read a request executes it.

use std::io::{self, Read, Write};
use std::sync::Arc;

use garland_protocol::files::{
    BULK_LINK, FRAME_MAX, FileReply, FileRequest, open_file_frame, seal_file_frame,
};
use garland_protocol::wire::{FRAME_HEAD, Line, Opener, length_behind};
use garland_sys::socket::TcpStream;
use garland_sys::sync::Mutex;
use garland_sys::threads::{Slots, spawn};

use crate::files::service::FileService;

/// Threads of a connection for bulk data: few, since each answer takes much memory.
const BULK_THREADS: usize = 3;
/// Threads of a connection for other requests: more, since these wait for disks.
const SMALL_THREADS: usize = 8;

/// On connections for small requests, a buffer with a capacity of more bytes than this is freed
/// after each request.
const MAX_KEPT_CAPACITY: usize = 64 << 10;

/// The first of the error numbers that the kernel uses for itself. No program gets them, and a
/// mount takes them for faults.
const KERNEL_ERRNO: u16 = 512;

/// The threads that a mount's connections may have.
pub struct Threads {
    /// The slots of the key that opened the mount; `None` if it is a controller's.
    pub slots: Option<Arc<Slots>>,
    /// The maximum number of threads of each connection.
    pub of_connection: usize,
}

/// A connection of a mount, in both directions.
pub struct Link {
    pub asks: Mutex<(TcpStream, Line)>,
    pub answers: Mutex<(TcpStream, Line)>,
    pub service: Arc<FileService>,
}

impl Link {
    /// Starts as many `threads` as are allowed. Each calls `ended` when the connection is broken.
    ///
    /// # Errors
    /// When no thread can be started. Fewer threads than wanted are no error.
    pub fn serve(
        self: &Arc<Self>,
        number: u16,
        threads: &Threads,
        ended: impl Fn() + Clone + Send + 'static,
    ) -> io::Result<()> {
        let wanted = if number == BULK_LINK { BULK_THREADS } else { SMALL_THREADS };
        for place in 0..wanted.min(threads.of_connection) {
            let slot = match threads.slots.as_ref().map(Slots::take) {
                Some(None) if place > 0 => break,
                Some(None) => return Err(io::Error::other("the key has no thread left")),
                Some(Some(slot)) => Some(slot),
                None => None,
            };
            let link = Arc::clone(self);
            let ended = ended.clone();
            let begun = spawn("files", move || {
                let _slot = slot;
                let mut body = Vec::new();
                let mut frame = Vec::new();
                while link.serve_one(&mut body, &mut frame).is_ok() {
                    for buffer in [&mut body, &mut frame] {
                        if number != BULK_LINK && buffer.capacity() > MAX_KEPT_CAPACITY {
                            *buffer = Vec::new();
                        }
                    }
                }
                ended();
            });
            match begun {
                Ok(_) => {}
                Err(_) if place > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads a request, executes it and answers, unless it has no reply.
    fn serve_one(&self, body: &mut Vec<u8>, frame: &mut Vec<u8>) -> io::Result<()> {
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let opener = self.receive(body)?;
        let (FileRequest { number, ask }, parts) =
            open_file_frame(&opener, body).map_err(|_| invalid())?;
        let payload = &body[..parts.message];
        if !ask.is_sound(payload.len()) {
            return Err(invalid());
        }
        frame.clear();
        frame.resize(FRAME_HEAD, 0);
        let outcome = self.service.obey(&ask, payload, frame);
        if !ask.has_reply() {
            return Ok(());
        }
        if outcome.is_err() {
            frame.truncate(FRAME_HEAD);
        }
        let outcome = outcome.map_err(|error| {
            let number = u16::try_from(error.raw_os_error()).ok();
            let sound = number.filter(|number| (1..KERNEL_ERRNO).contains(number));
            sound.unwrap_or(rustix::io::Errno::IO.raw_os_error() as u16)
        });
        let mut answers = self.answers.lock();
        let (stream, line) = &mut *answers;
        seal_file_frame(line, frame, &FileReply { number, outcome });
        stream.write_all(frame)
    }

    fn receive(&self, body: &mut Vec<u8>) -> io::Result<Opener> {
        let mut asks = self.asks.lock();
        let (stream, line) = &mut *asks;
        let mut head = [0; FRAME_HEAD];
        stream.read_exact(&mut head)?;
        let behind = length_behind(head, FRAME_MAX).map_err(|_| io::ErrorKind::InvalidData)?;
        body.resize(behind, 0);
        stream.read_exact(body)?;
        Ok(line.take())
    }
}
