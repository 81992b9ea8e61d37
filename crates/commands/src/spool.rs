//! `garland up --spool`: keeps agents connected, and copies what comes into a directory to all
//! nodes.

mod directory;
mod finished;
mod members;
mod queue;
pub mod record;
mod status;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::mem;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use garland_control::{Agent, NamesPatience, stand_chain};
use garland_copy::place::{Place, Target};
use garland_copy::planned::PlannedCopy;
use garland_copy::session::MadeCopy;
use garland_copy::source::CopySource;
use garland_copy::spec::CopySpec;
use garland_core::cluster::Node;
use garland_core::farm::Text;
use garland_core::tree::Pattern;
use garland_core::units::{Nanos, bytes};
use garland_fleet::builder::{Children, Fleet, FleetBuilder};
use garland_fleet::context::Context;
use garland_fleet::members::{MemberKeys, StandingKeys, TellEnded, hand_out, names_are_used};
use garland_fleet::standing::RecordDir;
use garland_lab::Lab;
use garland_remote::elsewhere;
use garland_results::copy::{CopyResult, NodeResult};
use garland_results::head::Phases;
use garland_results::spool::{LackingNode, WaitingEntry};
use garland_showing::progress::CopyBars;
use garland_state::run::Run;
use garland_state::unreached;
use garland_sys::clock;
use garland_sys::error::reason;
use garland_sys::folder_events::ClosedFiles;
use garland_sys::signal::Interrupts;
use garland_sys::threads;
use garland_sys::writers::Writers;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use garland_terminal::output;
use rustix::fs::FileType;

use self::directory::{Entry, Moved, SpoolDir, shown};
use self::finished::{FinishedEntries, FinishedFile};
use self::members::{Members, Started};
use self::queue::{Queue, Waiting};
use self::record::SpoolRecord;
use self::status::Status;
use crate::args::Up;
use crate::cp::spooled;

/// The longest interval between two looks into the directory: inotify(7) does not see what other
/// machines do on a shared file system, and a file that is being written changes without an event.
const MAX_SCAN_INTERVAL: Duration = Duration::from_secs(1);

/// Of the time of the command, at most one part in so many goes by with looks into the directory,
/// and with writing the record: both take longer the more entries wait.
const PART: u64 = 20;

/// The time for which entries in `done` are looked at before the next copy.
const DONE_CHECK_MAX: Duration = Duration::from_millis(100);

/// The most entries in the record.
const RECORDED_MAX: usize = 1000;

/// A spool that is served.
struct Spool<'a> {
    context: &'a Context,
    /// The copy of an entry, which names no path yet.
    spec: CopySpec,
    place: &'a Place,
    /// The path on the nodes, a directory.
    path: Vec<u8>,
    directory: SpoolDir,
    record: SpoolRecord,
    /// What is not in the record yet, and when it is written at the earliest.
    recording: Due,
    /// The events of the directory that were not looked at yet, and when it is looked at at the
    /// earliest.
    looking: Due,
    events: Option<ClosedFiles>,
    interrupts: &'a Arc<Interrupts>,
    members: Members,
    queue: Queue,
    finished: FinishedEntries,
    finished_file: FinishedFile,
    /// The names of entries that were left out at the last look, and were printed.
    left_out: HashSet<OsString>,
    /// What was last printed about entries that wait, which is not repeated.
    told: String,
    /// What will be printed about entries that wait as soon as the record has it.
    untold: Vec<String>,
}

/// Something that is done again when it is wanted, but not all the time.
#[derive(Default)]
struct Due {
    is_wanted: bool,
    earliest_ns: u64,
}

impl Due {
    /// Returns the time at which it is to be done; `None` if it is not wanted.
    fn at_ns(&self) -> Option<u64> {
        self.is_wanted.then_some(self.earliest_ns)
    }

    fn has_come(&self, now_ns: u64) -> bool {
        self.is_wanted && self.earliest_ns <= now_ns
    }

    /// Notes that it was done since `began_ns`. It is due again at the earliest when [`PART`] times
    /// as long has passed.
    fn done(&mut self, began_ns: u64) {
        let ended_ns = clock::now_ns();
        let pause_ns = ended_ns.saturating_sub(began_ns).saturating_mul(PART);
        self.is_wanted = false;
        self.earliest_ns = ended_ns.saturating_add(pause_ns);
    }
}

