//! `garland key`: shows the key by which agents know this user's commands, and replaces it.

use garland_core::cluster::Node;
use garland_core::printable;
use garland_fleet::at_once::{ASKED, at_once};
use garland_fleet::context::Context;
use garland_fleet::ending::{self, AgentEnd};
use garland_fleet::inventory::{Inventory, LAB_PREFIX};
use garland_fleet::launch::lab;
use garland_fleet::processes::Processes;
use garland_fleet::standing::{RecordDir, Standing};
use garland_lab::Lab;
use garland_protocol::wire::{KeyPair, RetireRequest, fingerprint};
use garland_results::head::{Head, NodeVerdict, Phases, print_json};
use garland_results::standing::{NodeState, StandingResult};
use garland_state::places::{Places, Rotation};
use garland_terminal::failure::{Exit, Failure};
use garland_terminal::output;
use serde::Serialize;

use crate::args::{KeyCommand, KeyRotate};

/// The result object `garland.key-show/1`.
#[derive(Serialize)]
struct ShownKey {
    #[serde(flatten)]
    head: Head,
    /// The fingerprint of the controller's public key; `None` if there is none yet.
    key: Option<String>,
    /// The file of the key pair.
    path: String,
}

/// The result object `garland.key-rotate/1`.
#[derive(Serialize)]
struct RotatedKey {
    /// The nodes of standing agents of the old key.
    #[serde(flatten)]
    standing: StandingResult,
    /// The fingerprint of the new key.
    key: String,
    /// The fingerprint of the old key.
    old: String,
    /// Whether the old key is gone.
    finished: bool,
}

/// Runs `garland key`.
pub fn run(context: &Context, command: &KeyCommand) -> Result<Exit, Failure> {
    match command {
        KeyCommand::Show => show(context),
        KeyCommand::Rotate(rotate) => replace(context, rotate),
    }
}

fn show(context: &Context) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let keys = places.existing_controller_keys()?;
    let key = keys.map(|keys| fingerprint(&keys.public));
    phases.end("read");
    let path = places.controller_key_path();
    let path = printable::json_name(path.as_os_str().as_encoded_bytes());
    let shown = ShownKey { head: Head::new("garland.key-show/1", None, phases), key, path };
    if context.json {
        print_json(&shown)?;
        return Ok(Exit::Done);
    }
    match &shown.key {
        Some(key) => output::print(format_args!("key     {key}  {}\n", shown.path))?,
        None => output::print("no key yet; the first command that needs one makes it\n")?,
    }
    Ok(Exit::Done)
}

/// A standing agent that obeys the old key, and how to reach it.
struct Obeying {
    records: RecordDir,
    /// The lab of its node; `None` for a real one, and for one whose lab is down.
    lab: Option<Lab>,
    standing: Standing,
}

/// Makes a new key, and ends the standing agents of the old one.
fn replace(context: &Context, rotate: &KeyRotate) -> Result<Exit, Failure> {
    let mut phases = Phases::begin();
    let places = Places::open()?;
    let rotation = places.rotate_controller_keys()?;
    let Some(rotation) = rotation else {
        return Err(Failure::nothing("cannot replace the key: there is none yet")
            .hint("the first command that needs one makes it"));
    };
    phases.end("set-up");
    let agents = obeying(&places, &rotation)?;
    let inventory = Inventory::open(context);
    let processes = Processes::from_inventory(&inventory, &places);
    let end_one = |agent: &Obeying| end(agent, &rotation.old, &processes, rotate.forget);
    let states = at_once(&agents, ASKED, end_one);
    phases.end("end");
    let key = fingerprint(&rotation.new.public);
    let old = fingerprint(&rotation.old.public);
    let finished = !states.iter().any(|state| state.is(NodeVerdict::Failed));
    let is_continued = rotation.is_continued;
    if finished {
        places.finish_rotation(rotation)?;
    }
    let head = Head::new("garland.key-rotate/1", None, phases);
    let standing = StandingResult { head, nodes: states, spools: Vec::new() };
    let rotated = RotatedKey { standing, key, old, finished };
    let told = if context.json { print_json(&rotated) } else { rotated.print(is_continued) };
    let exit = if finished { Exit::Done } else { Exit::SomeFailed };
    told.map_err(|failure| failure.after(exit))?;
    Ok(exit)
}

impl RotatedKey {
    fn print(&self, is_continued: bool) -> Result<(), Failure> {
        if !self.standing.nodes.is_empty() {
            self.standing.print(false)?;
        }
        let Self { key, old, .. } = self;
        let how = if is_continued { "; this went on with an earlier rotation" } else { "" };
        output::print(format_args!("key     {key} (before: {old}){how}\n"))?;
        if self.finished {
            output::print("names   published before are no longer valid: publish them again\n")?;
            return Ok(());
        }
        output::warn(
            "the old key is kept, since these agents obey it. When they can be reached: garland key \
             rotate\n      To give them up: garland key rotate --forget\n"
                .to_owned(),
        );
        Ok(())
    }
}

/// Returns the standing agents that obey the old key, in labs, too.
fn obeying(places: &Places, rotation: &Rotation) -> Result<Vec<Obeying>, Failure> {
    let mut agents = Vec::new();
    for name in RecordDir::labs(places)? {
        let records = RecordDir::open(places, name.as_deref())?;
        for standing in Standing::all_begun(&records)? {
            if standing.obeys(&rotation.new.public) == Some(true) {
                continue;
            }
            let labs = lab::state(places)?;
            let lab = name.as_deref().and_then(|name| Lab::open(&labs, name).ok());
            let records = RecordDir::open(places, name.as_deref())?;
            agents.push(Obeying { records, lab, standing });
        }
    }
    Ok(agents)
}

/// Ends an agent by the old key, and removes its record; also that of one that cannot be reached,
/// if it is to be forgotten.
fn end(agent: &Obeying, old: &KeyPair, processes: &Processes<'_>, forget: bool) -> NodeState {
    let Obeying { records, lab, standing } = agent;
    let node = Node::named(&standing.name);
    let retire = |standing: &Standing| standing.retire(old, RetireRequest::End);
    let ended = match lab {
        Some(lab) => ending::end(standing, processes, |standing| {
            lab::out_of_band(lab, &standing.name, standing, retire)
        }),
        // It ended with its lab.
        None if standing.name.starts_with(LAB_PREFIX) => Ok(AgentEnd::Before),
        None => ending::end(standing, processes, retire),
    };
    match ended {
        Ok(_) => {
            standing.forget(records);
            NodeState::ok(&node, "retired")
        }
        Err(unended) if forget => {
            standing.forget(records);
            let reason = format!("its record is removed: {}", unended.reason());
            NodeState::but(&node, NodeVerdict::Skipped, reason)
        }
        Err(unended) => {
            let reason = unended.reason();
            let text = format!("cannot end its standing agent, which obeys the old key: {reason}");
            NodeState::but(&node, NodeVerdict::Failed, text)
        }
    }
}
