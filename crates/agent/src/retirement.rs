//! The end of an agent at the request of a head that may be of another release.

use std::io::Write;
use std::time::Duration;

use garland_protocol::wire::{Channel, ChannelError, RetireReply, RetireRequest, spoken};
use garland_sys::socket::TcpStream;
use garland_sys::{clock, threads};
use garland_transport::{LinkError, limits};

use crate::agent::{Agent, serves_controller};
use crate::log::log;

/// How long sessions may take to end whose heads have just ended.
const SESSIONS_END_TIMEOUT: Duration = Duration::from_secs(1);

/// The interval at which they are checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Answers a controller's request, and exits the process if it is granted.
///
/// # Errors
/// When the request is not known, or the answer cannot be sent; the agent stays then.
pub fn answer(
    agent: &Agent,
    request: &[u8],
    mut stream: TcpStream,
    mut channel: Channel,
) -> Result<(), LinkError> {
    let request = RetireRequest::parse(request).ok_or(ChannelError::Garbage)?;
    let until_ns = clock::after(SESSIONS_END_TIMEOUT);
    // Those of nodes last as long as these like: they keep no agent from being replaced.
    let mut open = agent.open.lock();
    while matches!(request, RetireRequest::Replace(_)) && serves_controller(&open) {
        drop(open);
        threads::sleep(CHECK_INTERVAL);
        open = agent.open.lock();
        if clock::until(until_ns).is_zero() {
            break;
        }
    }
    // Locked until the end: no session begins that the end would cut.
    let reply = match request {
        RetireRequest::Replace(protocol) if protocol <= spoken() => RetireReply::NotOlder,
        RetireRequest::Replace(_) if serves_controller(&open) => RetireReply::Busy,
        RetireRequest::Replace(_) | RetireRequest::End => RetireReply::Ends,
    };
    let mut frame = Vec::new();
    channel.sending.seal(&reply.to_bytes(), &mut frame)?;
    stream.set_write_timeout(Some(limits::GREETING))?;
    stream.write_all(&frame)?;
    if reply == RetireReply::Ends {
        log("exiting at the request of a controller");
        // If the key cannot be removed, it is useless once the agents have ended.
        let _ = agent.remove_cluster_key();
        std::process::exit(0);
    }
    Ok(())
}
