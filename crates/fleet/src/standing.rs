//! Standing agents (`garland up`), which outlive the command that starts them. Each has a record in
//! the private state directory, with which later commands connect without starting an agent. The
//! record is written before the agent is started, so that no agent runs without one, and completed
//! as soon as the agent is ready.

use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use garland_control::Agent;
use garland_core::cluster::Node;
use garland_core::cluster::listen::Listening;
use garland_core::printable;
use garland_lab::Lab;
use garland_protocol::names::ClusterAgent;
use garland_protocol::wire::{KeyPair, PublicKey, RetireReply, RetireRequest};
use garland_state::places::Places;
use garland_sys::error::reason;
use garland_sys::identity::Identity;
use garland_sys::mptcp::Transport;
use garland_sys::{clock, private_file, random, tcp};
use garland_terminal::failure::{Failure, OrFailure};
use garland_transport::connection::connect_agent;
use garland_transport::detour::{self, Detour};
use garland_transport::{ConnectionError, retire};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::inventory;
use crate::launch::{Bridge, Cancellation, LaunchError, Launched, Login, cannot};
use crate::reach::Unreached;

/// Timeout for connecting to an agent.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);

/// Timeout for connecting to an agent right after a login on its node: the way there works, and
/// where a firewall drops what is sent, this is lost for nothing. The system sends again after a
/// second.
pub const CONNECT_AFTER_LOGIN_TIMEOUT: Duration = Duration::from_millis(1500);

/// How long it may take to find that a port is open which was closed before: each command looks.
const PORT_OPENS_WITHIN: Duration = Duration::from_millis(200);

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
    /// The public key of the controller that the agent obeys, if known.
    #[serde(default)]
    controller: Option<PublicKey>,
    /// The name of the node's rack, if known.
    #[serde(default)]
    pub rack: Option<String>,
    /// The path of the agent's log on the node, if known.
    #[serde(default)]
    pub log: Option<PathBuf>,
    /// The time of the agent's start in seconds since 1970, if known.
    #[serde(default)]
    started: Option<u64>,
    /// The release of the agent, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// The word by which the agent's process is found among those of its node, if known.
    #[serde(default)]
    tag: Option<String>,
    /// The command that starts the agent; `None` as soon as the agent is ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    starting: Option<StartingCommand>,
    /// The settings of the agent, which its successor keeps.
    #[serde(default)]
    pub settings: Settings,
    /// The login by which the agent is reached; `None` if its port is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub login: Option<Login>,
    /// Ends the logins by which this process reaches the agent.
    #[serde(skip)]
    pub cancellation: Cancellation,
}

/// The process of a command that starts a standing agent (see [`Identity`]).
#[derive(Clone, Debug, Serialize, Deserialize)]
struct StartingCommand {
    pid: u32,
    start: u64,
    boot: String,
}

/// How far the start of a standing agent is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The command with this process starts it.
    Starting(u32),
    /// The command that started it has ended before the agent was ready, or before it knew of that.
    /// Nobody has used the agent, if there is one.
    Interrupted,
    /// It is ready.
    Ready,
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
    /// What the options of its start said about where it listens.
    #[serde(default)]
    pub listening: Listening,
    /// The age in seconds at which the agent ends; none for any.
    #[serde(default)]
    pub max_life: Option<u64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            idle: IDLE,
            mptcp: false,
            root: None,
            listening: Listening::default(),
            max_life: None,
        }
    }
}

/// Returns the seconds since 1970: records outlive the process, and the machine's boot.
fn now_s() -> u64 {
    clock::wall_ns() / 1_000_000_000
}

/// What precedes the name of a lab in that of the directory of its records.
const LAB_RECORDS: &str = "standing-lab-";

const SCHEMA: &str = "garland.standing/1";

/// The end of the file names of records.
const RECORD: &str = ".json";

/// The maximum length of a record in bytes.
const RECORD_MAX: u64 = 1 << 20;

/// The error of a record that is there and cannot be read.
#[derive(Debug, Error)]
#[error("cannot read the record of its standing agent, {}: {why}", printable::path(.path))]
pub struct UnreadableRecord {
    path: PathBuf,
    why: String,
    /// The name of the node.
    name: String,
}

impl UnreadableRecord {
    /// Returns the error's text with a hint, for the reason of a node.
    pub fn of_node(&self) -> String {
        format!("{self}; {}", self.hint())
    }

    fn hint(&self) -> String {
        format!(
            "`garland down --forget '{}'` removes the record, and the agent ends when it is idle",
            self.name
        )
    }
}

