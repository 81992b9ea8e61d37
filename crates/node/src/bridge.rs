//! `garland bridge ADDRESS:PORT`: passes bytes on between a login and an agent of this node. The
//! head runs it over ssh where a firewall keeps it from the agent's port.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use garland_protocol::wire::BridgeLine;
use garland_sys::error::reason;
use garland_sys::tcp_info::TcpInfo;
use garland_sys::{clock, inherited, tcp, threads};
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// The time in which the agent, which runs on this machine, must accept the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// The bytes that are read at once: what ssh sends at once, several times.
const PIECE: usize = 128 << 10;

/// Connects to the agent at `address`, and passes bytes on until either side ends.
///
/// # Errors
/// When a standard descriptor is closed, or no thread can be started.
pub fn run(address: SocketAddr) -> Result<Exit, Failure> {
    let bridging = "cannot reach the agent for a login";
    let stdin = inherited::input().or_nothing(bridging)?;
    let stdout = inherited::output().or_nothing(bridging)?;
    // The descriptors themselves, without the buffers and locks of the standard streams.
    let mut input = File::from(stdin.as_fd().try_clone_to_owned().or_nothing(bridging)?);
    let mut output = File::from(stdout.as_fd().try_clone_to_owned().or_nothing(bridging)?);
    let connected = TcpStream::connect_timeout(&address, CONNECT_TIMEOUT);
    let line = match &connected {
        Ok(_) => BridgeLine::Open,
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            BridgeLine::Refused(reason(error))
        }
        Err(error) => BridgeLine::Failed(reason(error)),
    };
    writeln!(output, "{line}").or_nothing(bridging)?;
    let Ok(mut agent) = connected else { return Ok(Exit::Nothing) };
    // Without it small messages wait for each other.
    agent.set_nodelay(true).or_nothing(bridging)?;
    let mut to_agent = agent.try_clone().or_nothing(bridging)?;
    threads::spawn("bridge", move || {
        let _ = pass_on(&mut input, &mut to_agent);
        // Whether the head has ended the connection or the login broke is not known here. A head
        // that ends a session says so before; of what breaks, the agent waits for the continuation.
        break_off(to_agent);
        std::process::exit(Exit::Done.code().into());
    })
    .or_nothing(bridging)?;
    // The process ends with the agent's connection, or when the login is gone.
    if pass_on(&mut agent, &mut output).is_err() {
        break_off(agent);
    }
    Ok(Exit::Done)
}

/// Breaks the connection to the agent, which then does not take it for ended, once the agent's
/// kernel has all that was sent.
fn break_off(agent: TcpStream) {
    let agent = garland_sys::socket::TcpStream::from(agent);
    let until_ns = clock::after(CONNECT_TIMEOUT);
    let has_unsent = || TcpInfo::read(&agent).is_ok_and(|info| info.unsent > 0);
    while has_unsent() && !clock::until(until_ns).is_zero() {
        threads::sleep(Duration::from_millis(1));
    }
    // A connection that cannot be reset is shut down.
    let _ = tcp::reset_on_close(&agent);
}

fn pass_on(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let mut piece = vec![0; PIECE];
    loop {
        match from.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => to.write_all(&piece[..read])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
