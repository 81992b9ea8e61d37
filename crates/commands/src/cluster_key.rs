//! The members of the cluster: standing agents are told who they are, and their nodes read names and
//! contents by themselves then. Each node has a key of its own, which its agent makes.
//!
//! Agents are told of members only when names are used: from the first name that is published on.

use std::collections::HashMap;
use std::path::PathBuf;

use garland_control::ask_names;
use garland_fleet::at_once::{ASKED, at_once};
use garland_fleet::standing::{RecordDir, Standing};
use garland_protocol::{
    CLUSTER_NODES_MAX, KeyChallenge, KeyPair, NamesOrder, PublicKey, RecordKey, Roster, ShownKey,
};
use garland_results::places::Places;
use garland_sys::{lock, private_file, random};
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
    let of_nodes = member_keys(&standing, &controller, keys)?;
    let agents = standing.iter().zip(&of_nodes);
    let agents = agents.map(|(agent, key)| agent.for_cluster(key.as_ref().ok().copied()));
    let records = RecordKey::of(&controller.private);
    let roster = Roster { records, agents: agents.collect() }.to_bytes();
    let asked = ask(&standing, &controller, &NamesOrder::Members, &roster)?;
    let mut are_told = true;
    for ((agent, key), told) in standing.iter().zip(of_nodes).zip(asked) {
        let fault = match (told, key) {
            (Err(reason), _) => format!("does not know who the members are now: {reason}"),
            (Ok(()), Err(reason)) => format!("is no member now: {reason}"),
            (Ok(()), Ok(_)) => continue,
        };
        if must_know(&agent.name) {
            are_told = false;
            output::warn(format!("{} {fault}", agent.name));
        }
    }
    Ok(are_told)
}

/// Returns the key of each agent of `standing` that showed that it has the private half, and why the
/// others have none. A node that tells the key of another one, which all nodes see, has none; the
/// other one keeps its own.
fn verified(
    standing: &[Standing],
    controller: &KeyPair,
    challenge: &KeyChallenge,
    shown: Vec<Result<ShownKey, String>>,
) -> Vec<Result<PublicKey, String>> {
    let mut keys = Vec::new();
    let mut counts: HashMap<PublicKey, usize> = HashMap::new();
    for (agent, shown) in standing.iter().zip(shown) {
        let key = shown.and_then(|shown| {
            let key = shown.verified(controller, &agent.key, challenge);
            key.ok_or_else(|| "its agent tells a key and cannot show that it has it".to_owned())
        });
        if let Ok(key) = key {
            *counts.entry(key).or_default() += 1;
        }
        keys.push(key);
    }
    // Agents with one private half share it on purpose: nobody can tell their nodes apart by it.
    let is_repeated = |key: &PublicKey| counts.get(key).is_some_and(|count| *count > 1);
    for key in &mut keys {
        if key.as_ref().is_ok_and(is_repeated) {
            *key = Err("its agent has the same key as that of another node".to_owned());
        }
    }
    keys
}

/// Returns the public key of each node, or why its agent did not show it.
fn member_keys(
    standing: &[Standing],
    controller: &KeyPair,
    keys: MemberKeys,
) -> Result<Vec<Result<PublicKey, String>>, Failure> {
    let challenge = random::bytes();
    let order = NamesOrder::MemberKey { fresh: keys == MemberKeys::Fresh, challenge };
    let agents = connected(standing, controller);
    let asked = ask_names(agents, &order, &[], None).or_nothing("asking agents for keys")?;
    let key = |answer: garland_protocol::operation::NamesAnswer| {
        answer.key.ok_or_else(|| "its agent has no key".to_owned())
    };
    let shown = asked.into_iter().map(|(_, answer)| answer.and_then(key)).collect();
    Ok(verified(standing, controller, &challenge, shown))
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
    use garland_protocol::ClusterAgent;

    use super::*;

    /// Returns the record of an agent that runs nowhere, with this key.
    fn standing(name: &str, key: PublicKey) -> Standing {
        Standing::of_cluster(ClusterAgent {
            name: name.to_owned(),
            addresses: Vec::new(),
            port: 1,
            key,
            member: None,
            rack: None,
        })
    }

    #[test]
    fn an_agent_that_tells_the_key_of_another_node_takes_it_from_nobody() {
        let [controller, victim, thief] = std::array::from_fn(|_| KeyPair::generate());
        let challenge = random::bytes();
        let agents = [standing("victim", [1; 32]), standing("thief", [2; 32])];
        let show = |own: &KeyPair, agent: &Standing| {
            ShownKey::new(own, &controller.public, &agent.key, &challenge)
                .ok_or_else(|| "the key is invalid".to_owned())
        };
        let honest = show(&victim, &agents[0]);
        // It has the public half, and the answer that the victim gave.
        let pretended = KeyPair { public: victim.public, ..thief };
        for stolen in [show(&pretended, &agents[1]), honest.clone()] {
            let keys = verified(&agents, &controller, &challenge, vec![honest.clone(), stolen]);
            assert_eq!(keys[0], Ok(victim.public));
            let why = keys[1].clone().expect_err("it has no private half");
            assert!(why.contains("cannot show"), "{why}");
        }
    }

    #[test]
    fn agents_with_one_private_half_have_no_key_and_silent_ones_hinder_nobody() {
        let [controller, shared, own] = std::array::from_fn(|_| KeyPair::generate());
        let challenge = random::bytes();
        let agents = [1, 2, 3, 4].map(|byte| standing("n", [byte; 32]));
        let show = |own: &KeyPair, agent: &Standing| {
            ShownKey::new(own, &controller.public, &agent.key, &challenge)
                .ok_or_else(|| "the key is invalid".to_owned())
        };
        let silent: Result<ShownKey, String> = Err("it does not answer".to_owned());
        let shown = vec![
            show(&shared, &agents[0]),
            show(&shared, &agents[1]),
            silent,
            show(&own, &agents[3]),
        ];
        let keys = verified(&agents, &controller, &challenge, shown);
        assert!(keys[0].is_err() && keys[1].is_err());
        assert_eq!((&keys[2], &keys[3]), (&Err("it does not answer".to_owned()), &Ok(own.public)));
    }
}
