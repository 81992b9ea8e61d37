//! The operating systems of both machines, and the network between them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::io;

use garland_core::splitmix::SplitMix;

use super::disk::Disk;
use super::faults::{Fault, Faults};
use super::network::Wire;
use crate::io::{FileId, OpenMode, Operation, Output, Piece, SocketId};
use crate::node::DATA_LISTENER;
use crate::stage::Files;

/// Times are multiples of this, in nanoseconds, so that some calls complete together.
const TICK_NS: u64 = 20_000;

/// The longest delays on a wire and of a disk, in ticks: 100 ms and 3 s. A slow disk is not a dead
/// node.
const WIRE_TICKS: usize = 5_000;
const DISK_TICKS: usize = 150_000;

/// How long an attempt to connect to a mute machine takes.
const CONNECT_NS: u64 = 5_000_000_000;

const HEAD: usize = 0;
const NODE: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A call of a side completes.
    Complete(usize, u64),
    /// Bytes from a side may have arrived at the other end of a wire.
    Arrive(usize, usize),
    /// A timer of a side.
    Wake(usize, u64),
}

/// What happens next.
pub(super) enum Next {
    /// A side is to make a step.
    Step(usize, Vec<(u64, Output)>),
    /// Nothing that a driver notices.
    Nothing,
}

/// A call that has not completed.
enum Pending {
    Operation(Operation),
    Output(Output),
}

pub(super) struct Kernel {
    now: u64,
    serial: u64,
    agenda: BinaryHeap<Reverse<(u64, u64, Event)>>,
    random: SplitMix,
    faults: Faults,
    disks: [Disk; 2],
    files: [BTreeMap<FileId, usize>; 2],
    is_up: [bool; 2],
    is_mute: [bool; 2],
    timers: [u64; 2],
    pending: BTreeMap<(usize, u64), Pending>,
    wires: Vec<Wire>,
    sockets: BTreeMap<(usize, SocketId), usize>,
    accepting: BTreeMap<SocketId, VecDeque<(u64, SocketId)>>,
    backlog: BTreeMap<SocketId, VecDeque<usize>>,
}

