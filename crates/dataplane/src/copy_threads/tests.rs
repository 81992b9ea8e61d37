use std::io::{Read, Write};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{self, Receiver};

use garland_core::plan::{Layout, NodeId};
use garland_protocol::copy::{
    CopyId, DigestKey, DigestWindows, FRAME_LEN, Frame, Keys, Kind, LinkSide, Sink, StreamEnd,
    content_digest,
};
use garland_protocol::wire::Secret;
use garland_sys::mptcp::Transport;
use garland_sys::socket::{TcpStream, pair};

use super::*;
use crate::compress::Packing;
use crate::context::{CopyConfig, LaneCommand, Notice};
use crate::faults::Faults;
use crate::source::{FeedError, StreamSource};
use crate::store::NoStore;
use crate::tests::untraced;

const COPY: CopyId = CopyId([7; 16]);
const SECRET: Secret = Secret([5; 32]);
const SIGNING: Secret = Secret([3; 32]);

/// How long a test waits for a notice.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

/// The blocks of a stream, of which the last one is short.
fn blocks() -> [Vec<u8>; 3] {
    [vec![1; 4096], vec![2; 4096], vec![3; 5]]
}

/// The last node of a chain, whose upstreams the test plays.
struct Node {
    copy: Arc<CopyContext>,
    threads: Vec<JoinHandle<()>>,
    notices: Receiver<Notice>,
}

/// An upstream. It has the copy's secret, and so all of its frames are valid.
struct Upstream {
    stream: TcpStream,
    keys: Keys,
}

impl Node {
    /// Starts a node that receives a stream.
    fn start() -> Self {
        Self::start_with(Layout::open_ended(4096).unwrap(), None)
    }

    /// Starts a node that sends `source`, or receives if there is none.
    fn start_with(layout: Layout, source: Option<Arc<dyn Content>>) -> Self {
        let (tell, notices) = mpsc::channel();
        let digest_key = DigestKey::Sign(SIGNING);
        let is_source = source.is_some();
        let config = CopyConfig {
            id: COPY,
            me: NodeId(2),
            secret: SECRET,
            digest_key: if is_source { digest_key } else { digest_key.to_public() },
            sealed: false,
            is_source,
            buffers: Some(4),
            acknowledge: false,
            packing: Packing::None,
            lane_count: 1,
            store: Box::new(NoStore),
            congestion: Vec::new(),
            transport: Transport::Tcp,
            pace: 0,
            link_pool: None,
            trace: untraced(),
            faults: Faults::new(&[]),
            awake: Arc::default(),
            notices: Box::new(move |notice| drop(tell.send(notice))),
        };
        let sink = if is_source { Sink::source(layout) } else { Sink::new(layout, false) };
        let copy = Arc::new(CopyContext::new(config, sink));
        let all = [LaneBlocks::all(layout.blocks())];
        let threads = start(&copy, &all, |_| true, source.as_ref()).unwrap();
        Self { copy, threads, notices }
    }

    /// Links the node to an upstream with this number and epoch.
    fn link(&self, node: u32, epoch: u32) -> Upstream {
        let upstream = Some((NodeId(node), epoch, None));
        self.copy.route(&Route { upstream, ..Route::default() });
        let (near, far) = pair().unwrap();
        let lane = self.copy.lanes.get(0).expect("it is on this lane");
        lane.post(LaneCommand::Link(LinkSide::Up, epoch, near));
        Upstream { stream: far, keys: Keys::new(&SECRET, COPY) }
    }

    /// Makes the node feed downstreams with these epochs.
    fn feed(&self, epochs: &[u32]) {
        let down = |&epoch: &u32| garland_protocol::copy::Downstream {
            node: NodeId(epoch),
            epoch,
            // Nothing is there: the test gives the connections.
            address: None,
            side_fed: false,
        };
        let downstreams = epochs.iter().map(down).collect();
        self.copy.route(&Route { downstreams, ..Route::default() });
    }

    /// Links a downstream with this epoch, which requests all blocks.
    fn downstream(&self, epoch: u32) -> Downstream {
        let (near, far) = pair().unwrap();
        let lane = self.copy.lanes.get(0).expect("it is on this lane");
        lane.post(LaneCommand::Link(LinkSide::Down, epoch, near));
        let downstream = Downstream { stream: far, keys: Keys::new(&SECRET, COPY) };
        downstream.ask(Kind::Resume, 0);
        downstream
    }

    /// Waits for the notice that `of` returns something of.
    fn await_notice<T>(&self, of: impl Fn(&Notice) -> Option<T>) -> T {
        loop {
            let notice = self.notices.recv_timeout(PATIENCE).expect("the node tells it");
            if let Some(found) = of(&notice) {
                return found;
            }
        }
    }

