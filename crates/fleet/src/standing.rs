//! Standing agents (`garland up`), which outlive the command that starts them. Each has a record in
//! the private state directory, with which later commands connect without starting an agent.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use garland_control::Agent;
use garland_core::cluster::Node;
use garland_lab::Lab;
use garland_protocol::{ClusterAgent, KeyPair, PublicKey, RetireReply, RetireRequest};
use garland_transport::{connect_agent, retire};
use serde::{Deserialize, Serialize};

use crate::inventory;
use crate::launch::{LaunchError, Launched, cannot};
use crate::reach::Unreached;
use garland_results::places::{Places, write_private};
use garland_terminal::failure::Failure;

/// Timeout for connecting to a standing agent.
const CONNECT: Duration = Duration::from_secs(3);

/// The record of a standing agent, with its addresses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Standing {
    /// The schema of the record, always [`SCHEMA`].
    schema: String,
    /// The node's name.
    pub name: String,
    /// The node's addresses, one per rail.
    pub addresses: Vec<IpAddr>,
    /// The TCP port of the agent.
    pub port: u16,
    /// The agent's public key.
    pub key: [u8; 32],
    /// The name of the node's rack, if known.
    #[serde(default)]
    pub rack: Option<String>,
    /// The path of the agent's log on the node, if known.
    #[serde(default)]
    pub log: Option<PathBuf>,
    /// The settings of the agent, which its successor keeps.
    #[serde(default)]
    pub settings: Settings,
}

/// The number of idle seconds after which a standing agent ends by default.
pub const IDLE: u64 = 3600;

/// The settings with which a standing agent was started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Settings {
    /// The number of idle seconds after which the agent ends.
    pub idle: u64,
    /// Whether the agent accepts MPTCP on its port.
    pub mptcp: bool,
    /// The root directory of a local agent; none for others.
    pub root: Option<PathBuf>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { idle: IDLE, mptcp: false, root: None }
    }
}

const SCHEMA: &str = "garland.standing/1";

impl Standing {
    /// Returns the record of an agent that has been started with `settings`.
    pub fn of((node, lab): (&Node, Option<&Lab>), launched: &Launched, settings: Settings) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            name: node.name.clone(),
            rack: inventory::rack(node, lab),
            addresses: launched.addresses.clone(),
            port: launched.ready.port,
            key: launched.ready.key,
            log: launched.ready.log.clone(),
            settings,
        }
    }

    /// Returns the record of another agent of the cluster, as members know it.
    pub fn of_cluster(agent: ClusterAgent) -> Self {
        let ClusterAgent { name, addresses, port, key, rack, member: _ } = agent;
        let (schema, settings) = (SCHEMA.to_owned(), Settings::default());
        Self { schema, name, addresses, port, key, rack, log: None, settings }
    }

    /// Returns what members of the cluster know of the agent; `member` is the key of its node, if it
    /// is a member.
    pub fn for_cluster(&self, member: Option<PublicKey>) -> ClusterAgent {
        ClusterAgent {
            name: self.name.clone(),
            addresses: self.addresses.clone(),
            port: self.port,
            key: self.key,
            member,
            rack: self.rack.clone(),
        }
    }

    /// Reads the record of the node `name`; none if it has no standing agent.
    pub fn find(records: &RecordDir, name: &str) -> Option<Self> {
        let text = std::fs::read(records.path(name)).ok()?;
        serde_json::from_slice::<Self>(&text).ok().filter(|record| record.schema == SCHEMA)
    }

    /// Reads all records, ordered by name.
    pub fn all(records: &RecordDir) -> Vec<Self> {
        let entries = std::fs::read_dir(&records.folder).into_iter().flatten().flatten();
        let mut all: Vec<Self> = entries
            .filter_map(|entry| serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok())
            .filter(|record: &Self| record.schema == SCHEMA)
            .collect();
        all.sort_by(|one, two| one.name.cmp(&two.name));
        all
    }

    /// Writes the agent's record to `records`.
    pub fn keep(&self, records: &RecordDir) -> Result<(), LaunchError> {
        let path = records.path(&self.name);
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::from);
        text.and_then(|text| write_private(&path, &text))
            .map_err(cannot(format!("write {}", path.display()), ""))
    }

    /// Removes the agent's record from `records`, unless another command has recorded another agent
    /// meanwhile.
    pub fn forget(&self, records: &RecordDir) {
        if Self::find(records, &self.name).is_some_and(|found| found.key == self.key) {
            // The file may have been removed already.
            let _ = std::fs::remove_file(records.path(&self.name));
        }
    }

    /// Connects to the agent.
    ///
    /// # Errors
    /// When the agent does not answer, or another process listens at its address.
    pub fn connect(&self, keys: &KeyPair) -> Result<Agent, Unreached> {
        let addresses = self.sockets();
        let first = *addresses.first().ok_or(Unreached::NoAddress)?;
        let connection = connect_agent(first, keys, &self.key, CONNECT)?;
        Ok(Agent { connection, addresses })
    }

    /// Asks the agent, which may be of another release, to end, and waits for its end.
    ///
    /// # Errors
    /// Those of [`Standing::connect`], and when the agent does not end.
    pub fn retire(&self, keys: &KeyPair, request: RetireRequest) -> Result<RetireReply, Unreached> {
        let first = *self.sockets().first().ok_or(Unreached::NoAddress)?;
        Ok(retire(first, keys, &self.key, request, CONNECT)?)
    }

    /// Returns the record with `address` instead of the recorded addresses.
    pub fn at(&self, address: IpAddr) -> Self {
        Self { addresses: vec![address], ..self.clone() }
    }

    fn sockets(&self) -> Vec<SocketAddr> {
        self.addresses.iter().map(|address| SocketAddr::new(*address, self.port)).collect()
    }
}

/// The directory of standing agents' records. There is one for real nodes and one per lab, since
/// the nodes of all labs have the same names.
pub struct RecordDir {
    folder: PathBuf,
}

impl RecordDir {
    /// Opens the directory of the records of real nodes, or of the nodes of `lab`. The directory is
    /// created if missing.
    pub fn open(places: &Places, lab: Option<&str>) -> Result<Self, Failure> {
        let name = lab.map_or_else(|| "standing".to_owned(), |lab| format!("standing-lab-{lab}"));
        Ok(Self { folder: places.folder(&name)? })
    }

    /// Removes all records, because the lab is down.
    pub fn clear(self) {
        // A record that cannot be removed is removed as stale when it is used next.
        let _ = std::fs::remove_dir_all(self.folder);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }
}
