//! Watches the agent of a node by its heartbeats and its answers. The agent sends ten heartbeats a
//! second on the control channel, from a thread that no disk can block.

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use garland_sys::{clock, event, threads};
use garland_transport::connection::Connection;

use super::wire::Wire;

/// The timeout of one wait for a heartbeat. Silence is measured in waits, not in time, so that the
/// agent does not count as silent while the mount itself was suspended.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_millis(250);

/// The number of consecutive waits without a heartbeat after which the agent counts as lost.
const SILENT: u32 = 12;

/// The maximum time that counts between two looks at the unanswered requests: while the mount
/// itself was suspended, the agent had nobody to answer.
const PASSED_MAX: Duration = Duration::from_millis(500);

/// Starts a thread that receives heartbeats on the control channel, and closes `wire` when they
/// or the answers stop. The channel stays open until `wire` is closed.
///
/// # Errors
/// When the thread cannot be started.
pub fn start(mut connection: Connection, wire: &Arc<Wire>) -> io::Result<()> {
    let failed = Arc::clone(wire);
    let wire = Arc::clone(wire);
    let begun = threads::spawn("watch", move || {
        let mut silent = 0;
        let mut looked_ns = clock::now_ns();
        while wire.failure().is_none() {
            match event::wait_readable(&[connection.as_fd()], Some(HEARTBEAT_TIMEOUT)) {
                Ok(ready) if ready == [true] => match connection.receive() {
                    Ok(_) => silent = 0,
                    Err(error) => wire.fail(&error.to_string()),
                },
                Ok(_) => {
                    silent += 1;
                    if silent >= SILENT {
                        wire.fail("its agent sent nothing for 3 s");
                    }
                }
                Err(error) => wire.fail(&error.to_string()),
            }
            let woken_ns = clock::now_ns();
            let passed = Duration::from_nanos(woken_ns.saturating_sub(looked_ns));
            wire.pass(passed.min(PASSED_MAX));
            looked_ns = woken_ns;
        }
    });
    begun.map(drop).inspect_err(|error| failed.fail(&error.to_string()))
}