    /// Waits until the node gives up its link of this epoch; returns the reason.
    fn lost(&self, wanted: u32) -> String {
        self.await_notice(|notice| match notice {
            Notice::LinkLost(_, epoch, LinkSide::Up, reason) if *epoch == wanted => {
                Some(reason.clone())
            }
            _ => None,
        })
    }

    fn end(self) {
        self.copy.close();
        self.threads.into_iter().for_each(|thread| drop(Joined::from(thread)));
    }
}

impl Upstream {
    fn send(&self, kind: Kind, index: u64, payload: &[u8]) {
        let mut frame = Frame::bare(kind, COPY, 0, index);
        frame.length = payload.len() as u32;
        frame.packed = frame.length;
        let bytes = [&frame.to_bytes(&self.keys)[..], payload].concat();
        (&self.stream).write_all(&bytes).unwrap();
    }
}

/// A downstream, whose upstream is the node.
struct Downstream {
    stream: TcpStream,
    keys: Keys,
}

impl Downstream {
    fn ask(&self, kind: Kind, index: u64) {
        self.send(&self.request(kind, index));
    }

    fn request(&self, kind: Kind, index: u64) -> [u8; FRAME_LEN] {
        Frame::bare(kind, COPY, 0, index).to_bytes(&self.keys)
    }

    fn send(&self, bytes: &[u8]) {
        (&self.stream).write_all(bytes).unwrap();
    }

    /// Returns the next frame but those with digests: its kind, its index, and the number of bytes
    /// that follow.
    fn next(&self) -> Option<(Kind, u64, usize)> {
        loop {
            let mut header = [0; FRAME_LEN];
            (&self.stream).read_exact(&mut header).ok()?;
            let frame = Frame::parse(&header, &self.keys).ok()?;
            let mut bytes = vec![0; frame.packed as usize];
            (&self.stream).read_exact(&mut bytes).ok()?;
            if frame.kind != Kind::Digests {
                return Some((frame.kind, frame.index, bytes.len()));
            }
        }
    }
}

#[test]
fn a_stream_may_have_as_many_blocks_as_there_can_be_and_no_more() {
    // Each block differs from the others, and none is zeros.
    let bytes: Vec<u8> = (0..3 * 4096).map(|at: u32| (at / 4096 + 1) as u8).collect();
    let layout = Layout { length: 2 * 4096, block_size: 4096, open: true };
    let start = |length: usize| {
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(&bytes[..length]).unwrap();
        let source = StreamSource::new(reader.into(), "a pipe", layout);
        Node::start_with(layout, Some(Arc::new(source)))
    };
    // The last block may be short.
    for length in [2 * 4096, 4096 + 5] {
        let node = start(length);
        node.feed(&[7, 8]);
        for down in [7, 8].map(|epoch| node.downstream(epoch)) {
            let mut frames = std::iter::from_fn(|| down.next());
            let blocks = [(Kind::Block, 0, 4096), (Kind::Block, 1, length - 4096)];
            let came: Vec<_> =
                frames.by_ref().filter(|it| it.0 != Kind::SourceEnd).take(3).collect();
            assert_eq!(came, [blocks[0], blocks[1], (Kind::End, 2, 0)]);
        }
        node.await_notice(|notice| matches!(notice, Notice::Read(_)).then_some(()));
        node.end();
    }
    let node = start(2 * 4096 + 1);
    node.feed(&[7]);
    let down = node.downstream(7);
    let reason = node.await_notice(|notice| match notice {
        Notice::Failed(reason) => Some(reason.clone()),
        _ => None,
    });
    let wanted = "cannot copy more than 8192 bytes of a pipe in blocks of 4096 bytes: use a greater \
                  --block-size";
    assert_eq!(reason, wanted);
    drop(down);
    node.end();
}

/// A source whose first block consists of this byte, and can be rewritten. As a whole it counts as
/// unchanged, as a tree does.
struct Rewritten(Arc<AtomicU8>);

impl Content for Rewritten {
    fn read(&self, _: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        bytes.fill(if index == 0 { self.0.load(Ordering::SeqCst) } else { 9 });
        Ok(())
    }

    fn length(&self) -> u64 {
        2 * 4096
    }

    fn name(&self) -> String {
        "t/f".to_owned()
    }

    fn is_unchanged(&self) -> bool {
        true
    }

    fn device(&self) -> Option<u64> {
        None
    }
}

