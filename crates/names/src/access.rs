//! By which right this machine reaches the agents that keep names: as the controller that started
//! them, or as a member of the cluster, with the key that its own agent was given.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_control::NamesPatience;
use garland_core::printable;
use garland_fleet::standing::{RecordDir, Standing};
use garland_mount::Reach;
use garland_protocol::names::{ClusterKey, RecordKey};
use garland_protocol::wire::{KeyPair, Secret};
use garland_state::places::Places;
use garland_sys::{private_file, process};
use garland_terminal::failure::{Failure, OrFailure};

/// The environment variable with the path of the cluster's key, for agents that are confined to a
/// directory.
const KEY_VARIABLE: &str = "GARLAND_CLUSTER_KEY";

/// The standing agents of a cluster, and the keys by which they and their names are recognised.
pub struct Access {
    keys: KeyPair,
    records: RecordKey,
    standing: Vec<Standing>,
    member: Option<ClusterKey>,
    /// How long this command still waits for each agent.
    patience: NamesPatience,
}

impl Access {
    /// Returns the access to the agents of `lab` or of real nodes: that of their controller if this
    /// machine has records of them, and otherwise that of a member if it has the cluster's key.
    ///
    /// # Errors
    /// When the state directory or the cluster's key cannot be read.
    pub fn open(places: &Places, lab: Option<&str>) -> Result<Self, Failure> {
        let given = std::env::var_os(KEY_VARIABLE).map(PathBuf::from);
        let standing = match (&given, lab) {
            (Some(_), None) => Vec::new(),
            _ => Standing::all(&RecordDir::open(places, lab)?)?,
        };
        if standing.is_empty() && lab.is_none() {
            let path = given.clone().unwrap_or_else(|| places.cluster_key());
            let key = read_key(&path)?;
            if let Some(key) = key {
                return Ok(Self::of_member(key));
            }
            if given.is_some() {
                let shown = printable::path(&path);
                return Err(Failure::usage(format!("cannot read {shown}: there is no such file"))
                    .hint(format!("set {KEY_VARIABLE} to the cluster's key, or unset it")));
            }
        }
        let keys = places.controller_keys()?;
        let records = RecordKey::from_secret(&keys.private);
        let patience = NamesPatience::default();
        Ok(Self { records, keys, standing, member: None, patience })
    }

    fn of_member(key: ClusterKey) -> Self {
        let agents = key.roster.agents.iter().cloned();
        let standing = agents.map(Standing::of_cluster).collect();
        Self {
            keys: key.keys(),
            records: key.roster.records,
            standing,
            member: Some(key),
            patience: NamesPatience::default(),
        }
    }

    /// Returns the keys by which agents recognise this machine.
    pub fn keys(&self) -> &KeyPair {
        &self.keys
    }

    /// Returns the key by which the records of names are recognised.
    pub fn records(&self) -> &RecordKey {
        &self.records
    }

    /// Returns the standing agents, in the order of their names.
    pub fn standing(&self) -> &[Standing] {
        &self.standing
    }

    /// Returns the names of the nodes with standing agents.
    pub fn nodes(&self) -> impl Iterator<Item = String> {
        self.standing.iter().map(|standing| standing.name.clone())
    }

    /// Returns how long this command still waits for each agent about names.
    pub fn patience(&self) -> &NamesPatience {
        &self.patience
    }

    /// Returns the name of this machine in the cluster, and the directory below which its agent
    /// resolves paths; `None` if it is not a member but the controller.
    pub fn member(&self) -> Option<(&str, &[u8])> {
        self.member.as_ref().map(|key| (key.node.as_str(), key.root.as_slice()))
    }

    /// Returns the name of this machine in results and in the list of holders.
    pub fn own_name(&self) -> String {
        self.member().map_or_else(process::host_name, |(node, _)| node.to_owned())
    }

    /// Returns whether a node is near this one: in the same rack, or, if the racks of both are not
    /// known, in the same subnet, as racks often are. Nothing is near the controller, which reads
    /// for nodes of any rack.
    pub fn is_near(&self, node: &str) -> bool {
        let Some((own, _)) = self.member() else { return false };
        let of = |name: &str| self.standing.iter().find(move |record| record.name == name);
        let (Some(own), Some(other)) = (of(own), of(node)) else { return false };
        match (&own.rack, &other.rack) {
            (Some(own), Some(other)) => own == other,
            _ => own.addresses.iter().any(|a| other.addresses.iter().any(|b| is_subnet(*a, *b))),
        }
    }

    /// Returns the key that signs records.
    ///
    /// # Errors
    /// When this machine is a member, which reads names only.
    pub fn signer(&self) -> Result<&Secret, Failure> {
        match self.member() {
            None => Ok(&self.keys.private),
            Some(_) => Err(Failure::usage(
                "this machine is a node: it can read names, not change them",
            )
            .hint(
                "publish where the agents were started, by `garland publish NODE:PATH --as NAME`",
            )),
        }
    }

    /// Returns a function that connects to the standing agent of a node.
    pub fn reach(&self, node: &str) -> Reach {
        let record = self.standing.iter().find(|record| record.name == node).cloned();
        let keys = self.keys.clone();
        Arc::new(move |_| {
            let record = record.as_ref().ok_or("no standing agent")?;
            record.connect(&keys).map_err(|error| error.to_string())
        })
    }
}

/// Reads the cluster's key; none if this machine has none.
fn read_key(path: &Path) -> Result<Option<ClusterKey>, Failure> {
    let hinted = |failure: Failure| {
        failure.hint("`garland up NODES`, where the agents were started, gives them the key again")
    };
    let reading = format!("cannot read {}", printable::path(path));
    let bytes =
        private_file::read(path, ClusterKey::FILE_MAX).or_nothing(&reading).map_err(hinted)?;
    let parse = |bytes: Vec<u8>| {
        let fault = || format!("{reading}: it is no key of a cluster, or one of another release");
        ClusterKey::parse(&bytes).ok_or_else(|| hinted(Failure::usage(fault())))
    };
    bytes.map(parse).transpose()
}

/// Returns whether two addresses are in the same subnet of usual size: their first 24 bits are
/// equal, or 64 of IPv6 addresses.
fn is_subnet(a: IpAddr, b: IpAddr) -> bool {
    match (a.to_canonical(), b.to_canonical()) {
        (IpAddr::V4(a), IpAddr::V4(b)) => a.to_bits() >> 8 == b.to_bits() >> 8,
        (IpAddr::V6(a), IpAddr::V6(b)) => a.to_bits() >> 64 == b.to_bits() >> 64,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_a_rack_are_in_one_subnet() {
        let is_one = |a: &str, b: &str| is_subnet(a.parse().unwrap(), b.parse().unwrap());
        assert!(is_one("10.1.2.3", "10.1.2.200") && is_one("10.1.2.3", "::ffff:10.1.2.4"));
        assert!(is_one("fd00:1::1", "fd00:1::2"));
        assert!(!is_one("10.1.2.3", "10.1.3.3") && !is_one("fd00:0:0:1::1", "fd00:0:0:2::1"));
        assert!(!is_one("0.0.0.0", "::"));
    }
}