/// Starts the agents of all nodes, and copies what comes into the directory to them, until the user
/// interrupts.
pub fn run(
    context: &Context,
    up: &Up,
    directory: &Path,
    tell_ended: TellEnded<'_>,
) -> Result<Exit, Failure> {
    let interrupts = Arc::new(Interrupts::catch().or_nothing("cannot catch Ctrl-C")?);
    let destination = parse_destination(up);
    elsewhere::refuse_as_destination(&destination)?;
    // Options that no copy can have are refused before anything is done.
    let spec = spooled::parse(&up.options, directory, destination.clone(), &up.launch)?;
    let (place, target) = Place::enter(context, &interrupts, &up.launch, &destination, true)?;
    let Target { nodes, path } = target;
    let directory = SpoolDir::open(directory)?;
    let run = Run::begin(&place.places, "spool")?;
    let start_on = |nodes: &[Node], quiet| start(up, &place, &run, nodes, &interrupts, quiet);
    let before = StandingKeys::read(&standing_of(&place)?)?;
    let agents = start_on(&nodes, context.json)?;
    // Copies use the links of the chain, which takes the channels of this start.
    let agents = agents.into_iter().map(Result::ok).collect();
    let linked = unreached::update(&place.places, |hops| stand_chain(agents, hops));
    let links: u32 =
        linked.or_nothing("cannot link the nodes")?.iter().map(|node| node.count).sum();
    let agents = start_on(&nodes, true)?;
    let begun = before.begun_since(&standing_of(&place)?)?;
    tell_of_names(&place, &begun, &interrupts, tell_ended)?;
    let events = directory.closed_files().ok();
    let queue = Queue::new(nodes.len(), up.quiet());
    let (finished_file, finished) = directory
        .finished()
        .or_nothing(format!("cannot read what is done in {}", shown(directory.path())))?;
    let (members, starter) = Members::new(nodes.clone(), agents)?;
    let record =
        SpoolRecord::new(&place.places, directory.path(), Text::from(destination.as_bytes()))?;
    garland_terminal::errln!("links   {links} between neighbours");
    let from = shown(directory.path());
    garland_terminal::errln!("spool   {from} to {}; Ctrl-C ends it", shown(&destination));
    let again = |numbers: &[usize]| {
        let started = started_again(&nodes, numbers, &start_on);
        let begun = started.iter().filter(|(_, agent)| agent.is_ok());
        let begun: Vec<String> = begun.map(|(node, _)| nodes[*node].name.clone()).collect();
        if !begun.is_empty() {
            // Without the key, the nodes that came back cannot get contents by themselves.
            let _ = tell_of_names(&place, &begun, &interrupts, tell_ended);
        }
        started
    };
    std::thread::scope(|scope| {
        threads::spawn_in(scope, "starter", || starter.run(again))
            .or_nothing("cannot serve the spool")?;
        Spool {
            context,
            spec,
            place: &place,
            path,
            directory,
            record,
            recording: Due::default(),
            looking: Due { is_wanted: true, ..Due::default() },
            events,
            interrupts: &interrupts,
            members,
            queue,
            finished,
            finished_file,
            left_out: HashSet::new(),
            told: String::new(),
            untold: Vec::new(),
        }
        .serve()
    })
}

/// Returns the destination of the copies: the directory of all nodes. One without a path stays as
/// it is, to be refused.
fn parse_destination(up: &Up) -> OsString {
    let mut destination = up.nodes.clone();
    let bytes = destination.as_bytes();
    let is_complete = bytes.ends_with(b"/") || bytes.ends_with(b":");
    if bytes.contains(&b':') && !is_complete {
        destination.push("/");
    }
    destination
}

/// Connects to the standing agents of `nodes`; starts those that are missing.
fn start(
    up: &Up,
    place: &Place,
    run: &Run,
    nodes: &[Node],
    interrupts: &Arc<Interrupts>,
    quiet: bool,
) -> Result<Vec<Result<Agent, String>>, Failure> {
    let Place { inventory, places, lab, .. } = place;
    let builder = FleetBuilder {
        stay: Some(up.idle_seconds()),
        max_life: up.max_life_seconds(inventory.cluster()),
        interrupts: Some(Arc::clone(interrupts)),
        quiet,
        ..FleetBuilder::new(nodes, inventory, places, &up.launch, run, lab.as_ref())
    };
    Ok(builder.assemble()?.agents)
}

