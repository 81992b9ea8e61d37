//! Agents that stay (`garland up`): where they are, so that the next command needs no set-up. Their
//! records stand in the user's private state folder.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use garland_control::Agent;
use garland_protocol::KeyPair;
use garland_transport::connect_agent;
use serde::{Deserialize, Serialize};

use crate::launch::Launched;
use crate::reach::Unreached;
use garland_results::places::{Places, write_private};
use garland_terminal::failure::Failure;

/// How long an agent may take to answer before it counts as gone.
const CONNECT: Duration = Duration::from_secs(3);

/// Where an agent that stays can be found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Standing {
    /// The form of this record.
    schema: String,
    /// The node.
    pub name: String,
    /// Its addresses, one a rail.
    pub addresses: Vec<IpAddr>,
    /// The port it listens on.
    pub port: u16,
    /// Its public key.
    pub key: [u8; 32],
    /// Its log, a file on its host.
    #[serde(default)]
    pub log: Option<PathBuf>,
}

const SCHEMA: &str = "garland.standing/1";

impl Standing {
    /// The record of an agent that has been started.
    pub fn of(name: &str, launched: &Launched) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            name: name.to_owned(),
            addresses: launched.addresses.clone(),
            port: launched.ready.port,
            key: launched.ready.key,
            log: launched.ready.log.clone(),
        }
    }

    /// The record of `name`, if it has an agent that stays.
    pub fn find(shelf: &Shelf, name: &str) -> Option<Self> {
        let text = std::fs::read(shelf.path(name)).ok()?;
        serde_json::from_slice::<Self>(&text).ok().filter(|record| record.schema == SCHEMA)
    }

    /// All records, by name.
    pub fn all(shelf: &Shelf) -> Vec<Self> {
        let entries = std::fs::read_dir(&shelf.folder).into_iter().flatten().flatten();
        let mut records: Vec<Self> = entries
            .filter_map(|entry| serde_json::from_slice(&std::fs::read(entry.path()).ok()?).ok())
            .filter(|record: &Self| record.schema == SCHEMA)
            .collect();
        records.sort_by(|one, two| one.name.cmp(&two.name));
        records
    }

    /// Keeps the record.
    pub fn keep(&self, shelf: &Shelf) -> Result<(), String> {
        let text = serde_json::to_vec_pretty(self).map_err(|error| error.to_string())?;
        let path = shelf.path(&self.name);
        write_private(&path, &text).map_err(|error| format!("writing {}: {error}", path.display()))
    }

    /// Forgets the record.
    pub fn forget(&self, shelf: &Shelf) {
        // It may be gone already.
        let _ = std::fs::remove_file(shelf.path(&self.name));
    }

    /// Connects to the agent.
    ///
    /// # Errors
    /// When nobody answers there, or it isn't the agent that was started.
    pub fn connect(&self, keys: &KeyPair) -> Result<Agent, Unreached> {
        let at = |address: &IpAddr| SocketAddr::new(*address, self.port);
        let addresses: Vec<SocketAddr> = self.addresses.iter().map(at).collect();
        let first = *addresses.first().ok_or(Unreached::NoAddress)?;
        let connection = connect_agent(first, keys, &self.key, CONNECT)?;
        Ok(Agent { connection, addresses })
    }

    /// Connects to the agent at an address that only this process knows it by.
    ///
    /// # Errors
    /// As [`Standing::connect`].
    pub fn connect_at(&self, address: IpAddr, keys: &KeyPair) -> Result<Agent, Unreached> {
        let address = SocketAddr::new(address, self.port);
        let connection = connect_agent(address, keys, &self.key, CONNECT)?;
        Ok(Agent { connection, addresses: vec![address] })
    }
}

/// Where records stand: one folder for real nodes, and one for each lab, whose nodes have the same
/// names as another's.
pub struct Shelf {
    folder: PathBuf,
}

impl Shelf {
    /// The shelf of real nodes, or of a lab's.
    pub fn open(places: &Places, lab: Option<&str>) -> Result<Self, Failure> {
        let name = lab.map_or_else(|| "standing".to_owned(), |lab| format!("standing-lab-{lab}"));
        Ok(Self { folder: places.folder(&name)? })
    }

    /// Forgets all of its records: the lab is down.
    pub fn clear(self) {
        // What can't be removed is found stale when it is used next.
        let _ = std::fs::remove_dir_all(self.folder);
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }
}
