//! The members of the cluster: standing agents are told who they are, and their nodes read names and
//! contents by themselves then. Each node has a key of its own, which its agent makes.
//!
//! Agents are told of members only when names are used: from the first name that is published on.

use std::collections::HashMap;
use std::path::PathBuf;

use garland_control::ask_names;
use garland_fleet::at_once::{ASKED, at_once};
use garland_fleet::standing::{RecordDir, Standing};
use garland_protocol::{CLUSTER_NODES_MAX, KeyPair, NamesOrder, PublicKey, RecordKey, Roster};
use garland_results::places::Places;
use garland_sys::{lock, private_file};
use garland_terminal::failure::{Failure, OrFailure};
use garland_terminal::output;

/// Which keys the nodes have afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKeys {
    /// Those that they have; nodes without one make one.
    Present,
    /// Other ones than before.
    Fresh,
}

/// Returns whether names are used in a lab, or on real nodes: one was published.
///
/// # Errors
/// When the state directory cannot be read.
pub fn names_are_used(places: &Places, lab: Option<&str>) -> Result<bool, Failure> {
    let marker = marker(places, lab)?;
    marker.try_exists().or_nothing(format!("cannot look for {}", marker.display()))
}

/// Notes that names are used in a lab, or on real nodes, from now on.
///
/// # Errors
/// When the state directory cannot be written.
pub fn use_names(places: &Places, lab: Option<&str>) -> Result<(), Failure> {
    let marker = marker(places, lab)?;
    private_file::replace(&marker, b"").or_nothing(format!("cannot write {}", marker.display()))
}

/// Returns the file that says that names are used.
fn marker(places: &Places, lab: Option<&str>) -> Result<PathBuf, Failure> {
    let name = lab.map_or_else(|| "nodes".to_owned(), |lab| format!("lab-{lab}"));
    Ok(places.folder("names-used")?.join(name))
}

/// Tells all standing agents of `records` who the members are. Prints which of those for which
/// `must_know` is true cannot be told: they go on with the members that they know. Returns whether
/// all of these were told.
///
/// Only one command does so at a time: a list that was begun before another one must not come after
/// it, with keys that are no longer valid.
///
/// # Errors
/// When the key of the controller cannot be read, or this host cannot wait for agents.
pub fn hand_out(
    places: &Places,
    records: &RecordDir,
    keys: MemberKeys,
    must_know: impl Fn(&str) -> bool,
) -> Result<bool, Failure> {
    let path = places.folder("names-used")?.join("lock");
    let waiting = || format!("cannot lock {}", path.display());
    let file = private_file::open_to_lock(&path).or_nothing(waiting())?;
    let _locked = lock::lock(&file).or_nothing(waiting())?;
    let controller = places.controller_keys()?;
    let mut standing = Standing::all(records)?;
    standing.truncate(CLUSTER_NODES_MAX);
    let of_nodes = without_repeated(member_keys(&standing, &controller, keys)?);
    let agents = standing.iter().zip(&of_nodes);
    let agents = agents.map(|(agent, key)| agent.for_cluster(key.as_ref().ok().copied()));
    let records = RecordKey::of(&controller.private);
    let roster = Roster { records, agents: agents.collect() }.to_bytes();
    let asked = ask(&standing, &controller, &NamesOrder::Members, &roster)?;
    let mut are_told = true;
    for ((agent, key), told) in standing.iter().zip(of_nodes).zip(asked) {
        if let (Err(reason), true) = (key.map(drop).and(told), must_know(&agent.name)) {
            are_told = false;
            let name = &agent.name;
            output::warn(format!("{name} does not know who the members are now: {reason}"));
        }
    }
    Ok(are_told)
}

/// Takes away each key that several agents told: a node could pass for another one by its key, which
/// all nodes see, and it is not known which of them has the private half.
fn without_repeated(keys: Vec<Result<PublicKey, String>>) -> Vec<Result<PublicKey, String>> {
    let mut counts: HashMap<PublicKey, usize> = HashMap::new();
    keys.iter().flatten().for_each(|key| *counts.entry(*key).or_default() += 1);
    let is_repeated = |key: &PublicKey| counts.get(key).is_some_and(|count| *count > 1);
    let why = || "its agent tells the same key as that of another node".to_owned();
    let unique = keys.into_iter().map(|key| match key {
        Ok(key) if is_repeated(&key) => Err(why()),
        key => key,
    });
    unique.collect()
}

/// Returns the public key of each node, or why its agent did not tell it.
fn member_keys(
    standing: &[Standing],
    controller: &KeyPair,
    keys: MemberKeys,
) -> Result<Vec<Result<PublicKey, String>>, Failure> {
    let order = NamesOrder::MemberKey { fresh: keys == MemberKeys::Fresh };
    let agents = connected(standing, controller);
    let asked = ask_names(agents, &order, &[], None).or_nothing("asking agents for keys")?;
    let key = |answer: garland_protocol::operation::NamesAnswer| {
        answer.key.ok_or_else(|| "its agent has no key".to_owned())
    };
    Ok(asked.into_iter().map(|(_, answer)| answer.and_then(key)).collect())
}

fn ask(
    standing: &[Standing],
    controller: &KeyPair,
    order: &NamesOrder,
    roster: &[u8],
) -> Result<Vec<Result<(), String>>, Failure> {
    let asked = ask_names(connected(standing, controller), order, roster, None);
    let asked = asked.or_nothing("telling agents who the members are")?;
    Ok(asked.into_iter().map(|(_, answer)| answer.map(drop)).collect())
}

fn connected(
    standing: &[Standing],
    controller: &KeyPair,
) -> Vec<Result<garland_control::Agent, String>> {
    at_once(standing, ASKED, |agent| agent.connect(controller).map_err(|error| error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_two_agents_tell_is_nobodys() {
        let unknown = || Err("it does not answer".to_owned());
        let told = vec![Ok([1; 32]), Ok([2; 32]), unknown(), Ok([1; 32])];
        let keys = without_repeated(told);
        assert!(keys[0].is_err() && keys[3].is_err());
        assert_eq!((&keys[1], &keys[2]), (&Ok([2; 32]), &unknown()));
    }
}
