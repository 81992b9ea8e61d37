//! Access to files of this machine for jobs on nodes: an agent on this machine serves the files,
//! and each node mounts them on a directory, its window.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use garland_control::Agent;
use garland_core::farm::Text;
use garland_protocol::{KeyPair, Opening, PublicKey};
use garland_transport::{Connection, connect_agent};

use super::driver::Work;
use garland_fleet::launch::{Cancellation, LaunchedChild, Orders, local};
use garland_terminal::failure::{Failure, OrFailure};

/// The name of this machine's agent, in messages.
const SERVER: &str = "files";

/// Timeout for connecting to an agent.
const CONNECT: Duration = Duration::from_secs(5);

/// The agent that serves this machine's files. Dropping this ends the agent.
pub struct Server {
    port: u16,
    key: PublicKey,
    /// The key pair with which windows authenticate.
    keys: KeyPair,
    /// A connection that keeps the agent alive: without one, the agent exits.
    _connection: Connection,
    _child: Option<LaunchedChild>,
}

impl Server {
    /// Starts the agent. It accepts only the key that is generated for this run.
    pub fn start(work: &Work<'_>) -> Result<Self, Failure> {
        let keys = KeyPair::generate();
        let orders = Orders {
            controller: keys.public,
            cancellation: Cancellation::by(Some(Arc::clone(work.interrupts))),
            ..Orders::default()
        };
        let log = work.run.folder().join("files.log");
        let launched = local::launch(SERVER, Path::new("/"), &orders, &log);
        let launched =
            launched.or_nothing("cannot start the agent that serves this machine's files")?;
        let (port, key) = (launched.ready.port, launched.ready.key);
        let address = (launched.addresses[0], port).into();
        let connection = connect_agent(address, &keys, &key, CONNECT);
        let connection = connection
            .or_nothing("cannot connect to the agent that serves this machine's files")?;
        Ok(Self { port, key, keys, _connection: connection, _child: launched.child })
    }

    /// Returns the order to open a window at `folder` on the node of `agent`; none if the address
    /// by which the node reaches this machine is unknown.
    pub fn opening(&self, agent: &Agent, folder: &Text) -> Option<Opening> {
        let address = agent.connection.own_address().ok()?.ip();
        Some(Opening {
            folder: folder.clone(),
            address: (address, self.port).into(),
            key: self.key,
            keys: [self.keys.private.0, self.keys.public],
        })
    }
}

/// Returns the path of this machine's files in a window at `folder`.
pub fn files_in(folder: &Text) -> Text {
    Text([folder.bytes(), b"/", Opening::FILES.as_bytes()].concat())
}
