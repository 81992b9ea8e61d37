//! `garland bridge ADDRESS:PORT`: passes bytes on between a login and an agent of this node. The
//! head runs it over ssh where a firewall keeps it from the agent's port.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use garland_protocol::wire::BridgeLine;
use garland_sys::error::reason;
use garland_sys::{inherited, threads};
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// The time in which the agent, which runs on this machine, must accept the connection.
const CONNECT: Duration = Duration::from_secs(3);

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
    let connected = TcpStream::connect_timeout(&address, CONNECT);
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
        // The end of the login's input is that of the head's connection, however it came.
        let _ = pass_on(&mut input, &mut to_agent);
        let _ = to_agent.shutdown(Shutdown::Write);
    })
    .or_nothing(bridging)?;
    // The process ends with the agent's connection, or when the login is gone.
    let _ = pass_on(&mut agent, &mut output);
    Ok(Exit::Done)
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
