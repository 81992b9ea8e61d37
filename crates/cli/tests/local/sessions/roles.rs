//! What the owner of a key can have an agent do: peers with real keys that keep to no rule.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use garland_core::farm::Text;
use garland_core::plan::Layout;
use garland_core::tree::SourcePath;
use garland_protocol::command::CommandOrder;
use garland_protocol::copy::{CompareOrder, CopyId, StatRequest, content_digest};
use garland_protocol::farm::{FarmAccess, FarmNode, FarmOrder};
use garland_protocol::files::{Ask, Changes, FileRef, FilesOrder, OpenFlags};
use garland_protocol::measure::{BalanceOrder, DiskOnly, DiskOrder, SurveyOrder};
use garland_protocol::names::{
    ClusterKey, HolderKind, NameEntry, NameHolder, NameManifest, NameRecord, NamedFile, NamesEvent,
    NamesOrder, RecordKey,
};
use garland_protocol::wire::{CHALLENGE_LEN, KeyPair, PublicKey, ReadyLine, Secret, SessionOrder};
use garland_protocol::{FromAgent, Message, OrderKind, Role, ToAgent};
use garland_sys::clock;
use garland_testkit::{
    Garland, HandAgent, Heard, HostileNode, Process, Scratch, random_bytes, until,
};
use serde_json::Value;

use super::{garland_in, record_file, recorded_port};

/// `EACCES`: the role of the peer does not admit the request.
const REFUSED: u16 = 13;

/// `ENODATA`: the agent does not serve the content.
const NOT_SERVED: u16 = 61;

/// The standing agent of a node of this machine whose cluster uses names.
pub(super) struct Field<'a> {
    garland: &'a Garland<'a>,
    scratch: &'a Scratch,
}

impl<'a> Field<'a> {
    /// Starts agents, and publishes the file `/model` of `local1` as `m`.
    pub(super) fn up(garland: &'a Garland<'a>, scratch: &'a Scratch, nodes: &str) -> Self {
        let field = Self { garland, scratch };
        field.run(&["up", "--local-root", &field.roots(), nodes]);
        fs::write(scratch.root("local1").join("model"), "content").expect("it is written");
        field.run(&["publish", "local1:/model", "--as", "m"]);
        field
    }

    pub(super) fn run(&self, words: &[&str]) {
        let _ = self.garland.run(words).with_code(0);
    }

    fn roots(&self) -> String {
        self.scratch.path("roots").to_str().expect("a path of text").to_owned()
    }

    pub(super) fn port(&self, node: &str) -> u16 {
        recorded_port(self.scratch, node).expect("a port")
    }

    fn record(&self, node: &str) -> Value {
        let record = fs::read(record_file(self.scratch, node)).expect("it is kept");
        serde_json::from_slice(&record).expect("it is JSON")
    }

    pub(super) fn agent_key(&self, node: &str) -> PublicKey {
        serde_json::from_value(self.record(node)["key"].clone()).expect("a key")
    }

    /// Returns what the agent of a node has logged.
    fn log(&self, node: &str) -> String {
        let record = self.record(node);
        fs::read_to_string(record["log"].as_str().expect("it has a log")).expect("it is read")
    }

    /// Returns the state directory of this host.
    fn state(&self) -> PathBuf {
        let record = record_file(self.scratch, "local1");
        record.ancestors().nth(2).expect("the state of the host").to_owned()
    }

    pub(super) fn controller(&self) -> KeyPair {
        let bytes = fs::read(self.state().join("controller.key")).expect("it is kept");
        let (private, public) = bytes.split_first_chunk::<32>().expect("two keys");
        KeyPair { private: Secret(*private), public: public.try_into().expect("two keys") }
    }

