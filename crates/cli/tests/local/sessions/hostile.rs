//! Peers with real keys of all roles that keep to no rule, at random and all at once: no file
//! outside of what is theirs is opened, agents stay small, and copies go on.

mod opened;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use garland_protocol::Message;
use garland_protocol::files::{Ask, Changes, FileRef, NewKind, OpenFlags};
use garland_protocol::wire::{KeyPair, PublicKey, ReadyLine};
use garland_sys::clock;
use garland_testkit::{
    Chance, Garland, HostileFiles, HostileNode, Scratch, env_number, random_file,
};
use rustix::thread::{CpuSet, sched_setaffinity};

use self::opened::{Opened, OpenedPaths};
use super::garland_in;
use super::roles::{Field, draw_orders, farm_agent, ready, root_of_content};

/// The peers of each role.
const PEERS: u64 = 4;

/// The messages of all peers together in a second.
const MESSAGES_PER_S: u64 = 2000;

/// The most memory that an agent may have, without that of its program, in bytes.
const AGENT_MAX: u64 = 64 << 20;

/// The most memory that a head may have beside hostile peers, more than without, in bytes.
const HEAD_MORE_MAX: u64 = 100 << 20;

/// How much longer a copy at 200 Mbit/s may take beside hostile peers; only a soak looks at it.
const LONGER_MAX: f64 = 1.1;

/// A key, and the agent that knows it.
#[derive(Clone)]
struct Entry {
    port: u16,
    theirs: PublicKey,
    ours: KeyPair,
    /// Whether its owner may name paths: what it opens is no fault.
    is_controller: bool,
}

fn is_soak() -> bool {
    std::env::var_os("GARLAND_SOAK").is_some()
}

/// The time for which peers are hostile: a few seconds, ten minutes in a soak.
fn time() -> Duration {
    Duration::from_secs(if is_soak() { 600 } else { 6 })
}

/// The bytes of a copied file: at 200 Mbit/s a fifth of a second, four seconds in a soak.
fn file_length() -> u64 {
    if is_soak() { 100_000_000 } else { 5_000_000 }
}

fn seed() -> u64 {
    env_number("GARLAND_SOAK").unwrap_or(0)
}

#[test]
fn hostile_peers_of_all_roles_open_nothing_exhaust_nothing_and_stop_no_copy() {
    let scratch = Scratch::new("hostile");
    let garland = garland_in(&scratch);
    let field = Field::up(&garland, &scratch, "local[1-2]");
    let (farm, farm_keys) = farm_agent(&garland, &scratch);
    let private = [scratch.root("local1").join("private"), scratch.path("root/private")];
    for folder in &private {
        fs::create_dir(folder).expect("it is made");
        fs::write(folder.join("key"), "nobody reads this").expect("it is written");
    }
    let opened = Opened::watch(&private);
    let root = root_of_content(&mut field.member("local1", "local2"));
    let published = entries(&field, &ready(&farm), farm_keys);
    let source = scratch.path("source");
    random_file(&source, file_length(), 3);
    let copy = |number: usize| copied(&garland, &source, number);
    let in_peace: Vec<Copied> = (0..if is_soak() { 9 } else { 1 }).map(copy).collect();
    let agents = [garland.agent("local1"), farm.process()];
    let all_opened = is_soak().then(|| OpenedPaths::watch(&agents));
    let over = AtomicBool::new(false);
    let said = AtomicU64::new(0);
    let mut copies = Vec::new();
    std::thread::scope(|scope| {
        for (number, entry) in (0..).zip(&published) {
            for peer in 0..PEERS {
                let chance = Chance::new(seed(), number * PEERS + peer);
                let over = &over;
                let said = &said;
                scope.spawn(move || be_hostile(entry, root, chance, over, said));
            }
        }
        let until_ns = clock::after(time());
        while !clock::until(until_ns).is_zero() {
            copies.push(copy(copies.len()));
        }
        over.store(true, Ordering::Relaxed);
    });
    let said = said.load(Ordering::Relaxed);
    let before = Copied::of_all(&in_peace);
    let beside = Copied::of_all(&copies);
    println!("{said} messages in {:?} beside {} copies", time(), copies.len());
    println!("one took {:.3} s, before {:.3} s", beside.seconds, before.seconds);
    println!("memory of the head: {} bytes, before {}", beside.memory, before.memory);
    assert!(beside.memory < before.memory + HEAD_MORE_MAX, "the head grows");
    for agent in &agents {
        assert!(agent.peak_memory() > 0, "{} has ended", agent.command);
        let memory = agent.peak_memory().saturating_sub(agent.memory_of_files());
        println!("memory of an agent: {memory} bytes");
        assert!(memory < AGENT_MAX, "{} has had {memory} bytes", agent.command);
    }
    assert_eq!(opened.count(), 0, "a file that nobody was given was opened");
    if let Some(all_opened) = all_opened {
        let strange = all_opened.end().into_iter().filter(|path| !is_given(path, &scratch));
        let strange: Vec<String> = strange.collect();
        assert!(strange.is_empty(), "opened: {strange:#?}");
    }
    for node in ["local1", "local2"] {
        let copied = fs::read(scratch.root(node).join("copy0")).expect("it was copied");
        assert!(copied == fs::read(&source).expect("the file exists"), "{node}");
    }
    drop(farm);
    field.end();
    if is_soak() {
        assert!(said >= time().as_secs() * MESSAGES_PER_S * 9 / 10, "the peers were too slow");
        assert!(beside.seconds <= LONGER_MAX * before.seconds, "copies take longer");
    }
}

