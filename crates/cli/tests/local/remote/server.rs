//! Servers that aren't ours: rclone's, which `make test` brings along.

use std::ffi::OsStr;
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;

use garland_lab::Lab;
use garland_testkit::{Process, Scratch, await_some, until};
use parking_lot::Mutex;

/// The program, and how it is told to speak S3.
const RCLONE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/python/bin/rclone");
const S3: [&str; 4] = ["serve", "s3", "--auth-key", "KEY,SECRET"];

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
        Self::rclone(scratch, folder, &[&S3, more].concat())
    }

    /// Serves `folder` by S3 on a node of a lab, for the nodes of that.
    pub fn s3_on(lab: &Lab, node: &str, scratch: &Scratch, folder: &Path) -> Self {
        let command = lab.command(node, RCLONE).expect("it is a node of the lab");
        Self::rclone_by(scratch, folder, command, &S3)
    }

    /// One that serves what is in `folder` as a web server does.
    pub fn http(scratch: &Scratch, folder: &Path) -> Self {
        Self::rclone(scratch, folder, &["serve", "http"])
    }

    /// Serves `folder` by TLS, with a certificate for 127.0.0.1 by an authority of its own; gives
    /// the path of the certificate of that authority, too.
    pub fn https(scratch: &Scratch, folder: &Path) -> (Self, PathBuf) {
        let authority = Authority::new(scratch);
        let (certificate, key) = authority.certify("127.0.0.1");
        let [certificate, key] = [certificate, key].map(|path| path.display().to_string());
        let words = ["serve", "http", "--cert", &certificate, "--key", &key];
        (Self::rclone(scratch, folder, &words), authority.certificate)
    }

    fn rclone(scratch: &Scratch, folder: &Path, words: &[&str]) -> Self {
        Self::rclone_by(scratch, folder, Command::new(RCLONE), words)
    }

    fn rclone_by(scratch: &Scratch, folder: &Path, mut command: Command, words: &[&str]) -> Self {
        command.args(words).args(["--config", "/dev/null", "-vv", "--addr", "127.0.0.1:0"]);
        command.arg(folder);
        let mut server = Self::start(scratch, command);
        server.url = await_some("the server's address", || {
            let said = server.said();
            let (_, rest) = said.split_once("[http")?;
            Some(format!("http{}", rest.split_once("/]")?.0))
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
                into.lock().push_str(&text);
            }
        });
        Self { child, said, reader: Some(reader), url: String::new() }
    }

    /// Stops it while `act` acts, however long that takes.
    pub fn while_stopped(&self, act: impl FnOnce()) {
        let process = Process { pid: self.child.id(), command: String::new() };
        process.stop();
        act();
        process.go_on();
    }

    /// What it has said so far.
    pub fn said(&self) -> String {
        self.said.lock().clone()
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

/// Who says whose key is whose: made by openssl, and known to nobody.
struct Authority {
    folder: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

impl Authority {
    fn new(scratch: &Scratch) -> Self {
        let folder = scratch.path("authority");
        std::fs::create_dir_all(&folder).expect("there is room");
        let authority =
            Self { certificate: folder.join("ca.pem"), key: folder.join("ca.key"), folder };
        let words = ["req", "-x509", "-subj", "/CN=An authority", "-days", "2"];
        authority.make(&words, &authority.certificate, &authority.key, &[]);
        authority
    }

    /// The certificate of a host's address, and its key.
    fn certify(&self, address: &str) -> (PathBuf, PathBuf) {
        let [certificate, key] = ["host.pem", "host.key"].map(|name| self.folder.join(name));
        let name = format!("subjectAltName=IP:{address}");
        let by = [self.certificate.as_os_str(), OsStr::new("-CAkey"), self.key.as_os_str()];
        let by = [&[OsStr::new("-CA")], &by[..]].concat();
        let no_authority = "basicConstraints=critical,CA:FALSE";
        let words = ["req", "-x509", "-subj", "/CN=A host", "-days", "1", "-addext", &name];
        self.make(&[&words[..], &["-addext", no_authority]].concat(), &certificate, &key, &by);
        (certificate, key)
    }

    fn make(&self, words: &[&str], certificate: &Path, key: &Path, by: &[&OsStr]) {
        let mut command = Command::new("openssl");
        command.args(words).args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]);
        command.args(["-nodes", "-out"]).arg(certificate).arg("-keyout").arg(key).args(by);
        let made = command.output().expect("openssl is there");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
}