fn error(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

const NOT_CONNECTED: i32 = 107;
const RESET: i32 = 104;

impl Kernel {
    pub(super) fn new(disks: [Disk; 2], faults: Faults, random: SplitMix) -> Self {
        let mut kernel = Self {
            now: 0,
            serial: 0,
            agenda: BinaryHeap::new(),
            random,
            faults,
            disks,
            files: Default::default(),
            is_up: [true; 2],
            is_mute: [false; 2],
            timers: [u64::MAX; 2],
            pending: BTreeMap::new(),
            wires: Vec::new(),
            sockets: BTreeMap::new(),
            accepting: BTreeMap::new(),
            backlog: BTreeMap::new(),
        };
        [NODE, HEAD].into_iter().for_each(|side| kernel.wake_at(side, 0));
        kernel
    }

    pub(super) fn now(&self) -> u64 {
        self.now
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.random.below(end)
    }

    pub(super) fn into_disks(self) -> ([Disk; 2], Vec<Fault>) {
        (self.disks, self.faults.happened())
    }

    pub(super) fn crashes(&mut self, side: usize) -> Option<bool> {
        self.faults.crash(side)
    }

    pub(super) fn wake_at(&mut self, side: usize, at: u64) {
        if at != u64::MAX && self.timers[side] != at {
            self.timers[side] = at;
            self.add(at.max(self.now), Event::Wake(side, at));
        }
    }

    fn add(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.agenda.push(Reverse((at, self.serial, event)));
    }

    /// Returns a time from now on: soon, sometimes later, and seldom up to `most` ticks later.
    fn later(&mut self, most: usize) -> u64 {
        let ticks = match self.below(256) {
            0 => most,
            1..=15 => 2_500,
            _ => 10,
        };
        self.now + TICK_NS * (1 + self.below(ticks) as u64)
    }

    /// Advances to the next event; none if nothing will ever happen.
    pub(super) fn next(&mut self) -> Option<Next> {
        let Reverse((at, _, event)) = self.agenda.pop()?;
        self.now = self.now.max(at);
        Some(match event {
            Event::Arrive(wire, from) => {
                self.wires[wire].ways[from].arrive(self.now);
                self.pump(wire, from);
                Next::Nothing
            }
            Event::Wake(side, at) if self.timers[side] == at && self.is_up[side] => {
                self.timers[side] = u64::MAX;
                Next::Step(side, Vec::new())
            }
            Event::Wake(..) => Next::Nothing,
            Event::Complete(side, serial) => {
                let mut done = Vec::from_iter(self.perform(side, serial));
                while let Some(Reverse((_, _, Event::Complete(other, serial)))) =
                    self.agenda.peek().filter(|Reverse((at, ..))| *at <= self.now).copied()
                    && other == side
                {
                    self.agenda.pop();
                    done.extend(self.perform(side, serial));
                }
                if done.is_empty() { Next::Nothing } else { Next::Step(side, done) }
            }
        })
    }

    fn perform(&mut self, side: usize, serial: u64) -> Option<(u64, Output)> {
        let output = match self.pending.remove(&(side, serial))? {
            Pending::Output(output) => output,
            Pending::Operation(call) => self.call(side, serial, call)?,
        };
        Some((serial, output))
    }

    fn finish(&mut self, side: usize, serial: u64, output: Output) {
        let at = self.later(WIRE_TICKS);
        self.pending.insert((side, serial), Pending::Output(output));
        self.add(at, Event::Complete(side, serial));
    }

    pub(super) fn submit(&mut self, side: usize, serial: u64, call: Operation) {
        match call {
            Operation::Receive(socket, piece) => match self.sockets.get(&(side, socket)).copied() {
                Some(wire) => {
                    self.wires[wire].ways[1 - side].receiver = Some((serial, piece));
                    self.pump(wire, 1 - side);
                }
                None => self.fail(side, (serial, piece), NOT_CONNECTED),
            },
            Operation::Send(socket, piece) => match self.sockets.get(&(side, socket)).copied() {
                Some(wire) => {
                    self.wires[wire].ways[side].sender = Some((serial, piece));
                    self.pump(wire, side);
                }
                None => self.fail(side, (serial, piece), NOT_CONNECTED),
            },
            Operation::Accept { listener, socket } => {
                self.accepting.entry(listener).or_default().push_back((serial, socket));
                self.accept(listener);
            }
            Operation::Close(socket) => {
                if let Some(wire) = self.sockets.remove(&(side, socket)) {
                    self.close(side, wire);
                }
            }
            call => {
                let connects = matches!(call, Operation::Connect(..));
                let mute = connects && self.is_mute.contains(&true);
                let most = if connects { WIRE_TICKS } else { DISK_TICKS };
                let at = if mute { self.now + CONNECT_NS } else { self.later(most) };
                self.pending.insert((side, serial), Pending::Operation(call));
                self.add(at, Event::Complete(side, serial));
            }
        }
    }

    fn call(&mut self, side: usize, serial: u64, call: Operation) -> Option<Output> {
        let disk = &mut self.disks[side];
        let result = match call {
            Operation::Connect(socket, address) => {
                if !self.is_up[NODE] || self.is_mute[side] {
                    return Some(Output::Done(Err(error(111))));
                }
                let listener = SocketId(u32::from(address.port()) - 1);
                let is_data = listener == DATA_LISTENER;
                self.wires.push(Wire { is_data, ..Wire::default() });
                let wire = self.wires.len() - 1;
                self.sockets.insert((side, socket), wire);
                self.backlog.entry(listener).or_default().push_back(wire);
                self.accept(listener);
                Ok(())
            }
            Operation::Open(file, path, mode) => {
                let found = match mode {
                    OpenMode::Read => disk.find(&path),
                    OpenMode::Create(length) => Some(disk.create(&path, length)),
                };
                let opened = found.map(|found| self.files[side].insert(file, found));
                opened.map(drop).ok_or(error(2))
            }
            Operation::Work(mut work) => {
                let Self { faults, random, disks, files, .. } = self;
                let mut files =
                    SimFiles { disk: &mut disks[side], files: &files[side], faults, random };
                let result = work.run(&mut files);
                return Some(Output::Worked(work, result));
            }
            Operation::Sync(_) if self.faults.place(Fault::Sync) => Err(error(5)),
            Operation::Sync(file) => match self.files[side].get(&file) {
                Some(&file) => {
                    disk.sync(file);
                    Ok(())
                }
                None => Err(error(9)),
            },
            Operation::Rename(..) if self.faults.place(Fault::Rename) => Err(error(13)),
            Operation::Rename(from, to) => disk.rename(&from, &to).then_some(()).ok_or(error(2)),
            Operation::SyncFolder(_) => {
                disk.sync_names();
                Ok(())
            }
            Operation::Remove(path) => disk.remove(&path).then_some(()).ok_or(error(2)),
            Operation::Accept { .. }
            | Operation::Receive(..)
            | Operation::Send(..)
            | Operation::Close(_) => {
                unreachable!("call {serial} needs no time of its own")
            }
        };
        Some(Output::Done(result))
    }

    fn accept(&mut self, listener: SocketId) {
        let waiting = self.accepting.entry(listener).or_default();
        let backlog = self.backlog.entry(listener).or_default();
        if let (Some(&(serial, socket)), Some(&wire)) = (waiting.front(), backlog.front()) {
            waiting.pop_front();
            backlog.pop_front();
            self.sockets.insert((NODE, socket), wire);
            self.finish(NODE, serial, Output::Done(Ok(())));
        }
    }

    fn fail(&mut self, side: usize, (serial, piece): (u64, Piece), code: i32) {
        self.finish(side, serial, Output::Moved(piece, Err(error(code))));
    }

    /// Moves what can be moved from a side over a wire.
    fn pump(&mut self, at: usize, from: usize) {
        let wire = &mut self.wires[at];
        if wire.is_broken {
            return self.reset(at);
        }
        if wire.is_mute {
            return;
        }
        let (is_data, is_closed) = (wire.is_data, wire.closed[1 - from]);
        let way = &mut wire.ways[from];
        let room = way.room();
        if is_closed && let Some(sender) = way.sender.take() {
            self.fail(from, sender, RESET);
        } else if let Some((serial, mut piece)) = way.sender.take_if(|_| room > 0) {
            if self.faults.cut(is_data) {
                self.wires[at].ways[from].sender = Some((serial, piece));
                return self.reset(at);
            }
            let most = room.min(piece.to - piece.from);
            let count = self.short(most);
            let mut bytes = piece.buffer[piece.from..piece.from + count].to_vec();
            if is_data && self.faults.flip() {
                let at = self.below(count);
                bytes[at] ^= 1 << self.below(8);
            }
            piece.from += count;
            let arrival = self.later(WIRE_TICKS);
            let arrival = self.wires[at].ways[from].send(arrival, bytes);
            self.add(arrival, Event::Arrive(at, from));
            self.finish(from, serial, Output::Moved(piece, Ok(count)));
        }
        let way = &mut self.wires[at].ways[from];
        if way.has_arrived()
            && let Some((serial, mut piece)) = way.receiver.take()
        {
            let most = piece.to - piece.from;
            let most = self.short(most);
            let count = self.wires[at].ways[from].receive(&mut piece, most);
            self.finish(1 - from, serial, Output::Moved(piece, Ok(count)));
            // There may be room again.
            self.pump(at, from);
        } else if way.is_over()
            && let Some((serial, piece)) = way.receiver.take()
        {
            self.finish(1 - from, serial, Output::Moved(piece, Ok(0)));
        }
    }

    fn short(&mut self, most: usize) -> usize {
        if self.below(4) == 0 { 1 + self.below(most) } else { most }
    }

    /// Breaks a wire: all transfers fail, and nothing arrives any more.
    fn reset(&mut self, at: usize) {
        let wire = &mut self.wires[at];
        wire.is_broken = true;
        for from in [HEAD, NODE] {
            let way = &mut self.wires[at].ways[from];
            let (sender, receiver) = (way.sender.take(), way.receiver.take());
            sender.into_iter().for_each(|sender| self.fail(from, sender, RESET));
            receiver.into_iter().for_each(|receiver| self.fail(1 - from, receiver, RESET));
        }
    }

    fn close(&mut self, side: usize, at: usize) {
        let wire = &mut self.wires[at];
        wire.closed[side] = true;
        wire.ways[side].end();
        let (sender, receiver) =
            (wire.ways[side].sender.take(), wire.ways[1 - side].receiver.take());
        for waiting in sender.into_iter().chain(receiver) {
            self.fail(side, waiting, NOT_CONNECTED);
        }
        [HEAD, NODE].into_iter().for_each(|from| self.pump(at, from));
    }

    fn wires_of(&mut self, side: usize) -> Vec<usize> {
        let mine = self.sockets.extract_if(.., |(of, _), _| *of == side).map(|(_, wire)| wire);
        let mut wires: Vec<usize> = mine.collect();
        if side == NODE {
            wires.extend(self.backlog.values_mut().flat_map(std::mem::take));
        }
        wires
    }

    fn stop(&mut self, side: usize) -> Vec<usize> {
        self.is_up[side] = false;
        let wires = self.wires_of(side);
        self.pending.retain(|(of, _), _| *of != side);
        if side == NODE {
            self.accepting.clear();
        }
        wires
    }

    /// Ends a process: its sockets are closed.
    pub(super) fn exit(&mut self, side: usize) {
        let wires = self.stop(side);
        wires.into_iter().for_each(|wire| self.close(side, wire));
        self.pending.retain(|(of, _), _| *of != side);
    }

    /// Ends a machine, and what its disk has not made stable.
    pub(super) fn crash(&mut self, side: usize, loud: bool) {
        for wire in self.stop(side) {
            if loud {
                self.reset(wire);
            } else {
                self.wires[wire].is_mute = true;
            }
        }
        self.is_mute[side] = !loud;
        self.pending.retain(|(of, _), _| *of != side);
        self.disks[side].crash(&mut self.random);
    }
}

/// The files of one machine, as work sees them.
struct SimFiles<'a> {
    disk: &'a mut Disk,
    files: &'a BTreeMap<FileId, usize>,
    faults: &'a mut Faults,
    random: &'a mut SplitMix,
}

impl SimFiles<'_> {
    fn count(&mut self, most: usize) -> usize {
        if self.random.below(4) == 0 { 1 + self.random.below(most) } else { most }
    }
}

impl Files for SimFiles<'_> {
    fn read(&mut self, file: FileId, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        match self.faults.read() {
            Some(0) => return Ok(0),
            Some(code) => return Err(error(code)),
            None => {}
        }
        let count = self.count(bytes.len());
        let file = *self.files.get(&file).ok_or(error(9))?;
        Ok(self.disk.read(file, usize::try_from(offset).unwrap_or(usize::MAX), &mut bytes[..count]))
    }

    fn write(&mut self, file: FileId, offset: u64, bytes: &[u8]) -> io::Result<usize> {
        if let Some(code) = self.faults.write() {
            return Err(error(code));
        }
        let count = self.count(bytes.len());
        let file = *self.files.get(&file).ok_or(error(9))?;
        self.disk.write(file, usize::try_from(offset).unwrap_or(usize::MAX), &bytes[..count]);
        Ok(count)
    }
}
