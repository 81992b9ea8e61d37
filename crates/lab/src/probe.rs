//! The probe: a process that measures TCP goodput between nodes. A socket belongs to the network
//! namespace that its thread was in when the socket was created, so one process can hold both ends
//! of a connection.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use garland_sys::arrival::Arrival;
use garland_sys::mptcp::Transport;
use garland_sys::namespace::{Kind, Namespace};
use garland_sys::socket::{TcpListener, TcpStream};
use garland_sys::{arrival, clock, inherited, tcp, threads};

use crate::check::{Answer, FlowTask, Task};

/// The size of a read or write, in bytes.
const PIECE: usize = 256 * 1024;

/// The time for which a flow sends after its bytes are no longer counted. The last counted bytes
/// arrive late if the reader has to wait for a CPU.
const AFTER: Duration = Duration::from_millis(30);

/// The timeout of all network operations.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(10);

/// Runs the probe; see [`crate::hidden::main`].
pub(crate) fn main() -> ExitCode {
    let answer: Answer = measure().map_err(|error| error.to_string());
    let said = serde_json::to_writer(io::stdout().lock(), &answer);
    if said.is_ok() && answer.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure() -> io::Result<Vec<f64>> {
    let task: Task = serde_json::from_reader(inherited::input()?.lock())?;
    if let Some(user) = &task.user {
        Namespace::open(Kind::User, user)?.join()?;
    }
    let task = &task;
    thread::scope(|scope| {
        let start = |flow| threads::spawn_in(scope, "flow", move || run(flow, task));
        let flows: Vec<_> = task.flows.iter().map(start).collect();
        flows
            .into_iter()
            .map(|flow| flow?.join().map_err(|_| io::Error::other("a thread panicked"))?)
            .collect()
    })
}

/// Measures one flow: this thread receives, a second one sends.
fn run(flow: &FlowTask, task: &Task) -> io::Result<f64> {
    enter(&flow.to)?;
    let transport = Transport::mptcp_if(flow.mptcp);
    let listener = tcp::listen(0, transport)?;
    let address = (flow.address, listener.local_addr()?.port());
    thread::scope(|scope| {
        let sender = threads::spawn_in(scope, "send", || {
            enter(&flow.from)?;
            let stream = tcp::connect(address.into(), NETWORK_TIMEOUT, transport)?;
            // Every kernel has Reno, and it fills the wire; BBR would send at its own estimate of
            // the rate.
            tcp::choose_congestion(&stream, &["reno"])?;
            send(stream, task.warm_up + task.window + AFTER)
        })?;
        let received = accept(&listener).and_then(|stream| receive(stream, task));
        let sent = sender.join().map_err(|_| io::Error::other("a thread panicked"))?;
        sent.and(received)
    })
}

fn enter(path: &Path) -> io::Result<()> {
    Namespace::open(Kind::Net, path)?.join()
}

/// Accepts one connection; fails if none arrives within [`NETWORK_TIMEOUT`].
fn accept(listener: &TcpListener) -> io::Result<TcpStream> {
    listener.set_nonblocking(true)?;
    let deadline = clock::now_ns() + nanos(NETWORK_TIMEOUT);
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if clock::now_ns() > deadline => {
                return Err(io::Error::other("timed out after 10 s waiting for a connection"));
            }
            Err(_) => threads::sleep(Duration::from_millis(1)),
        }
    }
}

fn send(mut stream: TcpStream, duration: Duration) -> io::Result<()> {
    stream.set_write_timeout(Some(NETWORK_TIMEOUT))?;
    let piece = vec![0x5a; PIECE];
    let end = clock::now_ns() + nanos(duration);
    while clock::now_ns() < end {
        stream.write_all(&piece)?;
    }
    // Reset the connection, so that bytes in buffers are dropped and not sent.
    tcp::reset_on_close(&stream)
}

/// Receives a flow and returns its goodput in bits per second, 0 if nothing arrived in the window.
/// It is measured from the first to the last read in the window.
fn receive(mut stream: TcpStream, task: &Task) -> io::Result<f64> {
    stream.set_read_timeout(Some(NETWORK_TIMEOUT))?;
    let mut piece = vec![0; PIECE];
    let begin = clock::now_ns() + nanos(task.warm_up);
    let window = begin..=begin + nanos(task.window);
    let mut counted: Option<[Arrival; 2]> = None;
    let mut bytes = 0;
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
            other => bytes += other? as u64,
        }
        let arrived = arrival::by_now(&stream, bytes);
        if window.contains(&arrived.at_ns) {
            counted.get_or_insert([arrived; 2])[1] = arrived;
        }
    }
    let [first, last] = counted.unwrap_or_default();
    // A wire that carries nothing is off what is predicted, and so it seems if this process stood
    // still for the whole window.
    if last.bytes == first.bytes || last.at_ns == first.at_ns {
        return Ok(0.0);
    }
    Ok((last.bytes - first.bytes) as f64 * 8e9 / (last.at_ns - first.at_ns) as f64)
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