    /// Returns the key that the agent of a node keeps for the commands on it.
    pub(super) fn cluster_key(&self, node: &str) -> ClusterKey {
        let files = fs::read_dir(self.state().join("names")).expect("agents keep names").flatten();
        let keys = files.filter(|file| file.path().extension().is_some_and(|end| end == "key"));
        let mut keys = keys.filter_map(|file| ClusterKey::parse(&fs::read(file.path()).ok()?));
        keys.find(|key| key.node == node).expect("its agent keeps a key")
    }

    /// Opens a session with the agent of `node` as the member `member`.
    pub(super) fn member(&self, node: &str, member: &str) -> HostileNode {
        let keys = self.cluster_key(member).keys();
        HostileNode::open(self.port(node), &keys, &self.agent_key(node)).expect("it is a member")
    }

    pub(super) fn end(self) {
        self.run(&["down"]);
        self.scratch.assert_nothing_left();
    }
}

/// Returns the root of the content of `m`, as any member learns it.
pub(super) fn root_of_content(member: &mut HostileNode) -> [u8; 32] {
    root_of(member, "m")
}

/// The order to run the command with these words.
fn command(words: &[&[u8]]) -> CommandOrder {
    let words = words.iter().map(|word| word.to_vec()).collect();
    CommandOrder { words, has_input: false }
}

fn root_of(member: &mut HostileNode, name: &str) -> [u8; 32] {
    member.order(&ToAgent::Names(NamesOrder::Find(Some(name.to_owned()))));
    member.await_message(|message| match message {
        FromAgent::Names(NamesEvent::Entry(entry)) => Some(entry.record.content()?.root),
        _ => None,
    })
}

fn holder(node: &str, kind: HolderKind, path: &str) -> NameHolder {
    NameHolder { node: node.to_owned(), kind, path: path.into() }
}

/// Returns an order of each kind. None does anything by itself at an agent that obeys it, except
/// those that end the agent or the session.
pub(super) fn draw_orders(node: &str) -> Vec<ToAgent> {
    let id = CopyId([7; 16]);
    let names = [
        NamesOrder::Find(None),
        NamesOrder::Manifest("none".to_owned()),
        NamesOrder::Piece(vec![1], true),
        NamesOrder::Fetch("none".to_owned(), [1; 32], holder(node, HolderKind::Node, "x")),
        NamesOrder::Hold("none".to_owned(), [1; 32], holder(node, HolderKind::Node, "x")),
        NamesOrder::Locate { path: b"/".to_vec(), base: b"x".to_vec(), is_tree: false },
        NamesOrder::Digest(b"/none".to_vec()),
        NamesOrder::MemberKey { fresh: false, challenge: [3; CHALLENGE_LEN] },
    ];
    let compare = CompareOrder::Digests(Vec::new(), false);
    let disk = DiskOrder {
        path: b"/none".to_vec(),
        size: 4096,
        time_ns: 1,
        depth: 1,
        only: DiskOnly::default(),
    };
    let pattern = SourcePath::Pattern(b"/none/*".to_vec());
    let stat = StatRequest { paths: vec![pattern], stripes: false, tree: None };
    let rest = [
        ToAgent::Clock(1),
        ToAgent::Files(FilesOrder { id, secret: Secret([1; 32]), sealed: true }),
        ToAgent::View,
        ToAgent::Detach(id),
        ToAgent::Stand(id, Secret([1; 32]), Vec::new()),
        ToAgent::Exec(command(&[b"true"])),
        ToAgent::Input(b"x".to_vec()),
        ToAgent::Farm(FarmOrder::Recall(Vec::new())),
        ToAgent::ServeBinary(Vec::new(), 1),
        ToAgent::Survey(SurveyOrder::Mtu(Vec::new())),
        ToAgent::EndProbe(id),
        ToAgent::Disk(disk),
        ToAgent::Balance(BalanceOrder::Prepare { size: 0, cold: false }),
        ToAgent::Stat(stat),
        ToAgent::Compare(compare),
        ToAgent::Examine(b"/".to_vec()),
    ];
    names.into_iter().map(ToAgent::Names).chain(rest).collect()
}

