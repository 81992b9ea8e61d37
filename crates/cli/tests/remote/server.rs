//! Servers that aren't ours: rclone's, which `make test` brings along.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use garland_testkit::{Scratch, await_some, until};

/// A server on loopback, gone with this value.
pub struct Server {
    child: Child,
    /// What it has said so far.
    said: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
    pub url: String,
}

impl Server {
    /// One that serves what is in `folder` by S3 to who has this key and secret.
    pub fn s3(scratch: &Scratch, folder: &Path, more: &[&str]) -> Self {
        let words = ["serve", "s3", "--auth-key", "KEY,SECRET"];
        Self::rclone(scratch, folder, &[&words, more].concat())
    }

    /// One that serves what is in `folder` as a web server does.
    pub fn http(scratch: &Scratch, folder: &Path) -> Self {
        Self::rclone(scratch, folder, &["serve", "http"])
    }

    fn rclone(scratch: &Scratch, folder: &Path, words: &[&str]) -> Self {
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/python/bin/rclone");
        let mut command = Command::new(program);
        command.args(words).args(["--config", "/dev/null", "-vv", "--addr", "127.0.0.1:0"]);
        command.arg(folder);
        let mut server = Self::start(scratch, command);
        server.url = await_some("the server's address", || {
            let said = server.said();
            let (_, rest) = said.split_once("[http://")?;
            Some(format!("http://{}", rest.split_once("/]")?.0))
        });
        server
    }

    /// Python's, which knows no ranges.
    pub fn plain(scratch: &Scratch, folder: &Path) -> Self {
        let port = {
            let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
            listener.local_addr().expect("it listens").port()
        };
        let mut command = Command::new("python3");
        command.args(["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory"]);
        command.arg(folder).arg(port.to_string());
        let mut server = Self::start(scratch, command);
        until("python's server", || server.said().contains("Serving HTTP"));
        server.url = format!("http://127.0.0.1:{port}");
        server
    }

    fn start(scratch: &Scratch, mut command: Command) -> Self {
        let (mut reader, writer) = std::io::pipe().expect("there are descriptors");
        let both = writer.try_clone().expect("there are descriptors");
        command.current_dir(scratch.folder()).env("HOME", scratch.folder());
        command.stdin(Stdio::null()).stdout(writer).stderr(both);
        let child = command.spawn().unwrap_or_else(|error| {
            panic!("starting {command:?}: {error}; `cargo xtask test` brings what tests need")
        });
        // It holds the pipe's ends, too.
        drop(command);
        let said: Arc<Mutex<String>> = Arc::default();
        let into = Arc::clone(&said);
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..length]);
                into.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
            }
        });
        Self { child, said, reader: Some(reader), url: String::new() }
    }

    /// What it has said so far.
    pub fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}
