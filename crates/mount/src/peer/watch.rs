//! Whether a node's agent is there: it says so ten times a second on the control channel, from a
//! thread that no disk can block.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use garland_sys::{event, threads};
use garland_transport::Connection;

use super::wire::Wire;

/// How long is waited for a word at a time. Waits are counted, not the clock: a mount that itself
/// stood still must not take that for the agent's silence.
const WAIT: Duration = Duration::from_millis(250);

/// An agent that was silent for so many waits is gone.
const SILENT: u32 = 12;

/// Keeps the control channel, and gives the wire up when the agent is gone. The channel ends with the
/// wire.
///
/// # Errors
/// When the system makes no thread for it.
pub fn start(mut connection: Connection, wire: &Arc<Wire>) -> io::Result<()> {
    let (failed, wire) = (Arc::clone(wire), Arc::clone(wire));
    let begun = threads::spawn("watch", move || {
        let mut silent = 0;
        while !wire.is_over() {
            match event::wait_readable(&[connection.as_fd()], Some(WAIT)) {
                Ok(ready) if ready == [true] => match connection.receive() {
                    Ok(_) => silent = 0,
                    Err(error) => wire.fail(&error.to_string()),
                },
                Ok(_) => {
                    silent += 1;
                    if silent >= SILENT {
                        wire.fail("no word from its agent for 3 s");
                    }
                }
                Err(error) => wire.fail(&error.to_string()),
            }
        }
    });
    begun.map(drop).inspect_err(|error| failed.fail(&error.to_string()))
}