/// The kinds that need a record which only the controller can sign, or end the agent: the table's
/// own test and others of this file try them.
const TRIED_ELSEWHERE: [OrderKind; 3] =
    [OrderKind::Register, OrderKind::KeepName, OrderKind::Shutdown];

#[test]
fn each_role_gives_the_orders_of_its_row_and_no_other_one() {
    let scratch = Scratch::new("roles-all");
    let garland = garland_in(&scratch);
    let field = Field::up(&garland, &scratch, "local1");
    let (agent, farm_keys) = farm_agent(&garland, &scratch);
    let farm_port = ready(&agent).port;
    let controller = field.controller();
    let member = field.cluster_key("local1").keys();
    let open = |role: Role| match role {
        Role::Controller => (field.port("local1"), field.agent_key("local1"), &controller),
        Role::Member => (field.port("local1"), field.agent_key("local1"), &member),
        Role::FarmNode => (farm_port, ready(&agent).key, &farm_keys),
    };
    let orders = draw_orders("local1");
    for kind in OrderKind::ALL.iter().filter(|kind| !TRIED_ELSEWHERE.contains(kind)) {
        assert!(orders.iter().any(|order| order.kind() == *kind), "no order of the kind {kind:?}");
    }
    for role in Role::ALL {
        let (port, theirs, ours) = open(role);
        for order in &orders {
            let mut peer = HostileNode::open(port, ours, &theirs).expect("the key is known");
            peer.order(order);
            if role.may_order(order.kind()) {
                assert!(peer.is_served(), "{role:?} {order:?}");
            } else {
                let why = peer.await_end().unwrap_or_default();
                let wanted = format!("a {} may not {}", role.words(), order.kind().words());
                assert_eq!(why, wanted, "{order:?}");
            }
        }
    }
    drop(agent);
    field.end();
}

#[test]
fn bytes_that_are_no_order_end_the_session_of_any_role() {
    let scratch = Scratch::new("roles-bytes");
    let garland = garland_in(&scratch);
    let field = Field::up(&garland, &scratch, "local1");
    let port = field.port("local1");
    let theirs = field.agent_key("local1");
    for ours in [field.controller(), field.cluster_key("local1").keys()] {
        for bytes in [&[][..], &[255; 40], &[8, 0x80, 0x80, 0x80, 0x80, 0x40]] {
            let mut peer = HostileNode::open(port, &ours, &theirs).expect("the key is known");
            peer.say(bytes);
            let _ = peer.await_end();
        }
    }
    assert!(field.member("local1", "local1").is_served());
    field.end();
}

#[test]
fn a_member_reads_blocks_of_registered_contents_and_no_path() {
    let scratch = Scratch::new("roles-paths");
    let garland = garland_in(&scratch);
    let field = Field::up(&garland, &scratch, "local[1-2]");
    let secret = scratch.root("local1").join("secret");
    fs::write(&secret, "the key of the controller").expect("it is written");
    let mut member = field.member("local1", "local2");
    let root = root_of_content(&mut member);
    let mut files = member.open_files().expect("it may open files");
    let block = |root, file, block| Ask::Block { root, file, block, piece: 0, arriving: false };
    let (_, bytes) = files.ask(block(root, 0, 0)).expect("it is published");
    assert_eq!(bytes, b"content");
    for ask in [block([1; 32], 0, 0), block(root, 1, 0), block(root, 0, 1)] {
        assert_eq!(files.ask(ask), Err(NOT_SERVED));
    }
    let read = OpenFlags { read: true, ..OpenFlags::default() };
    for ask in [
        Ask::Open(b"secret".to_vec(), read),
        Ask::Stat(FileRef::Path(b"secret".to_vec())),
        Ask::List(Vec::new()),
        Ask::Read(0, 0, 1),
    ] {
        assert_eq!(files.ask(ask), Err(REFUSED));
    }
    // A second mount of one session is beyond its budget.
    assert!(member.open_files().is_err_and(|why| why.contains("too many mounts")));
    // What lies at the path by now is not what was published.
    fs::write(scratch.root("local1").join("model"), "CONTENT").expect("it is written");
    assert!(files.ask(block(root, 0, 0)).is_err());
    field.end();
}