/// If names are used, tells the agents who the members are, and those of the nodes `begun`, which
/// have just begun, which names have ended.
fn tell_of_names(
    place: &Place,
    begun: &[String],
    interrupts: &Interrupts,
    tell_ended: TellEnded<'_>,
) -> Result<(), Failure> {
    if !names_are_used(&place.places, place.lab.as_ref().map(Lab::name))? {
        return Ok(());
    }
    let patience = NamesPatience::default();
    let keys = MemberKeys::Present;
    hand_out(&place.places, &standing_of(place)?, keys, &patience, |_| false)?;
    tell_ended(&place.places, place.lab.as_ref(), begun, interrupts)
}

/// Opens the records of the standing agents.
fn standing_of(place: &Place) -> Result<RecordDir, Failure> {
    RecordDir::open(&place.places, place.lab.as_ref().map(Lab::name))
}

/// Starts the nodes with these indexes again, by `start`.
fn started_again(
    nodes: &[Node],
    numbers: &[usize],
    start: &impl Fn(&[Node], bool) -> Result<Vec<Result<Agent, String>>, Failure>,
) -> Started {
    let which: Vec<Node> = numbers.iter().map(|&node| nodes[node].clone()).collect();
    let agents = start(&which, true).unwrap_or_else(|failure| {
        numbers.iter().map(|_| Err(failure.message().to_owned())).collect()
    });
    numbers.iter().copied().zip(agents).collect()
}

