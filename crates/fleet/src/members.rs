//! The members of the cluster: standing agents are told who they are, and their nodes read names
//! and contents by themselves then. Each node has a key of its own, which its agent makes.
//!
//! Agents are told of members only when names are used: from the first name that is published on.

use std::collections::HashMap;
use std::path::PathBuf;

use garland_control::{AskedAgent, NamesPatience, NamesQuestion, ask_names};
use garland_core::printable;
use garland_lab::Lab;
use garland_protocol::names::{CLUSTER_NODES_MAX, NamesOrder, RecordKey, Roster};
use garland_protocol::operation::NamesAnswer;
use garland_protocol::wire::{KeyChallenge, KeyPair, PublicKey, ShownKey};
use garland_state::places::Places;
use garland_sys::signal::Interrupts;
use garland_sys::{lock, private_file, random};
use garland_terminal::failure::{Failure, OrFailure};
use garland_terminal::output;

use crate::at_once::{ASKED, at_once};
use crate::standing::{RecordDir, Standing};

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
    let file = marker(places, lab)?;
    file.try_exists().or_nothing(format!("cannot look for {}", printable::path(&file)))
}

/// Notes that names are used in a lab, or on real nodes, from now on.
///
/// # Errors
/// When the state directory cannot be written.
pub fn use_names(places: &Places, lab: Option<&str>) -> Result<(), Failure> {
    let file = marker(places, lab)?;
    private_file::replace(&file, b"").or_nothing(format!("cannot write {}", printable::path(&file)))
}

/// Returns the file that says that names are used.
fn marker(places: &Places, lab: Option<&str>) -> Result<PathBuf, Failure> {
    let name = lab.map_or_else(|| "nodes".to_owned(), |lab| format!("lab-{lab}"));
    Ok(places.folder("names-used")?.join(name))
}

/// Tells the agents of these nodes, which have just begun in this lab or on real nodes, which names
/// have ended while they were away.
pub type TellEnded<'a> =
    &'a (dyn Fn(&Places, Option<&Lab>, &[String], &Interrupts) -> Result<(), Failure> + Sync);

/// The standing agents at one time: the key of each, by the name of its node.
pub struct StandingKeys(HashMap<String, PublicKey>);

impl StandingKeys {
    /// Reads the records of the agents that stand now.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn read(records: &RecordDir) -> Result<Self, Failure> {
        let standing = Standing::all(records)?;
        Ok(Self(standing.into_iter().map(|agent| (agent.name, agent.key)).collect()))
    }

    /// Returns the names of the nodes whose agents have begun since.
    ///
    /// # Errors
    /// When a record cannot be read.
    pub fn begun_since(&self, records: &RecordDir) -> Result<Vec<String>, Failure> {
        let Self(before) = self;
        let Self(now) = Self::read(records)?;
        let begun = now.into_iter().filter(|(name, key)| before.get(name) != Some(key));
        Ok(begun.map(|(name, _)| name).collect())
    }
}

/// Tells all standing agents of `records` who the members are. Prints which of those for which
/// `must_know` is true cannot be told: they go on with the members that they know. Returns whether
/// all of these were told.
///
/// Only one command does so at a time: a list that was begun before another one must not come after
/// it, with keys that are no longer valid. It waits for each agent as long as `patience` lasts.
///
/// # Errors
/// When the key of the controller cannot be read, or this host cannot wait for agents.
pub fn hand_out(
    places: &Places,
    records: &RecordDir,
    keys: MemberKeys,
    patience: &NamesPatience,
    must_know: impl Fn(&str) -> bool,
) -> Result<bool, Failure> {
    let path = places.folder("names-used")?.join("lock");
    let waiting = || format!("cannot lock {}", printable::path(&path));
    let file = private_file::open_to_lock(&path).or_nothing(waiting())?;
    let _locked = lock::lock(&file).or_nothing(waiting())?;
    let controller = places.controller_keys()?;
    let mut standing = Standing::all(records)?;
    standing.truncate(CLUSTER_NODES_MAX);
    let asked = member_keys(&standing, &controller, keys, patience)?;
    let agents = standing.iter().zip(&asked.keys);
    let agents = agents.map(|(agent, key)| agent.for_cluster(key.as_ref().ok().copied()));
    let records = RecordKey::from_secret(&controller.private);
    let roster = Roster { records, agents: agents.collect() }.to_bytes();
    let told = tell(asked.agents, &roster, patience)?;
    let mut are_told = true;
    for ((agent, key), told) in standing.iter().zip(asked.keys).zip(told) {
        let fault = match (told, key) {
            (Err(reason), _) => format!("does not know who the members are now: {reason}"),
            (Ok(()), Err(reason)) => format!("is no member now: {reason}"),
            (Ok(()), Ok(_)) => continue,
        };
        if must_know(&agent.name) {
            are_told = false;
            output::warn(format!("{} {fault}\n", agent.name));
        }
    }
    Ok(are_told)
}

/// Returns the key of each agent of `standing` that showed that it has the private half, and why
/// the others have none. A node that tells the key of another one, which all nodes see, has none;
/// the other one keeps its own.
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

/// What agents answered who were asked for the keys of their nodes.
struct KeyReplies {
    /// The agents, for the next order.
    agents: Vec<AskedAgent>,
    /// The public key of each node, or why its agent did not show it.
    keys: Vec<Result<PublicKey, String>>,
}

/// Asks agents for the public keys of their nodes.
fn member_keys(
    standing: &[Standing],
    controller: &KeyPair,
    keys: MemberKeys,
    patience: &NamesPatience,
) -> Result<KeyReplies, Failure> {
    let connected = at_once(standing, ASKED, |agent| {
        let connect = || agent.connect(controller).map_err(|error| error.to_string());
        AskedAgent { node: agent.name.clone(), agent: patience.wait(&agent.name, connect) }
    });
    let challenge = random::bytes();
    let order = NamesOrder::MemberKey { fresh: keys == MemberKeys::Fresh, challenge };
    let replies = ask_names(connected, NamesQuestion::new(&order), patience, None)
        .or_nothing("cannot ask agents for keys")?;
    let mut agents = Vec::new();
    let mut shown = Vec::new();
    for (agent, reply) in standing.iter().zip(replies) {
        agents.push(AskedAgent { node: agent.name.clone(), agent: reply.agent });
        let key = |answer: NamesAnswer| answer.key.ok_or_else(|| "its agent has no key".to_owned());
        shown.push(reply.answer.and_then(key));
    }
    Ok(KeyReplies { agents, keys: verified(standing, controller, &challenge, shown) })
}

/// Tells agents who the members are, which are in `roster`.
fn tell(
    agents: Vec<AskedAgent>,
    roster: &[u8],
    patience: &NamesPatience,
) -> Result<Vec<Result<(), String>>, Failure> {
    let question = NamesQuestion { pieces: roster, ..NamesQuestion::new(&NamesOrder::Members) };
    let replies = ask_names(agents, question, patience, None)
        .or_nothing("cannot tell agents who the members are")?;
    Ok(replies.into_iter().map(|reply| reply.answer.map(drop)).collect())
}

#[cfg(test)]
mod tests {
    use garland_protocol::names::ClusterAgent;

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