#[test]
fn a_content_is_served_no_more_when_its_last_name_has_ended() {
    let scratch = Scratch::new("roles-ended");
    let garland = garland_in(&scratch);
    // The last node keeps no names.
    let field = Field::up(&garland, &scratch, "local[1-4]");
    for (file, names) in [("one", &["x", "y"][..]), ("two", &["z"])] {
        fs::write(scratch.root("local4").join(file), file).expect("it is written");
        for name in names {
            field.run(&["publish", &format!("local4:/{file}"), "--as", name]);
        }
    }
    let mut keeper = field.member("local1", "local2");
    let [one, two] = ["x", "z"].map(|name| root_of(&mut keeper, name));
    let mut member = field.member("local4", "local2");
    let mut files = member.open_files().expect("it may open files");
    let mut ask =
        |root| files.ask(Ask::Block { root, file: 0, block: 0, piece: 0, arriving: false });
    field.run(&["unpublish", "x"]);
    field.run(&["unpublish", "z"]);
    assert_eq!(ask(two), Err(NOT_SERVED));
    let (_, bytes) = ask(one).expect("y stands for it, too");
    assert_eq!(bytes, b"one");
    field.run(&["publish", "local4:/two", "--as", "z"]);
    assert!(ask(two).is_ok(), "it is published again");
    field.end();
}

#[test]
fn blocks_that_are_longer_than_a_message_are_read_from_nodes() {
    let scratch = Scratch::new("roles-long");
    let garland = garland_in(&scratch);
    let field = Field::up(&garland, &scratch, "local[1-2]");
    let content = random_bytes((9 << 20) + 5, 6);
    fs::write(scratch.root("local1").join("long"), &content).expect("it is written");
    // As those of files of a TiB are.
    let layout = Layout::new(content.len() as u64, 4 << 20).expect("it may be as long");
    let digests = content.chunks(4 << 20).map(content_digest).collect();
    let file = NamedFile { path: Vec::new(), mode: 0o644, modified: (7, 0), layout, digests };
    let manifest = NameManifest { base: b"long".to_vec(), is_tree: false, files: vec![file] };
    let (manifest, described) = manifest.encode().expect("it is short");
    let signer = field.controller().private;
    let record = NameRecord::new("long", clock::wall_ns(), Some(described), &signer);
    let holders = vec![holder("local1", HolderKind::Node, "long")];
    let entry = Box::new(NameEntry { record: record.clone(), holders });
    let path = b"long".to_vec();
    let register = NamesOrder::Register { record: Box::new(record), path };
    let mut controller =
        HostileNode::open(field.port("local1"), &field.controller(), &field.agent_key("local1"))
            .expect("it is the controller");
    for order in [register, NamesOrder::Keep(entry, RecordKey::from_secret(&signer))] {
        controller.order(&ToAgent::Names(NamesOrder::Piece(manifest.clone(), true)));
        controller.order(&ToAgent::Names(order));
        controller.await_message(|message| match message {
            FromAgent::Names(NamesEvent::End(Ok(())) | NamesEvent::Kept(_)) => Some(()),
            _ => None,
        });
    }
    field.run(&["get", "--local-root", &field.roots(), "long", "local2:/long"]);
    assert!(fs::read(scratch.root("local2").join("long")).expect("it came") == content);
    field.end();
}

