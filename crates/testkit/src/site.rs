//! A web server on loopback that records its requests, and can misbehave in several ways.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;

use crate::waiting::DEADLINE;

/// The number of bytes that a site sends which floods its clients.
pub const FLOOD: usize = 64 << 20;

/// How a site answers requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Answers correctly.
    Well,
    /// Sends the whole file with status 200, even if a range was requested.
    Whole,
    /// Sends the whole file without stating its length.
    Endless,
    /// Answers this number of requests with this status and body, and later requests correctly.
    Refuses(usize, &'static str, &'static str),
    /// Answers each request with this status and [`FLOOD`] bytes of a body without a length.
    Floods(&'static str),
    /// Closes the connection in the middle of the answer to each of this number of requests, and
    /// answers later requests correctly.
    Tears(usize),
    /// Leaves every third request unanswered, although its connection was accepted.
    Drops,
    /// Serves another file of the same length from the third request on.
    Changes,
    /// Redirects to the same path below `/moved`.
    Moves,
    /// Redirects to this address.
    MovesTo(&'static str),
    /// Answers slowly: pauses for this time after every 64 KiB.
    Slowly(Duration),
}

/// A request, and how much of the file was sent in reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedRequest {
    /// The path and the query of the requested URL.
    pub path: String,
    /// The first and the last byte of the requested range; `None` for the whole file.
    pub range: Option<(u64, u64)>,
    /// The value of the header `If-Match`; `None` without it.
    pub if_match: Option<String>,
    /// The number of bytes of the file that the answer contained.
    pub sent: u64,
}

/// A running web server with one file.
#[derive(Debug)]
pub struct Site {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    file: Vec<u8>,
    manner: Manner,
    log: Mutex<Vec<ServedRequest>>,
    requests: AtomicUsize,
    over: AtomicBool,
}

impl Site {
    /// Starts a server that serves `file` under every path, and misbehaves as `manner` says.
    ///
    /// # Panics
    /// When no port is free.
    #[must_use]
    pub fn start(file: Vec<u8>, manner: Manner) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
        let address = listener.local_addr().expect("it listens");
        let log = Mutex::default();
        let requests = AtomicUsize::new(0);
        let over = AtomicBool::new(false);
        let shared = Arc::new(Shared { file, manner, log, requests, over });
        let serving = Arc::clone(&shared);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if serving.over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let serving = Arc::clone(&serving);
                std::thread::spawn(move || serving.serve(&stream));
            }
        });
        Self { address, shared, thread: Some(thread) }
    }

    /// Returns the address of the server: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns the requests so far, in the order in which they were answered.
    #[must_use]
    pub fn log(&self) -> Vec<ServedRequest> {
        self.shared.log.lock().clone()
    }

    /// Returns the number of bytes of the file that all answers contained together.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.log().iter().map(|asked| asked.sent).sum()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes the listening thread if it still runs.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the message was printed.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) {
        // Close the connection if the peer is silent.
        let _ = stream.set_read_timeout(Some(DEADLINE));
        let mut reader = BufReader::new(stream);
        while let Some(mut asked) = read_request(&mut reader) {
            let number = self.requests.fetch_add(1, Ordering::SeqCst);
            // The client may close the connection at any time.
            let goes_on = self.answer(stream, number, &mut asked).unwrap_or(false);
            self.log.lock().push(asked);
            if !goes_on {
                return;
            }
        }
    }

    /// Answers request number `number`. Returns whether the connection may serve further requests.
    fn answer(
        &self,
        mut stream: &TcpStream,
        number: usize,
        asked: &mut ServedRequest,
    ) -> std::io::Result<bool> {
        let length = self.file.len() as u64;
        let mut status = "200 OK";
        let mut more = String::new();
        let mut range: Range<u64> = 0..length;
        match &self.manner {
            Manner::Refuses(times, status, body) if number < *times => {
                let length = body.len();
                write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}")?;
                return Ok(true);
            }
            Manner::Floods(status) => {
                write!(stream, "HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n")?;
                let chunk = vec![b'x'; FLOOD / 64];
                for _ in 0..64 {
                    write!(stream, "{:x}\r\n", chunk.len())?;
                    stream.write_all(&chunk)?;
                    write!(stream, "\r\n")?;
                    asked.sent += chunk.len() as u64;
                }
                write!(stream, "0\r\n\r\n")?;
                return Ok(true);
            }
            Manner::Moves if !asked.path.starts_with("/moved") => {
                let path = &asked.path;
                write!(stream, "HTTP/1.1 302 Found\r\nLocation: /moved{path}\r\n")?;
                write!(stream, "Content-Length: 0\r\n\r\n")?;
                return Ok(true);
            }
            Manner::MovesTo(address) => {
                write!(stream, "HTTP/1.1 302 Found\r\nLocation: {address}\r\n")?;
                write!(stream, "Content-Length: 0\r\n\r\n")?;
                return Ok(true);
            }
            Manner::Drops if number % 3 == 1 => return Ok(false),
            _ => {}
        }
        let tag = if self.manner == Manner::Changes && number >= 2 { "\"b\"" } else { "\"a\"" };
        if asked.if_match.as_deref().is_some_and(|wanted| wanted != tag) {
            write!(stream, "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n")?;
            return Ok(true);
        }
        let whole = matches!(self.manner, Manner::Whole | Manner::Endless);
        if let Some((first, last)) = asked.range.filter(|_| !whole) {
            range = first..(last + 1).min(length);
            if range.is_empty() {
                write!(stream, "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n")?;
                return Ok(true);
            }
            status = "206 Partial Content";
            more = format!("Content-Range: bytes {first}-{}/{length}\r\n", range.end - 1);
        }
        if self.manner != Manner::Endless {
            more += &format!("Content-Length: {}\r\n", range.end - range.start);
        }
        write!(stream, "HTTP/1.1 {status}\r\nETag: {tag}\r\n{more}\r\n")?;
        let mut body = &self.file[range.start as usize..range.end as usize];
        let torn = matches!(self.manner, Manner::Tears(times) if number < times);
        if torn {
            body = &body[..body.len() / 2];
        }
        for part in body.chunks(64 << 10) {
            stream.write_all(part)?;
            asked.sent += part.len() as u64;
            if let Manner::Slowly(pause) = self.manner {
                std::thread::sleep(pause);
            }
        }
        Ok(!torn && self.manner != Manner::Endless)
    }
}

/// Reads the next request of a connection; `None` if there is none, or if it is malformed.
fn read_request(reader: &mut impl BufRead) -> Option<ServedRequest> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split_whitespace().nth(1)?.to_owned();
    let mut asked = ServedRequest { path, range: None, if_match: None, sent: 0 };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { return Some(asked) };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "range" => {
                let (first, last) = value.strip_prefix("bytes=")?.split_once('-')?;
                asked.range = Some((first.parse().ok()?, last.parse().ok()?));
            }
            "if-match" => asked.if_match = Some(value.to_owned()),
            _ => {}
        }
    }
}