impl From<UnreadableRecord> for Failure {
    fn from(error: UnreadableRecord) -> Self {
        Self::nothing(&error).hint(error.hint())
    }
}

impl From<UnreadableRecord> for LaunchError {
    fn from(error: UnreadableRecord) -> Self {
        Self::Refused(error.of_node())
    }
}

impl Standing {
    /// Returns the record of an agent that this process is about to start with `settings` on a
    /// node, perhaps of a lab, and that will obey the controller with this public key.
    ///
    /// # Errors
    /// When this process cannot read its own identity.
    pub fn new(
        node: &Node,
        lab: Option<&Lab>,
        controller: PublicKey,
        settings: Settings,
    ) -> io::Result<Self> {
        let Identity { pid, start, boot } = Identity::own()?;
        Ok(Self {
            schema: SCHEMA.to_owned(),
            name: node.name.clone(),
            rack: inventory::rack(node, lab),
            addresses: Vec::new(),
            port: 0,
            key: [0; 32],
            controller: Some(controller),
            log: None,
            started: None,
            release: None,
            tag: Some(random::bytes::<8>().map(|byte| format!("{byte:02x}")).concat()),
            starting: Some(StartingCommand { pid, start, boot }),
            settings,
            login: None,
            cancellation: Cancellation::default(),
        })
    }

    /// Returns the record of the agent that has been started.
    #[must_use]
    pub fn ready(self, launched: &Launched) -> Self {
        Self {
            addresses: launched.addresses.clone(),
            port: launched.ready.port,
            key: launched.ready.key,
            log: launched.ready.log.clone(),
            started: Some(now_s()),
            release: Some(launched.ready.release.clone()),
            starting: None,
            ..self
        }
    }

    /// Returns how far the agent's start is.
    pub fn stage(&self) -> Stage {
        let Some(StartingCommand { pid, start, boot }) = &self.starting else {
            return Stage::Ready;
        };
        let command = Identity { pid: *pid, start: *start, boot: boot.clone() };
        if command.is_alive() { Stage::Starting(*pid) } else { Stage::Interrupted }
    }

    /// Returns the word that the agent's process, and no other one, has among its arguments; `None`
    /// if the record is of a release that did not note that.
    pub fn tag(&self) -> Option<&str> {
        self.tag.as_deref()
    }

    /// Returns the seconds since the agent was started, if known.
    pub fn age_s(&self) -> Option<u64> {
        self.started.map(|started| now_s().saturating_sub(started))
    }

    /// Returns whether the agent obeys the controller with this public key; `None` if the record is
    /// of a release that did not note that.
    pub fn obeys(&self, controller: &PublicKey) -> Option<bool> {
        self.controller.map(|own| own == *controller)
    }

    /// Returns the record of another agent of the cluster, as members know it.
    pub fn of_cluster(agent: ClusterAgent) -> Self {
        let ClusterAgent { name, addresses, port, key, rack, member: _ } = agent;
        let schema = SCHEMA.to_owned();
        let settings = Settings::default();
        Self {
            schema,
            name,
            addresses,
            port,
            key,
            controller: None,
            rack,
            log: None,
            started: None,
            release: None,
            tag: None,
            starting: None,
            settings,
            login: None,
            cancellation: Cancellation::default(),
        }
    }

    /// Returns what members of the cluster know of the agent; `member` is the key of its node, if
    /// it is a member.
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
    ///
    /// # Errors
    /// When there is a record that cannot be read: its agent may be up, and obeys this user only.
    pub fn find(records: &RecordDir, name: &str) -> Result<Option<Self>, UnreadableRecord> {
        let path = records.path(name);
        let unreadable =
            |why: String| UnreadableRecord { path: path.clone(), why, name: name.to_owned() };
        let text =
            private_file::read(&path, RECORD_MAX).map_err(|error| unreadable(reason(&error)))?;
        let Some(text) = text else { return Ok(None) };
        let record: Self = serde_json::from_slice(&text)
            .map_err(|error| unreadable(format!("it is damaged: {error}")))?;
        match record.schema == SCHEMA {
            true => Ok(Some(record)),
            false => Err(unreadable(format!("it is of another release ({})", record.schema))),
        }
    }

    /// Reads the records of all agents that are ready, ordered by name.
    ///
    /// # Errors
    /// When the directory or a record cannot be read.
    pub fn all(records: &RecordDir) -> Result<Vec<Self>, Failure> {
        let mut all = Self::all_begun(records)?;
        all.retain(|record| record.starting.is_none());
        Ok(all)
    }