#[test]
fn a_member_speaks_of_its_own_node_and_has_no_other_agent_serve_files() {
    let scratch = Scratch::new("roles-holders");
    let garland = garland_in(&scratch);
    let field = Field::up(&garland, &scratch, "local[1-2]");
    let root = root_of_content(&mut field.member("local1", "local2"));
    let hold = |holder| ToAgent::Names(NamesOrder::Hold("m".to_owned(), root, holder));
    let fetch = |holder| ToAgent::Names(NamesOrder::Fetch("m".to_owned(), root, holder));
    let piece = ToAgent::Names(NamesOrder::Piece(vec![0; 60_000], true));
    for order in [
        hold(holder("local1", HolderKind::Node, "etc/shadow")),
        hold(holder("local2", HolderKind::Origin, "")),
        hold(holder("http://127.0.0.1:1/internal/restart", HolderKind::Origin, "")),
        hold(holder("local2", HolderKind::Head, "etc/shadow")),
        fetch(holder("local1", HolderKind::Node, "x")),
        piece,
    ] {
        let mut member = field.member("local1", "local2");
        member.order(&order);
        let why = member.await_end().unwrap_or_default();
        assert!(why.contains("another node than its own"), "{why}: {order:?}");
    }
    let listed = garland.run(&["names"]).with_code(0).out;
    assert!(listed.contains("held by local1"), "{listed}");
    field.end();
}

#[test]
fn members_that_acknowledge_nothing_or_open_too_much_cost_little() {
    let scratch = Scratch::new("roles-budgets");
    let garland = garland_in(&scratch);
    let field = Field::up(&garland, &scratch, "local1");
    let agent: Process = garland.agent("local1");
    let before = agent.memory();
    let mut sessions: Vec<HostileNode> = Vec::new();
    for _ in 0..Role::Member.budget().sessions {
        let mut member = field.member("local1", "local1");
        assert!(member.is_served());
        sessions.push(member);
    }
    let mut further = field.member("local1", "local1");
    let why = further.await_end().unwrap_or_default();
    assert!(why.contains("sessions already"), "{why}");
    // Answers are asked for and read, and none is acknowledged.
    for member in &mut sessions {
        let order = ToAgent::Names(NamesOrder::Find(None)).to_bytes();
        for _ in 0..20_000 {
            member.say(&order);
            if let Heard::End = member.hear(Duration::ZERO) {
                break;
            }
        }
        // The reason may be lost with what the agent did not read any more.
        let _ = member.await_end();
    }
    let log = field.log("local1");
    let ended = log.lines().filter(|line| line.contains("acknowledge")).count();
    assert_eq!(ended, sessions.len());
    let grown = agent.memory().saturating_sub(before);
    assert!(grown < 32 << 20, "the agent has {grown} bytes more");
    assert!(threads(&agent) < 100, "{} threads", threads(&agent));
    // They have cost nobody else anything.
    until("their sessions are forgotten", || {
        HostileNode::open(
            field.port("local1"),
            &field.cluster_key("local1").keys(),
            &field.agent_key("local1"),
        )
        .is_ok_and(|mut member| member.is_served())
    });
    field.end();
}

