//! One connection. Whoever asks sends by himself what the socket takes at once, so that a small
//! question changes no hands; the rest waits for a thread that sends. Another one brings in answers.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use garland_protocol::{FRAME_HEAD, FileReply, FileRequest, Line};
use garland_sys::{tcp, threads};

use super::wire::Wire;

/// A connection that has been greeted.
pub struct Ends {
    /// The connection.
    pub stream: TcpStream,
    /// What questions are sealed by.
    pub asks: Line,
    /// What answers are opened by.
    pub answers: Line,
}

/// One connection of a wire.
pub struct Link {
    stream: Arc<TcpStream>,
    sending: Arc<Sending>,
    answers: Mutex<Option<Line>>,
}

#[derive(Default)]
struct Queue {
    frames: VecDeque<Vec<u8>>,
    /// The thread that sends is at it, with a frame that isn't in the queue any more.
    is_busy: bool,
    is_over: bool,
}

struct Sending {
    line: Mutex<Line>,
    queue: Mutex<Queue>,
    changed: Condvar,
}

impl Link {
    /// What two connections are, without their threads.
    pub fn new(ends: Ends) -> Self {
        let Ends { stream, asks, answers } = ends;
        let stream = Arc::new(stream);
        let sending = Arc::new(Sending {
            line: Mutex::new(asks),
            queue: Mutex::default(),
            changed: Condvar::new(),
        });
        Self { stream, sending, answers: Mutex::new(Some(answers)) }
    }

    /// Starts the thread that sends, and the one that brings in answers.
    ///
    /// # Errors
    /// When the system makes no thread for it.
    pub fn start(&self, wire: &Arc<Wire>) -> io::Result<()> {
        let line = self.answers.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut line) = line else { return Ok(()) };
        let (out, from) = (Arc::clone(&self.stream), Arc::clone(&self.sending));
        let its = Arc::downgrade(wire);
        threads::spawn("send", move || {
            if let Err(error) = from.send_all(&out)
                && let Some(wire) = its.upgrade()
            {
                wire.fail(&format!("sending: {error}"));
            }
        })?;
        let (stream, wire) = (Arc::clone(&self.stream), Arc::clone(wire));
        threads::spawn("receive", move || {
            loop {
                match receive(&stream, &mut line) {
                    Ok((answered, body, payload)) => wire.answered(answered, body, payload),
                    Err(error) => return wire.fail(&format!("receiving: {error}")),
                }
            }
        })?;
        Ok(())
    }

    /// Sends a question with what `frame` holds.
    pub fn send(&self, mut frame: Vec<u8>, asked: &FileRequest) -> io::Result<()> {
        // Frames are numbered by their order on the wire: one at a time from here on.
        let mut line = self.sending.line.lock().unwrap_or_else(PoisonError::into_inner);
        line.close(&mut frame, asked);
        let mut queue = self.sending.queue();
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
        queue.frames.push_back(frame);
        self.sending.changed.notify_one();
        Ok(())
    }

    /// Ends it, for both threads.
    pub fn shut(&self) {
        self.sending.queue().is_over = true;
        self.sending.changed.notify_all();
        // One that is closed already needs no more.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Sending {
    fn send_all(&self, mut stream: &TcpStream) -> io::Result<()> {
        loop {
            let frame = {
                let mut queue = self.queue();
                queue.is_busy = false;
                while queue.frames.is_empty() && !queue.is_over {
                    queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                if queue.is_over {
                    return Ok(());
                }
                queue.is_busy = true;
                queue.frames.pop_front()
            };
            stream.write_all(&frame.unwrap_or_default())?;
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn receive(mut stream: &TcpStream, line: &mut Line) -> io::Result<(FileReply, Vec<u8>, usize)> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut head = [0; FRAME_HEAD];
    stream.read_exact(&mut head)?;
    let mut body = vec![0; Line::behind(head).map_err(invalid)?];
    stream.read_exact(&mut body)?;
    let (answered, parts) = line.take().open(&mut body).map_err(invalid)?;
    Ok((answered, body, parts.message))
}