    /// Reads all records, ordered by name, also those of agents that were not ready when they were
    /// written.
    ///
    /// # Errors
    /// When the directory or a record cannot be read.
    pub fn all_begun(records: &RecordDir) -> Result<Vec<Self>, Failure> {
        let mut all = Vec::new();
        for name in records.names()? {
            // A record that another command has just removed is left out.
            all.extend(Self::find(records, &name)?);
        }
        Ok(all)
    }

    /// Writes the record of an agent that is about to be started, unless its node has one.
    ///
    /// # Errors
    /// When the node has a record, or this one cannot be written: the agent must not be started.
    pub fn begin(&self, records: &RecordDir) -> Result<(), LaunchError> {
        let path = records.path(&self.name);
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::from);
        let created = text.and_then(|text| private_file::create(&path, &text));
        match created.map_err(cannot(format!("write {}", printable::path(&path)), ""))? {
            true => Ok(()),
            false => Err("another command has started a standing agent there meanwhile".into()),
        }
    }

    /// Writes the agent's record to `records`.
    pub fn keep(&self, records: &RecordDir) -> Result<(), LaunchError> {
        let path = records.path(&self.name);
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::from);
        text.and_then(|text| private_file::replace(&path, &text))
            .map_err(cannot(format!("write {}", printable::path(&path)), ""))
    }

    /// Removes the agent's record from `records`, unless another command has recorded another agent
    /// meanwhile.
    pub fn forget(&self, records: &RecordDir) {
        let found = Self::find(records, &self.name).ok().flatten();
        // The record of an agent that is not ready has no key yet, and those of others have no tag.
        let is_same = |found: &Self| match &self.tag {
            Some(tag) => found.tag.as_ref() == Some(tag),
            None => found.key == self.key,
        };
        if found.as_ref().is_some_and(is_same) {
            // The file may have been removed already.
            let _ = fs::remove_file(records.path(&self.name));
        }
    }

    /// Connects to the agent.
    ///
    /// # Errors
    /// When the agent does not answer, or another process listens at its address.
    pub fn connect(&self, keys: &KeyPair) -> Result<Agent, Unreached> {
        // It would refuse the key, and count as one that may be busy.
        if self.obeys(&keys.public) == Some(false) {
            return Err(Unreached::OtherKey);
        }
        self.choose_detour();
        self.connect_as_chosen(keys)
    }

    /// Connects by `login` to the agent, whose port has just been found closed: later connections
    /// of this process to it take the login, too.
    ///
    /// # Errors
    /// Those of [`Standing::connect`].
    pub fn connect_by(&mut self, login: Login, keys: &KeyPair) -> Result<Agent, Unreached> {
        self.take_detour(&login);
        self.login = Some(login);
        self.connect_as_chosen(keys)
    }

    fn connect_as_chosen(&self, keys: &KeyPair) -> Result<Agent, Unreached> {
        let connect = |address| connect_agent(address, keys, &self.key, CONNECT_TIMEOUT);
        let connection = self.at_any_address(connect)?;
        Ok(Agent { connection, addresses: self.sockets() })
    }

    /// Connects to the agent within `timeout` at its own address, whatever detour another node has
    /// there, which says that it has the same address. Returns the address at which the agent has
    /// proved its key: no detour is left there then.
    ///
    /// # Errors
    /// Those of [`Standing::connect`].
    pub fn connect_directly(
        &self,
        keys: &KeyPair,
        timeout: Duration,
    ) -> Result<(Agent, SocketAddr), Unreached> {
        let detours: Vec<_> =
            self.sockets().into_iter().map(|at| (at, detour::leave(&at))).collect();
        let connect = |address| {
            let connection = connect_agent(address, keys, &self.key, timeout)?;
            Ok((Agent { connection, addresses: self.sockets() }, address))
        };
        let connected = self.at_any_address(connect);
        let proved = connected.as_ref().ok().map(|(_, address)| *address);
        for (address, detour) in detours {
            if let Some(detour) = detour.filter(|_| proved != Some(address)) {
                detour::take(address, detour);
            }
        }
        connected
    }

    /// Asks the agent, which may be of another release, to end, and waits for its end.
    ///
    /// # Errors
    /// Those of [`Standing::connect`], and when the agent does not end.
    pub fn retire(&self, keys: &KeyPair, request: RetireRequest) -> Result<RetireReply, Unreached> {
        self.choose_detour();
        self.at_any_address(|address| retire(address, keys, &self.key, request, CONNECT_TIMEOUT))
    }

    /// Returns whether a connection to the agent's port comes about at once.
    pub fn is_open(&self) -> bool {
        let is_open = |address: &SocketAddr| {
            tcp::connect(*address, PORT_OPENS_WITHIN, Transport::Tcp).is_ok()
        };
        self.sockets().iter().any(is_open)
    }

    /// Has this process reach the agent by the record's login, if it has one and the agent's port
    /// still cannot be reached.
    fn choose_detour(&self) {
        match self.login.as_ref().filter(|_| !self.is_open()) {
            Some(login) => self.take_detour(login),
            None => self.sockets().iter().for_each(|address| drop(detour::leave(address))),
        }
    }

    /// Has this process reach the agent by `login`.
    fn take_detour(&self, login: &Login) {
        let bridge: Arc<Bridge> = Arc::new(Bridge::new(login.clone(), self.cancellation.clone()));
        for address in self.sockets() {
            let detour: Arc<dyn Detour> = Arc::<Bridge>::clone(&bridge);
            detour::take(address, detour);
        }
    }

    /// Calls `reach` with the agent's first address. As long as the connection is refused, which
    /// one segment of anybody on the path does, calls it with the next one.
    fn at_any_address<T>(
        &self,
        reach: impl Fn(SocketAddr) -> Result<T, ConnectionError>,
    ) -> Result<T, Unreached> {
        match self.stage() {
            Stage::Starting(pid) => return Err(Unreached::Starting(pid)),
            Stage::Interrupted => return Err(Unreached::Interrupted),
            Stage::Ready => {}
        }
        let mut refused = Unreached::NoAddress;
        for address in self.sockets() {
            match reach(address).map_err(Unreached::from) {
                Err(error) if error.may_have_ended() => refused = error,
                reached => return reached,
            }
        }
        Err(refused)
    }

    /// Returns the seconds until the agent ends by its age, or 0 if it only finishes its sessions;
    /// `None` if no age was set.
    pub fn ends_in(&self) -> Option<u64> {
        let end = self.started?.checked_add(self.settings.max_life?)?;
        Some(end.saturating_sub(now_s()))
    }

    /// Returns whether the agent has reached its maximum age, and so takes no new session.
    pub fn is_over(&self) -> bool {
        self.ends_in() == Some(0)
    }

    /// Returns the record with `address` instead of the recorded addresses.
    pub fn at(&self, address: IpAddr) -> Self {
        Self { addresses: vec![address], ..self.clone() }
    }

    /// Returns the addresses of the agent, one per rail.
    pub fn sockets(&self) -> Vec<SocketAddr> {
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
        let name = lab.map_or_else(|| "standing".to_owned(), |lab| format!("{LAB_RECORDS}{lab}"));
        Ok(Self { folder: places.folder(&name)? })
    }

    /// Returns which directories there are: `None` for that of real nodes, and the names of labs.
    pub fn labs(places: &Places) -> Result<Vec<Option<String>>, Failure> {
        let folder = places.folder("standing")?;
        let state = folder.parent().unwrap_or(&folder);
        let entries =
            fs::read_dir(state).or_nothing(format!("cannot list {}", printable::path(state)))?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let labs =
            names.filter_map(|name| Some(name.to_str()?.strip_prefix(LAB_RECORDS)?.to_owned()));
        let mut all: Vec<Option<String>> = labs.map(Some).collect();
        all.push(None);
        all.sort();
        Ok(all)
    }

    /// Removes all records, because the lab is down.
    pub fn clear(self) {
        // A record that cannot be removed is removed as stale when it is used next.
        let _ = fs::remove_dir_all(self.folder);
    }

    /// Returns the names of the nodes that have a record, in order, also of those whose record
    /// cannot be read.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn names(&self) -> Result<Vec<String>, Failure> {
        let reading = || format!("cannot read {}", printable::path(&self.folder));
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).or_nothing(reading())? {
            let name = entry.or_nothing(reading())?.file_name();
            // Others were left by a command that was killed.
            names.extend(name.to_str().and_then(|it| it.strip_suffix(RECORD)).map(str::to_owned));
        }
        names.sort();
        Ok(names)
    }

    /// Returns the records of all agents that are ready, without those that cannot be read: whoever
    /// needs them meets the error.
    pub fn readable(&self) -> Vec<Standing> {
        let names = self.names().unwrap_or_default();
        let found = names.iter().filter_map(|name| Standing::find(self, name).ok().flatten());
        found.filter(|record| record.starting.is_none()).collect()
    }

    /// Removes the record of the node `name`, also if it cannot be read.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        private_file::remove(&self.path(name))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}{RECORD}"))
    }
}