#[test]
fn nothing_is_kept_for_a_member_that_leaves_before_it_is_answered() {
    let scratch = Scratch::new("roles-left");
    let garland = garland_in(&scratch);
    let field = Field::up(&garland, &scratch, "local1");
    // The digests of a file of a TiB are 8 MiB.
    let blocks = 1 << 18;
    let layout = Layout::new(blocks << 22, 4 << 20).expect("it may be as long");
    let bytes = random_bytes(32 << 18, 9);
    let digests = bytes.chunks(32).map(|digest| digest.try_into().expect("it has 32")).collect();
    let file = NamedFile { path: Vec::new(), mode: 0o644, modified: (7, 0), layout, digests };
    let manifest = NameManifest { base: b"long".to_vec(), is_tree: false, files: vec![file] };
    let (manifest, described) = manifest.encode().expect("it is short enough");
    let signer = field.controller().private;
    let record = NameRecord::new("long", clock::wall_ns(), Some(described), &signer);
    let entry = Box::new(NameEntry { record, holders: Vec::new() });
    let mut controller =
        HostileNode::open(field.port("local1"), &field.controller(), &field.agent_key("local1"))
            .expect("it is the controller");
    for piece in manifest.chunks(60_000) {
        controller.order(&ToAgent::Names(NamesOrder::Piece(piece.to_vec(), true)));
    }
    controller.order(&ToAgent::Names(NamesOrder::Keep(entry, RecordKey::from_secret(&signer))));
    controller.await_message(|message| match message {
        FromAgent::Names(NamesEvent::Kept(_)) => Some(()),
        _ => None,
    });
    let agent: Process = garland.agent("local1");
    let before = agent.peak_memory();
    let mut member = field.member("local1", "local1");
    for _ in 0..Role::Member.budget().threads - 2 {
        member.order(&ToAgent::Names(NamesOrder::Manifest("long".to_owned())));
    }
    member.order(&ToAgent::Session(SessionOrder::Leave));
    let _ = member.await_end();
    until("nothing is read for it any more", || threads(&agent) < 20);
    let grown = agent.peak_memory().saturating_sub(before);
    assert!(grown < 64 << 20, "the agent had {grown} bytes more");
    field.end();
}

fn threads(process: &Process) -> usize {
    let tasks = fs::read_dir(format!("/proc/{}/task", process.pid));
    tasks.map_or(0, |tasks| tasks.count())
}

#[test]
fn other_keys_end_the_sessions_and_connections_of_the_old_ones() {
    let scratch = Scratch::new("roles-revoked");
    let garland = garland_in(&scratch);
    let field = Field::up(&garland, &scratch, "local[1-2]");
    let old = field.cluster_key("local2");
    let mut member = field.member("local1", "local2");
    let root = root_of_content(&mut member);
    let mut files = member.open_files().expect("it may open files");
    let block = || Ask::Block { root, file: 0, block: 0, piece: 0, arriving: false };
    assert!(files.ask(block()).is_ok());
    field.run(&["up", "--new-cluster-key", "--local-root", &field.roots(), "local[1-2]"]);
    let why = member.await_end().unwrap_or_default();
    assert!(why.contains("no longer that of a member"), "{why}");
    until("its connection for files is closed", || files.ask(block()).map(drop) == Err(0));
    let again = HostileNode::open(field.port("local1"), &old.keys(), &field.agent_key("local1"));
    assert!(again.is_err(), "the old key is that of a stranger");
    assert_ne!(field.cluster_key("local2").public, old.public);
    // The key of a node whose agent has ended is worth nothing either.
    let ended = field.cluster_key("local2").keys();
    field.run(&["down", "local2"]);
    let again = HostileNode::open(field.port("local1"), &ended, &field.agent_key("local1"));
    assert!(again.is_err(), "the key of an agent that has ended is that of a stranger");
    field.end();
}

#[test]
fn agents_know_no_members_before_the_first_name() {
    let scratch = Scratch::new("roles-first");
    let garland = garland_in(&scratch);
    let roots = scratch.path("roots").to_str().expect("a path of text").to_owned();
    let _ = garland.run(&["up", "--local-root", &roots, "local1"]).with_code(0);
    let keys = || {
        let names = record_file(&scratch, "local1").ancestors().nth(2).expect("it").join("names");
        let files = fs::read_dir(names).into_iter().flatten().flatten();
        files.filter(|file| file.path().extension().is_some_and(|end| end == "key")).count()
    };
    assert_eq!(keys(), 0, "names are not used");
    fs::write(scratch.root("local1").join("model"), "content").expect("it is written");
    let _ = garland.run(&["publish", "local1:/model", "--as", "m"]).with_code(0);
    assert_eq!(keys(), 1);
    let _ = garland.run(&["down"]).with_code(0);
    assert_eq!(keys(), 0, "an agent that ends takes its key back");
    scratch.assert_nothing_left();
}

