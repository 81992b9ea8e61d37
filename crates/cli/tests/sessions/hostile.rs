//! Peers with real keys of all roles that keep to no rule, at random and all at once: no file outside
//! of what is theirs is opened, agents stay small, and copies go on.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use garland_protocol::{Ask, Changes, FileRef, KeyPair, Message, NewKind, OpenFlags, PublicKey};
use garland_sys::clock;
use garland_testkit::{Chance, HostileFiles, HostileNode, Process, Scratch, random_file};
use rustix::fs::inotify;

use super::garland;
use super::roles::{Field, farm_agent, orders, ready, root_of_content};

/// The peers of each role.
const PEERS: u64 = 4;

/// The messages of all peers together in a second.
const MESSAGES_PER_S: u64 = 2000;

/// The most memory that an agent may have, without that of its program, in bytes.
const AGENT_MAX: u64 = 64 << 20;

/// A key, and the agent that knows it.
#[derive(Clone)]
struct Entry {
    port: u16,
    theirs: PublicKey,
    ours: KeyPair,
    /// Whether its owner may name paths: what it opens is no fault.
    is_controller: bool,
}

/// The time for which peers are hostile: a few seconds, ten minutes in a soak.
fn time() -> Duration {
    Duration::from_secs(if std::env::var_os("GARLAND_SOAK").is_some() { 600 } else { 6 })
}