/// Returns a key of each role, with the agents that know it.
fn entries(field: &Field<'_>, farm: &ReadyLine, farm_keys: KeyPair) -> [Entry; 4] {
    let entry = |ours: KeyPair, is_controller: bool| Entry {
        port: field.port("local1"),
        theirs: field.agent_key("local1"),
        ours,
        is_controller,
    };
    [
        entry(field.controller(), true),
        entry(field.cluster_key("local1").keys(), false),
        entry(field.cluster_key("local2").keys(), false),
        Entry { port: farm.port, theirs: farm.key, ours: farm_keys, is_controller: false },
    ]
}

/// What a copy took.
struct Copied {
    seconds: f64,
    /// The largest memory of the head that was seen, in bytes.
    memory: u64,
}

impl Copied {
    /// Returns the median of the times, and the largest memory.
    fn of_all(copies: &[Self]) -> Self {
        let mut seconds: Vec<f64> = copies.iter().map(|copy| copy.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let memory = copies.iter().map(|copy| copy.memory).max().unwrap_or(0);
        Self { seconds: seconds[seconds.len() / 2], memory }
    }
}

/// Copies the source to both nodes at 200 Mbit/s.
fn copied(garland: &Garland<'_>, source: &Path, number: usize) -> Copied {
    let source = source.to_str().expect("a path of text");
    let to = format!("local[1-2]:/copy{}", number % 2);
    let began_ns = clock::now_ns();
    let mut head = garland.start(&["cp", "--whole", "--bwlimit", "25MB/s", "-q", source, &to]);
    let mut memory = 0;
    while head.is_running() {
        memory = memory.max(head.process().peak_memory());
        std::thread::sleep(Duration::from_millis(5));
    }
    let seconds = (clock::now_ns() - began_ns) as f64 / 1e9;
    let _ = head.end().with_code(0);
    Copied { seconds, memory }
}

/// Returns whether an agent may open a path while it serves these peers: what the system has for
/// all, what was published, what is copied, the directories of the farm's jobs, and the agents' own
/// state.
fn is_given(path: &str, scratch: &Scratch) -> bool {
    let Some(inside) = path.strip_prefix(scratch.folder().to_str().expect("a path of text")) else {
        return path == "/"
            || ["/proc/", "/sys/", "/dev/", "/etc/"].iter().any(|of| path.starts_with(of));
    };
    let inside = inside.trim_start_matches('/');
    let of_controllers = ["roots/local1/copy", "roots/local1/.copy", "roots/local1/.examined."];
    let of_nodes = ["roots/local1/model", "root/jobs"];
    [&of_controllers[..], &of_nodes].concat().iter().any(|of| inside.starts_with(of))
        || ["roots/local1", "root"].contains(&inside)
        || inside.starts_with("state") && !inside.ends_with("controller.key")
}

/// Sends random orders, requests and bytes in random sequences of sessions until it is over.
fn be_hostile(
    entry: &Entry,
    root: [u8; 32],
    mut chance: Chance,
    over: &AtomicBool,
    said: &AtomicU64,
) {
    let orders = draw_orders("local1");
    // All on one processor: the other one is left to those who mean well.
    let mut processor = CpuSet::new();
    processor.set(0);
    sched_setaffinity(None, &processor).expect("a thread may choose");
    // All peers together, with as many threads as entries have peers.
    let pause = Duration::from_micros(1_000_000 * 4 * PEERS / MESSAGES_PER_S);
    // What a peer has waited for an answer it makes up for, up to a second.
    let mut next_ns = clock::now_ns();
    let mut pace = || {
        let next = next_ns + pause.as_nanos() as u64;
        next_ns = next.max(clock::now_ns().saturating_sub(1_000_000_000));
        std::thread::sleep(clock::until(next_ns));
    };
    while !over.load(Ordering::Relaxed) {
        let Ok(mut peer) = HostileNode::open(entry.port, &entry.ours, &entry.theirs) else {
            std::thread::sleep(pause);
            continue;
        };
        let mut files: Option<HostileFiles> = None;
        for _ in 0..chance.below(400) {
            if over.load(Ordering::Relaxed) {
                break;
            }
            said.fetch_add(1, Ordering::Relaxed);
            pace();
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
        0 => Ask::Block { root, file: 0, block: 0, piece: 0, arriving: false },
        1 => Ask::Block {
            root,
            file: chance.below(1 << 32) as u32,
            block: chance.below(u64::MAX),
            piece: chance.below(1 << 32) as u32,
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