/// A member may not have the agent greet it, begin threads and write to the node's log without end.
#[test]
fn a_member_that_greets_without_end_is_held_back_and_no_controller_waits() {
    const PEERS: usize = 8;
    const SESSIONS: u32 = 40;
    const WAIT_MAX: Duration = Duration::from_secs(5);
    let scratch = Scratch::new("roles-greetings");
    let garland = garland_in(&scratch);
    let field = Field::up(&garland, &scratch, "local1");
    let port = field.port("local1");
    let theirs = field.agent_key("local1");
    let member = field.cluster_key("local1").keys();
    let controller = field.controller();
    let rate = Role::Member.budget().greetings.expect("a member may greet so often only");
    let over = AtomicBool::new(false);
    let greeted = AtomicU64::new(0);
    let refused = AtomicU64::new(0);
    let began_ns = clock::now_ns();
    let mut waits = std::thread::scope(|scope| {
        for _ in 0..PEERS {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    // The agent counts it before it answers, so that no peer is ahead by two.
                    let session = HostileNode::open(port, &member, &theirs);
                    let is_served = session.is_ok_and(|mut session| session.is_served());
                    let count = if is_served { &greeted } else { &refused };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // The first of these come while the member may still greet.
        let waits: Vec<Duration> = (0..SESSIONS)
            .map(|_| {
                let since_ns = clock::now_ns();
                let session = HostileNode::open(port, &controller, &theirs);
                assert!(session.expect("it is the controller").is_served());
                Duration::from_nanos(clock::now_ns() - since_ns)
            })
            .collect();
        over.store(true, Ordering::Relaxed);
        waits
    });
    let elapsed_s = (clock::now_ns() - began_ns).div_ceil(1_000_000_000);
    waits.sort();
    let [greeted, refused] = [greeted, refused].map(AtomicU64::into_inner);
    let shown = format!(
        "{greeted} greeted and {refused} refused in {elapsed_s} s; the controller waited {:?} (median) and {:?}",
        waits[waits.len() / 2],
        waits[waits.len() - 1]
    );
    println!("{shown}");
    assert!(waits[waits.len() - 1] < WAIT_MAX, "{shown}");
    // Those that had begun before the last one that was counted are served, too.
    let most = u64::from(rate.at_once) + u64::from(rate.per_s) * elapsed_s + PEERS as u64;
    assert!(greeted > 0 && greeted <= most && refused > 0, "{shown}");
    field.end();
}

/// Nor with the secret of its mount, which it has chosen itself: each greeting costs key exchanges
/// on the thread that greets all peers.
#[test]
fn a_member_that_greets_without_end_for_its_mount_is_held_back() {
    const GREETINGS: u64 = 600;
    let scratch = Scratch::new("roles-mount-greetings");
    let garland = garland_in(&scratch);
    let field = Field::up(&garland, &scratch, "local1");
    let theirs = field.agent_key("local1");
    let member = field.cluster_key("local1").keys();
    let rate = Role::Member.budget().mount_greetings.expect("a member may greet so often only");
    let mut session = HostileNode::open(field.port("local1"), &member, &theirs).expect("it is one");
    let mount = session.open_mount().expect("it may have one");
    let since_ns = clock::now_ns();
    // A greeting that is answered, also if the connection is closed afterwards: it is one too many.
    let is_greeted = |_: &u64| session.connect_files(mount.id, mount.secret.clone()).is_ok();
    let greeted = (0..GREETINGS).filter(is_greeted).count() as u64;
    let elapsed_s = (clock::now_ns() - since_ns).div_ceil(1_000_000_000);
    let most = u64::from(rate.at_once) + u64::from(rate.per_s) * elapsed_s;
    assert!(greeted > 0 && greeted <= most, "{greeted} greetings in {elapsed_s} s");
    let controller = HostileNode::open(field.port("local1"), &field.controller(), &theirs);
    assert!(controller.expect("it is the controller").open_files().is_ok());
    field.end();
}

#[test]
fn a_node_of_a_farm_reaches_the_files_of_its_jobs_and_runs_nothing() {
    let scratch = Scratch::new("roles-farm");
    let garland = garland_in(&scratch);
    let (agent, keys) = farm_agent(&garland, &scratch);
    let line = ready(&agent);
    let mut node = HostileNode::open(line.port, &keys, &line.key).expect("the key is known");
    let mut files = node.open_files().expect("it may open files");
    let read = OpenFlags { read: true, ..OpenFlags::default() };
    let opened = files.ask(Ask::Open(b"jobs/in".to_vec(), read));
    assert!(opened.is_ok(), "{opened:?}");
    // A program of the head that runs as its owner: another content would run as that one.
    let tool = scratch.path("root/jobs/tool");
    write(&scratch.path("root"), "jobs/tool", "a program");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o4755)).expect("it is this user's");
    let to_tool = |flags| Ask::Open(b"jobs/tool".to_vec(), flags);
    let create = Some(0o600);
    assert!(files.ask(to_tool(read)).is_ok(), "it may be read");
    let cut = Changes { size: Some(0), ..Changes::default() };
    for ask in [
        to_tool(OpenFlags { write: true, ..OpenFlags::default() }),
        to_tool(OpenFlags { write: true, append: true, create, ..read }),
        to_tool(OpenFlags { truncate: true, ..read }),
        Ask::Change(FileRef::Path(b"jobs/tool".to_vec()), cut),
        Ask::Open(b"controller.key".to_vec(), read),
        Ask::Make(
            b"jobs/link".to_vec(),
            garland_protocol::files::NewKind::Link(b"/etc".to_vec()),
            0o777,
        ),
        Ask::Make(b"jobs/cluster.toml".to_vec(), garland_protocol::files::NewKind::File, 0o600),
        Ask::List(Vec::new()),
        Ask::Rename(b"jobs/in".to_vec(), b"controller.key".to_vec(), 0),
        Ask::Make(b"jobs/program".to_vec(), garland_protocol::files::NewKind::File, 0o4755),
    ] {
        let shown = format!("{ask:?}");
        assert_eq!(files.ask(ask).map(drop), Err(REFUSED), "{shown}");
    }
    drop(files);
    assert_eq!(fs::read(&tool).expect("the file exists"), b"a program");
    let marker = scratch.path("root/ran");
    node.order(&ToAgent::Exec(command(&[b"touch", marker.to_str().expect("text").as_bytes()])));
    let why = node.await_end().unwrap_or_default();
    assert_eq!(why, "a node of a farm may not run commands");
    assert!(!marker.exists());
}

/// Starts an agent that serves a node of a farm. As a farm's window it has no controller, so that
/// it does not wait for one and lasts as long as its launcher.
pub(super) fn farm_agent(garland: &Garland<'_>, scratch: &Scratch) -> (HandAgent, KeyPair) {
    let root = scratch.path("root");
    let keys = KeyPair::generate();
    write(&root, "jobs/in", "input");
    write(&root, "controller.key", "a key");
    let access = FarmAccess {
        nodes: vec![FarmNode { name: "n1".to_owned(), key: keys.public }],
        folders: vec![Text::from("/jobs")],
    };
    let file = scratch.path("files.access");
    fs::write(&file, access.to_bytes()).expect("it is written");
    let file = file.to_str().expect("a path of text");
    (HandAgent::start(garland, &["--farm", file], &root), keys)
}

fn write(root: &Path, path: &str, content: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("it is made");
    fs::write(path, content).expect("it is written");
}

pub(super) fn ready(agent: &HandAgent) -> ReadyLine {
    ReadyLine::parse(agent.ready_line()).expect("a ready line")
}