fn seed() -> u64 {
    std::env::var("GARLAND_SOAK").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

#[test]
fn hostile_peers_of_all_roles_open_nothing_exhaust_nothing_and_stop_no_copy() {
    let scratch = Scratch::new("hostile");
    let garland = garland(&scratch);
    let field = Field::up(&garland, &scratch, "local[1-2]");
    let (farm, farm_keys) = farm_agent(&garland, &scratch);
    let private = [scratch.root("local1").join("private"), scratch.path("root/private")];
    for folder in &private {
        fs::create_dir(folder).expect("it is made");
        fs::write(folder.join("key"), "nobody reads this").expect("it is written");
    }
    let opened = Opened::watch(&private);
    let root = root_of_content(&mut field.member("local1", "local2"));
    let entry = |node: &str, ours: KeyPair, is_controller: bool| Entry {
        port: field.port(node),
        theirs: field.agent_key(node),
        ours,
        is_controller,
    };
    let farm_line = ready(&farm);
    let entries = [
        entry("local1", field.controller(), true),
        entry("local1", field.cluster_key("local1").keys(), false),
        entry("local1", field.cluster_key("local2").keys(), false),
        Entry {
            port: farm_line.port,
            theirs: farm_line.key,
            ours: farm_keys,
            is_controller: false,
        },
    ];
    let source = scratch.path("source");
    random_file(&source, 5_000_000, 3);
    let agents = [garland.agent("local1"), farm.process()];
    let over = AtomicBool::new(false);
    let said = AtomicU64::new(0);
    let mut copies = 0;
    std::thread::scope(|scope| {
        for (number, entry) in (0..).zip(&entries) {
            for peer in 0..PEERS {
                let chance = Chance::new(seed(), number * PEERS + peer);
                let (over, said) = (&over, &said);
                scope.spawn(move || be_hostile(entry, root, chance, over, said));
            }
        }
        let until_ns = clock::after(time());
        while !clock::until(until_ns).is_zero() {
            let path = source.to_str().expect("a path of text");
            let to = format!("local[1-2]:/copy{}", copies % 2);
            field.run(&["cp", "--bwlimit", "25MB/s", "-q", path, &to]);
            copies += 1;
        }
        over.store(true, Ordering::Relaxed);
    });
    for agent in &agents {
        let memory = agent.peak_memory().saturating_sub(agent.memory_of_files());
        assert!(memory < AGENT_MAX, "{} has had {memory} bytes", agent.command);
    }
    let said = said.load(Ordering::Relaxed);
    println!(
        "{said} messages beside {copies} copies; memory {:?}",
        agents.each_ref().map(Process::peak_memory)
    );
    assert_eq!(opened.count(), 0, "a file that nobody was given was opened");
    for node in ["local1", "local2"] {
        let copied = fs::read(scratch.root(node).join("copy0")).expect("it was copied");
        assert!(copied == fs::read(&source).expect("it is there"), "{node}");
    }
    drop(farm);
    field.end();
}

/// Sends random orders, requests and bytes in random sequences of sessions until it is over.
fn be_hostile(
    entry: &Entry,
    root: [u8; 32],
    mut chance: Chance,
    over: &AtomicBool,
    said: &AtomicU64,
) {
    let orders = orders("local1");
    // All peers together, with as many threads as entries have peers.
    let pause = Duration::from_micros(1_000_000 * 4 * PEERS / MESSAGES_PER_S);
    while !over.load(Ordering::Relaxed) {
        let Ok(mut peer) = HostileNode::open(entry.port, &entry.ours, &entry.theirs) else {
            std::thread::sleep(pause);
            continue;
        };
        let mut files: Option<HostileFiles> = None;
        for _ in 0..chance.below(60) {
            if over.load(Ordering::Relaxed) {
                break;
            }
            said.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(pause);
            match chance.below(10) {
                0..=3 => peer.order(&orders[chance.below(orders.len() as u64) as usize]),
                4 => {
                    // A valid order of which some bytes are others.
                    let order = &orders[chance.below(orders.len() as u64) as usize];
                    let mut bytes = order.to_bytes();
                    for _ in 0..=chance.below(3) {
                        let at = chance.below(bytes.len().max(1) as u64) as usize;
                        if let Some(byte) = bytes.get_mut(at) {
                            *byte = chance.below(256) as u8;
                        }
                    }
                    // What a controller says may do what it says.
                    if !entry.is_controller {
                        peer.say(&bytes);
                    }
                }
                5 => {
                    let length = chance.below(60_000);
                    let bytes: Vec<u8> = (0..length).map(|_| chance.below(256) as u8).collect();
                    if !entry.is_controller {
                        peer.say(&bytes);
                    }
                }
                6 if files.is_none() && !entry.is_controller => files = peer.try_open_files(),
                6..=8 => {
                    if let Some(open) = &mut files {
                        let _ = open.ask(ask(root, &mut chance));
                    }
                }
                _ => {
                    let _ = peer.hear(Duration::from_millis(chance.below(30)));
                    if chance.below(2) == 0 {
                        peer.acknowledged = chance.below(40);
                    }
                }
            }
        }
    }
}

/// Returns a request for files: what is served, or what is not.
fn ask(root: [u8; 32], chance: &mut Chance) -> Ask {
    let path = chance.pick(&[
        "private",
        "private/key",
        "jobs/../private/key",
        "jobs/link/key",
        "jobs/state/controller.key",
        "",
    ]);
    let path = path.as_bytes().to_vec();
    let inside = format!("jobs/{}", chance.below(9)).into_bytes();
    let read = OpenFlags { read: true, ..OpenFlags::default() };
    match chance.below(12) {
        0 => Ask::Block { root, file: 0, block: 0, arriving: false },
        1 => Ask::Block {
            root,
            file: chance.below(1 << 32) as u32,
            block: chance.below(u64::MAX),
            arriving: chance.below(20) == 0,
        },
        2 => Ask::Open(path, read),
        3 => Ask::Open(path, OpenFlags { write: true, create: Some(0o600), ..read }),
        4 => Ask::List(path),
        5 => Ask::Rename(path, inside, 2 * (chance.below(2) as u8)),
        6 => Ask::Link(path, inside),
        7 => Ask::Make(b"jobs/link".to_vec(), NewKind::Link(b"../private".to_vec()), 0o777),
        8 => Ask::Read(chance.below(9), chance.below(u64::MAX), 4096),
        9 => Ask::Change(FileRef::Path(path), Changes { mode: Some(0o666), ..Changes::default() }),
        10 => Ask::Remove(path),
        _ => Ask::Close(chance.below(9)),
    }
}

/// What is opened in some directories.
struct Opened(rustix::fd::OwnedFd);

impl Opened {
    fn watch(folders: &[impl AsRef<Path>]) -> Self {
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let fd = inotify::init(flags).expect("an instance is left");
        let events = inotify::WatchFlags::OPEN
            | inotify::WatchFlags::MODIFY
            | inotify::WatchFlags::ATTRIB
            | inotify::WatchFlags::DELETE
            | inotify::WatchFlags::CREATE
            | inotify::WatchFlags::MOVE;
        for folder in folders {
            let _ = inotify::add_watch(&fd, folder.as_ref(), events).expect("it is there");
        }
        Self(fd)
    }

    /// Returns the number of events so far.
    fn count(&self) -> usize {
        let mut buffer = [std::mem::MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.0, &mut buffer);
        std::iter::from_fn(|| reader.next().ok().map(|event| format!("{event:?}")))
            .inspect(|event| println!("opened: {event}"))
            .count()
    }
}
