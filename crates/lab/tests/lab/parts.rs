//! The programs that run on the nodes of the tested labs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::ExitCode;
use std::time::Duration;

use garland_lab::{Lab, StateDir};
use garland_sys::{clock, threads};

use super::delays::PATIENCE;

/// The number of bytes that the sender of [`play`] sends.
pub const BYTES: usize = 8 << 20;

const PORT: u16 = 9000;

/// Runs one of the programs. `receive` listens, prints a line, and prints how many bytes differ
/// from those that `send ADDR` sends. `echo` answers datagrams, and `ping ADDR` prints the shortest
/// of 20 round trips to it, in microseconds. `meter` prints the rate in Mbit/s at which it gets
/// what `stream ADDR` sends, `count` whether the datagrams of `number ADDR` come in order. `enter
/// STATE LAB` enters the head and prints the host names of itself and of a command on n1.
pub fn play(words: &[&str]) -> ExitCode {
    match words {
        ["receive"] => println!("{}", receive()),
        ["send", address] => send(address),
        ["echo"] => echo(),
        ["ping", address] => println!("{}", ping(address)),
        ["meter"] => println!("{:.2}", meter()),
        ["stream", address] => stream(address),
        ["count"] => println!("{}", count()),
        ["number", address] => number(address),
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

/// Opens a socket of UDP that waits for a minute at most.
fn datagrams() -> UdpSocket {
    let socket = UdpSocket::bind(("0.0.0.0", PORT)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn echo() {
    let socket = datagrams();
    println!("listening");
    let mut datagram = [0; 64];
    loop {
        let (length, from) = socket.recv_from(&mut datagram).unwrap();
        socket.send_to(&datagram[..length], from).unwrap();
    }
}

fn ping(address: &str) -> u128 {
    let socket = datagrams();
    let mut datagram = [0; 64];
    let mut round_trip = || {
        let began = clock::now_ns();
        socket.send_to(&datagram, (address, PORT)).unwrap();
        socket.recv_from(&mut datagram).unwrap();
        Duration::from_nanos(clock::now_ns() - began)
    };
    // The first one asks for the address, too.
    round_trip();
    (0..20).map(|_| round_trip()).min().unwrap().as_micros()
}

/// The time for which [`stream`] sends, and at the end of which [`meter`] measures.
const STREAM: Duration = Duration::from_secs(3);

fn meter() -> f64 {
    let listener = TcpListener::bind(("0.0.0.0", PORT)).unwrap();
    println!("listening");
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let began = clock::now_ns();
    let mut piece = vec![0; 256 << 10];
    // Slow start is not measured.
    let from_ns = began + STREAM.as_nanos() as u64 / 2;
    let mut first = None;
    let mut last = (0, 0);
    let mut bytes = 0;
    while let Ok(length @ 1..) = stream.read(&mut piece) {
        bytes += length as u64;
        last = (clock::now_ns(), bytes);
        if last.0 > from_ns {
            first.get_or_insert(last);
        }
    }
    let first = first.unwrap();
    (last.1 - first.1) as f64 * 8e3 / (last.0 - first.0) as f64
}

fn stream(address: &str) {
    let mut stream = TcpStream::connect((address, PORT)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let end = clock::now_ns() + STREAM.as_nanos() as u64;
    while clock::now_ns() < end {
        stream.write_all(&[7; 64 << 10]).unwrap();
    }
}

const DATAGRAMS: u32 = 2000;

fn count() -> String {
    let socket = datagrams();
    println!("listening");
    let mut datagram = [0; 2000];
    let mut next = 0;
    // A receiver that gets no processor loses datagrams, also the last ones.
    while next < DATAGRAMS
        && let Ok(length) = socket.recv(&mut datagram)
    {
        let number = u32::from_le_bytes(datagram[..4].try_into().unwrap());
        if number < next || length != length_of(number) {
            return format!("{number}, expected {next}, with {length} bytes");
        }
        next = number + 1;
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    }
    if next == 0 { "nothing came".to_owned() } else { "in order".to_owned() }
}

/// Returns the length of a datagram: short and long ones alternate.
fn length_of(number: u32) -> usize {
    if number.is_multiple_of(3) { 20 } else { 1400 }
}

fn number(address: &str) {
    let socket = datagrams();
    for number in 0..DATAGRAMS {
        let mut datagram = vec![0; length_of(number)];
        datagram[..4].copy_from_slice(&number.to_le_bytes());
        socket.send_to(&datagram, (address, PORT)).unwrap();
        // So slowly that no socket overflows.
        threads::sleep(Duration::from_micros(300));
    }
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