impl Spool<'_> {
    /// Copies what waits until the user interrupts.
    fn serve(mut self) -> Result<Exit, Failure> {
        while !self.interrupts.have_come() {
            self.look()?;
            for node in self.members.come_back() {
                self.queue.came_back(node);
            }
            self.members.start_due();
            self.look_back();
            self.record_if_due();
            match self.queue.next(clock::now_ns(), |node| self.members.is_up(node)) {
                Some((entry, nodes)) => self.attend(&entry, nodes)?,
                None => self.rest()?,
            }
        }
        self.tell_untold();
        Ok(Exit::Interrupted)
    }

    /// Keeps the agents connected until there is something to do.
    fn rest(&mut self) -> Result<(), Failure> {
        let due = [
            self.queue.next_due_ns(),
            self.finished.next_due_ns(),
            self.recording.at_ns(),
            self.looking.at_ns(),
        ];
        let until_ns = due.into_iter().flatten().min().unwrap_or(u64::MAX);
        let watch = self.events.as_ref().map(AsFd::as_fd);
        self.members.rest(watch, self.interrupts, MAX_SCAN_INTERVAL.min(clock::until(until_ns)))?;
        // What no event tells.
        self.looking.is_wanted = true;
        Ok(())
    }

    /// Reads which entries wait, if it is time.
    fn look(&mut self) -> Result<(), Failure> {
        if let Some(closed) = self.events.as_mut().and_then(ClosedFiles::take) {
            self.looking.is_wanted = true;
            closed.iter().for_each(|name| self.queue.was_closed(name));
        }
        let began_ns = clock::now_ns();
        if !self.looking.has_come(began_ns) {
            return Ok(());
        }
        let path = shown(self.directory.path());
        let mut found = self.directory.entries().or_nothing(format!("cannot read {path}"))?;
        // In `done` they would look as if nodes had them.
        found.entries.retain(|entry| !self.is_excluded(entry));
        for (name, reason) in &found.left_out {
            if !self.left_out.contains(name) {
                output::warn(format!("cannot copy {}: {reason}\n", shown(name)));
            }
        }
        self.left_out = found.left_out.into_iter().map(|(name, _)| name).collect();
        self.recording.is_wanted |= self.queue.see(&found.entries);
        self.looking.done(began_ns);
        Ok(())
    }

    /// Returns whether the user's patterns leave out all of an entry.
    fn is_excluded(&self, entry: &Entry) -> bool {
        let is_directory = entry.stamp.kind() == FileType::Directory;
        Pattern::exclude(&self.spec.source.excludes, entry.name.as_bytes(), is_directory)
    }

    /// Looks whether entries in `done` were written after the copy. They go out again.
    fn look_back(&mut self) {
        let began_ns = clock::now_ns();
        while let Some(name) = self.finished.next(clock::now_ns())
            && clock::now_ns() < began_ns.saturating_add(DONE_CHECK_MAX.as_nanos() as u64)
            && !self.interrupts.have_come()
        {
            self.look_back_at(&name);
        }
    }

    fn look_back_at(&mut self, name: &OsStr) {
        let Some(entry) = self.finished.get(name) else { return };
        let stop = || self.interrupts.have_come();
        let now = match self.directory.status_in_done(&entry.place, &stop) {
            Ok(now) if now.is_same_file(&entry.status) => now,
            Err(error) if error.kind() == ErrorKind::Interrupted => return,
            // It was removed.
            _ => return self.finished.forget(name),
        };
        if now == entry.status || entry.status.is_of_more_than(&now) {
            return self.finished.keep(name, now, clock::now_ns());
        }
        let taken = self.directory.take_back(name, &entry.place);
        self.finished.forget(name);
        match taken {
            Ok(()) => {
                let name = shown(name);
                output::warn(format!(
                    "late    {name}: it changed after the copy, and goes out again\n"
                ));
                self.looking.is_wanted = true;
            }
            // A newer version waits, and nodes get that.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                let why = reason(&error);
                let name = shown(name);
                output::warn(format!(
                    "cannot copy {name} again, which changed after the copy: {why}; move it out of done and back into the spool\n"
                ));
            }
        }
    }

    /// Writes what waits to the record, if that has changed and it is time.
    fn record_if_due(&mut self) {
        let began_ns = clock::now_ns();
        if !self.recording.has_come(began_ns) {
            return;
        }
        let nodes = 0..self.members.nodes().len();
        let entry = |waiting: &Waiting| WaitingEntry {
            name: Text::from(waiting.name().as_bytes()),
            nodes: nodes
                .clone()
                .filter(|node| !waiting.is_held_by(*node))
                .map(|node| self.lacking(node, waiting))
                .collect(),
        };
        let waiting = self.queue.waiting().take(RECORDED_MAX).map(entry).collect();
        let more = self.queue.len().saturating_sub(RECORDED_MAX);
        if let Err(failure) = self.record.keep(waiting, more) {
            self.warn_once(format!("{}\n", failure.message()));
        }
        self.recording.done(began_ns);
        self.tell_untold();
    }

    fn lacking(&self, node: usize, waiting: &Waiting) -> LackingNode {
        let name = self.members.nodes()[node].name.clone();
        LackingNode { name, reason: waiting.reason(node).map(str::to_owned) }
    }

    /// Copies an entry to nodes if it is complete.
    fn attend(&mut self, entry: &Entry, nodes: Vec<usize>) -> Result<(), Failure> {
        let is_closed = match self.directory.writers(entry) {
            Writers::Present => {
                self.queue.postpone(entry, clock::after(MAX_SCAN_INTERVAL));
                return Ok(());
            }
            Writers::Absent => true,
            Writers::Unknown => {
                let is_file = entry.stamp.kind() == FileType::RegularFile;
                let events = self.events.as_mut().filter(|_| is_file);
                // A link has no writers: another one takes its name.
                entry.stamp.kind() == FileType::Symlink
                    || events.is_some_and(|events| events.was_closed(&entry.name))
            }
        };
        let stop = || self.interrupts.have_come();
        let status = match self.directory.status(entry, &stop) {
            Ok(status) => status,
            Err(_) if self.interrupts.have_come() => return Ok(()),
            Err(_) if !self.directory.has(entry) => {
                self.look_again(entry);
                return Ok(());
            }
            Err(error) => {
                self.fail(entry, &reason(&error));
                return Ok(());
            }
        };
        match self.queue.is_complete(entry, &status, is_closed, clock::now_ns()) {
            true => self.copy(entry, nodes, &status),
            false => Ok(()),
        }
    }

    /// Lets an entry wait that is gone or was replaced, until the next look tells.
    fn look_again(&mut self, entry: &Entry) {
        self.queue.postpone(entry, clock::after(MAX_SCAN_INTERVAL));
        self.looking.is_wanted = true;
    }

    /// Notes that an entry waits for all nodes, for `reason`.
    fn fail(&mut self, entry: &Entry, reason: &str) {
        self.queue.failed(entry, &on_one_line(reason), clock::now_ns());
        self.tell_waiting(entry);
    }

    /// Copies an entry, which has this status, to nodes, and moves it to `done` if all nodes have
    /// it then.
    fn copy(&mut self, entry: &Entry, nodes: Vec<usize>, status: &Status) -> Result<(), Failure> {
        self.directory.write_back(entry);
        let made = self.make(entry, &nodes);
        self.recording.is_wanted = true;
        let result = match made {
            Ok(result) => result,
            Err(_) if self.interrupts.have_come() => return Ok(()),
            Err(_) if !self.directory.has(entry) => {
                self.look_again(entry);
                return Ok(());
            }
            Err(failure) => {
                let reason = on_one_line(failure.message());
                let results = nodes.into_iter().map(|node| (node, Err(reason.clone())));
                self.queue.copied(entry, results, clock::now_ns());
                self.tell_waiting(entry);
                return Ok(());
            }
        };
        if self.queue.copied(entry, self.results_of(&result), clock::now_ns()) {
            return self.finish(entry, status, &result);
        }
        // Something else may have the name of the result.
        if let Err(error) = self.directory.keep_result(entry, &for_others(&result)) {
            let why = reason(&error);
            output::warn(format!("cannot keep the result of {}: {why}\n", entry.shown()));
        }
        self.tell_waiting(entry);
        Ok(())
    }

    /// Moves an entry that all nodes have with this status to `done`, unless it was written
    /// meanwhile.
    fn finish(
        &mut self,
        entry: &Entry,
        status: &Status,
        result: &CopyResult,
    ) -> Result<(), Failure> {
        let name = entry.shown();
        match self.directory.finish(entry, status, &for_others(result)) {
            Ok(Moved::Whole(place, status)) => {
                self.queue.finish(entry);
                self.finished.add(entry.name.clone(), place, *status, clock::now_ns());
                // Without it, what comes late is seen as long as this process serves the spool.
                let _ = self.finished_file.add(&entry.name, &self.finished);
                self.tell(entry, result)
            }
            Ok(Moved::Late(status)) => {
                self.queue.was_late(entry, &status, clock::now_ns());
                self.looking.is_wanted = true;
                output::warn(format!(
                    "late    {name}: it changed during the copy, and goes out again\n"
                ));
                Ok(())
            }
            Ok(Moved::Superseded) => {
                self.look_again(entry);
                output::warn(format!(
                    "late    {name}: it changed during the copy, and stays in done; a newer one goes out\n"
                ));
                Ok(())
            }
            Err(_) if !self.directory.has(entry) => {
                self.look_again(entry);
                Ok(())
            }
            Err(error) => {
                self.fail(entry, &format!("cannot move it to done: {}", reason(&error)));
                Ok(())
            }
        }
    }

    /// Makes the copy of an entry to nodes.
    fn make(&mut self, entry: &Entry, nodes: &[usize]) -> Result<CopyResult, Failure> {
        let spec = spooled::for_entry(&self.spec, self.directory.path_of(entry));
        let all = self.members.nodes();
        let target = Target {
            nodes: nodes.iter().map(|&node| all[node].clone()).collect(),
            path: self.path.clone(),
        };
        let phases = Phases::since_now();
        let opening = self.place.begin_opening()?;
        let given = self.open(entry, &spec, opening.disk)?;
        let copy = PlannedCopy::new(given, &spec, self.place, target)?;
        drop(opening);
        let session = copy.begin(phases)?;
        let order: Vec<usize> = copy.nodes().filter_map(|name| self.number(name)).collect();
        let agents = order.iter().map(|&node| self.members.lend(node)).collect();
        let fleet = Fleet { agents, children: Children::default() };
        let mut back = Vec::new();
        let mut bars = CopyBars::new(self.context, &spec.run);
        let made = copy.make(session, fleet, &mut bars, |_, fleet, _| {
            back = fleet.agents;
            Vec::new()
        });
        let gone =
            |failure: &Failure| order.iter().map(|_| Err(failure.message().to_owned())).collect();
        let back = made.as_ref().map_or_else(gone, |_| mem::take(&mut back));
        for (node, agent) in order.into_iter().zip(back) {
            self.members.take_back(node, agent);
        }
        let MadeCopy { outcome, run, .. } = made?;
        let result = CopyResult::new(&run, outcome);
        run.keep("result.json", &result)?;
        Ok(result)
    }

    /// Opens an entry as the source of a copy; `disk` is the rate of an emulated disk in bytes per
    /// second. Others may have given the entry's name to a link to what only this user can read.
    fn open(
        &self,
        entry: &Entry,
        spec: &CopySpec,
        disk: Option<u64>,
    ) -> Result<CopySource, Failure> {
        let path = self.directory.path_of(entry);
        match entry.stamp.kind() {
            // A single file would go without its attributes.
            FileType::RegularFile if !spec.source.keeps_attributes => {
                let file = self.directory.open_file(entry);
                let what = || format!("cannot open {}", entry.shown());
                let file = file
                    .map_err(|error| Failure::nothing(format!("{}: {}", what(), reason(&error))))?;
                CopySource::from_file(file, &path, disk)
            }
            _ => {
                let folder = self.directory.folder().or_nothing("cannot open the spool")?;
                CopySource::open_entry(spec, folder, &path, self.interrupts, disk)
            }
        }
    }

    fn number(&self, name: &str) -> Option<usize> {
        self.members.nodes().iter().position(|node| node.name == name)
    }

    /// Returns what became of a copy on its nodes. None has an entry of which something could not
    /// be read.
    fn results_of(&self, result: &CopyResult) -> Vec<(usize, Result<(), String>)> {
        let is_whole = result.is_whole();
        let outcome = |node: &NodeResult| {
            let reason = || on_one_line(node.end.reason.as_deref().unwrap_or_default());
            let outcome = match node.end.is_ok() {
                true if is_whole => Ok(()),
                true => Err("not all of it could be read; its result names what".to_owned()),
                false => Err(reason()),
            };
            Some((self.number(&node.name)?, outcome))
        };
        result.nodes.iter().filter_map(outcome).collect()
    }

    /// Prints that all nodes have an entry.
    fn tell(&self, entry: &Entry, result: &CopyResult) -> Result<(), Failure> {
        if self.context.json {
            return output::print_json(
                &serde_json::to_string(result).or_nothing("cannot store the result")?,
            );
        }
        let size = bytes::format(result.bytes);
        let took = Nanos(result.head.elapsed_ns);
        output::print(format_args!("done    {}: {size} in {took}\n", entry.shown()))
    }

    /// Prints which nodes lack an entry, once the record says so: who reads it may ask
    /// `garland status`.
    fn tell_waiting(&mut self, entry: &Entry) {
        let Some(waiting) = self.queue.get(&entry.name) else { return };
        let nodes = 0..self.members.nodes().len();
        let nodes = nodes.filter(|node| !waiting.is_held_by(*node));
        let nodes = nodes.map(|node| self.lacking(node, waiting)).collect();
        let name = Text::from(entry.name.as_bytes());
        self.untold.push(WaitingEntry { name, nodes }.to_string());
        self.recording.is_wanted = true;
        self.record_if_due();
    }

    fn tell_untold(&mut self) {
        for text in mem::take(&mut self.untold) {
            self.warn_once(text);
        }
    }

    /// Prints a warning unless it is the last one that was printed.
    fn warn_once(&mut self, text: String) {
        if text != self.told {
            output::warn(&text);
            self.told = text;
        }
    }
}

/// Returns a result for the file beside an entry, which other users of the spool may read.
fn for_others(result: &CopyResult) -> CopyResult {
    let mut result = result.clone();
    result.head = result.head.for_others();
    result
}

/// Returns a text without control characters: names in it may have some, and imitate other lines.
fn on_one_line(text: &str) -> String {
    match text.contains(char::is_control) {
        true => shown(text),
        false => text.to_owned(),
    }
}