#[test]
fn a_block_that_has_changed_since_it_was_sent_ends_only_the_link_of_who_needs_it_again() {
    for request in [Kind::Again, Kind::Resume] {
        let layout = Layout { length: 2 * 4096, block_size: 4096, open: false };
        let byte = Arc::new(AtomicU8::new(1));
        let source = Arc::new(Rewritten(Arc::clone(&byte)));
        let node = Node::start_with(layout, Some(source));
        node.feed(&[7, 8]);
        let mut downs = [7, 8].map(|epoch| node.downstream(epoch));
        for down in &downs {
            let blocks = [0, 1].map(|index| Some((Kind::Block, index, 4096)));
            assert_eq!([down.next(), down.next()], blocks);
            assert_eq!(down.next(), Some((Kind::End, 2, 0)));
        }
        byte.store(2, Ordering::SeqCst);
        let asks = match request {
            Kind::Again => {
                downs[1].ask(Kind::Again, 0);
                8
            }
            // It comes again, over another link, and asks for all blocks.
            _ => {
                node.feed(&[7, 9]);
                downs[1] = node.downstream(9);
                9
            }
        };
        let who = node.await_notice(|notice| match notice {
            Notice::Outdated(0, epochs, reason) => Some((epochs.clone(), reason.clone())),
            Notice::Failed(reason) => panic!("the copy ends for all: {reason}"),
            _ => None,
        });
        let reason = "it lacks a block of t/f, which changed after it was sent".to_owned();
        assert_eq!(who, (vec![asks], reason));
        // The other one may still request what has not changed.
        downs[0].ask(Kind::Again, 1);
        assert_eq!(downs[0].next(), Some((Kind::Block, 1, 4096)));
        node.end();
    }
}

#[test]
fn a_downstream_that_sends_a_frame_in_pieces_does_not_hold_up_the_others() {
    let layout = Layout { length: 2 * 4096, block_size: 4096, open: false };
    let source = Arc::new(Rewritten(Arc::new(AtomicU8::new(1))));
    let node = Node::start_with(layout, Some(source));
    node.feed(&[7, 8]);
    let [whole, halved] = [7, 8].map(|epoch| node.downstream(epoch));
    for down in [&whole, &halved] {
        let blocks = [0, 1].map(|index| Some((Kind::Block, index, 4096)));
        assert_eq!([down.next(), down.next()], blocks);
        assert_eq!(down.next(), Some((Kind::End, 2, 0)));
    }
    let request = halved.request(Kind::Again, 1);
    halved.send(&request[..9]);
    // When the first answer comes, the lane has seen the nine bytes.
    for _ in 0..2 {
        whole.ask(Kind::Again, 0);
        assert_eq!(whole.next(), Some((Kind::Block, 0, 4096)));
        assert_eq!(whole.next(), Some((Kind::End, 2, 0)));
    }
    // The lane has not waited until it gave the link up.
    halved.send(&request[9..]);
    assert_eq!(halved.next(), Some((Kind::Block, 1, 4096)));
    node.end();
}

#[test]
fn a_relay_cuts_no_stream_by_a_false_end_or_a_short_block() {
    let node = Node::start();
    let layout = node.copy.layout;
    let mut whole = Sink::source(layout);
    for (index, block) in (0..).zip(blocks()) {
        whole.learn(index, content_digest(&block)).unwrap();
    }
    let lane = LaneBlocks::all(layout.blocks());
    let mut windows = DigestWindows::new(COPY, 0, &DigestKey::Sign(SIGNING));
    let window = windows.next(&lane, 0, 0, &whole).unwrap();
    let signed = windows.sign_end(StreamEnd { blocks: 3, last_length: 5 }).unwrap();

    // It passes on a block, and says that there are no more.
    let relay = node.link(1, 7);
    relay.send(Kind::Digests, 0, &window.bytes);
    relay.send(Kind::Block, 0, &blocks()[0]);
    relay.send(Kind::End, 1, &[]);
    let reason = node.lost(7);
    assert!(reason.contains("without a valid signature of the copy's source"), "{reason}");

    // It says so by a signature of its own, or by that of the source with another number.
    let own = DigestWindows::new(COPY, 0, &DigestKey::Sign(Secret([4; 32])));
    let own = own.sign_end(StreamEnd { blocks: 1, last_length: 4096 }).unwrap();
    for (epoch, bytes) in [(8, own.to_bytes()), (9, signed.to_bytes())] {
        let relay = node.link(1, epoch);
        relay.send(Kind::SourceEnd, 1, &bytes);
        let reason = node.lost(epoch);
        assert!(reason.contains("without a valid signature"), "{epoch}: {reason}");
    }

    // It shortens a block, which would become the last one.
    let relay = node.link(1, 10);
    relay.send(Kind::Block, 1, &blocks()[1][..9]);
    assert_eq!(node.lost(10), "its upstream sent an unexpected frame");

    // Nothing of that stays: the stream is whole by way of another node.
    let honest = node.link(3, 11);
    honest.send(Kind::Block, 1, &blocks()[1]);
    honest.send(Kind::SourceEnd, 3, &signed.to_bytes());
    honest.send(Kind::Block, 2, &blocks()[2]);
    honest.send(Kind::End, 3, &[]);
    whole.end_at(3).unwrap();
    let root = node.await_notice(|notice| match notice {
        Notice::Complete(root) => Some(*root),
        _ => None,
    });
    assert_eq!(Some(root), whole.root());
    node.end();
}
