//! The programs that run on the nodes of the tested labs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

use garland_lab::{Lab, StateDir};

/// The number of bytes that the sender of [`play`] sends.
pub const BYTES: usize = 8 << 20;

const PORT: u16 = 9000;

/// Runs one of the programs. `receive` listens, prints a line, and prints how many bytes differ
/// from those that `send ADDR` sends. `enter STATE LAB` enters the head and prints the host names
/// of itself and of a command on n1.
pub fn play(words: &[&str]) -> ExitCode {
    match words {
        ["receive"] => println!("{}", receive()),
        ["send", address] => send(address),
        ["enter", state, lab] => enter(state, lab),
        _ => panic!("no such part: {words:?}"),
    }
    ExitCode::SUCCESS
}

fn payload() -> Vec<u8> {
    (0..BYTES).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn receive() -> String {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
    println!("listening");
    let (mut stream, _) = listener.accept().unwrap();
    let mut got = Vec::new();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.read_to_end(&mut got).unwrap();
    let differ = payload().iter().zip(&got).filter(|(sent, got)| sent != got).count();
    format!("{} bytes, {differ} differ", got.len())
}

fn send(address: &str) {
    let mut stream = TcpStream::connect((address, PORT)).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(&payload()).unwrap();
}

fn enter(state: &str, lab: &str) {
    let folder = std::env::current_dir().unwrap();
    let lab = Lab::open(&StateDir(state.into()), lab).unwrap();
    lab.enter("n0").unwrap();
    assert_eq!(std::env::current_dir().unwrap(), folder);
    let other = lab.command("n1", "hostname").unwrap().output().unwrap();
    let other = String::from_utf8(other.stdout).unwrap();
    println!("{} {}", garland_sys::process::host_name(), other.trim());
}
