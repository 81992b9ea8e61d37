use std::io::Write;
use std::sync::mpsc::{self, Receiver};

use garland_core::plan::{Layout, NodeId};
use garland_protocol::{
    CopyId, DigestKey, DigestWindows, Frame, Keys, Kind, LinkSide, Secret, Sink, StreamEnd,
    content_digest,
};
use garland_sys::mptcp::Transport;
use garland_sys::socket::{TcpStream, pair};

use super::*;
use crate::compress::Packing;
use crate::context::{CopyConfig, LaneCommand, Notice};
use crate::stall::Faults;
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
    member: Arc<CopyContext>,
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
        let layout = Layout::open_ended(4096).unwrap();
        let (tell, notices) = mpsc::channel();
        let config = CopyConfig {
            copy: COPY,
            me: NodeId(2),
            secret: SECRET,
            digest_key: DigestKey::Sign(SIGNING).to_public(),
            sealed: false,
            is_source: false,
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
        let member = Arc::new(CopyContext::new(config, Sink::new(layout, false)));
        let all = [LaneBlocks::all(layout.blocks())];
        let threads = start(&member, &all, |_| true, None).unwrap();
        Self { member, threads, notices }
    }

    /// Links the node to an upstream with this number and epoch.
    fn link(&self, node: u32, epoch: u32) -> Upstream {
        let upstream = Some((NodeId(node), epoch, None));
        self.member.route(Route { lane: 0, upstream, downstreams: Vec::new() });
        let (near, far) = pair().unwrap();
        let lane = self.member.lane(0).expect("it is on this lane");
        lane.post(LaneCommand::Link(LinkSide::Up, epoch, near));
        Upstream { stream: far, keys: Keys::new(&SECRET, COPY) }
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
        self.member.close();
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

#[test]
fn a_relay_cuts_no_stream_by_a_false_end_or_a_short_block() {
    let node = Node::start();
    let layout = node.member.layout;
    let mut source = Sink::source(layout);
    for (index, block) in (0..).zip(blocks()) {
        source.learn(index, content_digest(&block)).unwrap();
    }
    let lane = LaneBlocks::all(layout.blocks());
    let mut windows = DigestWindows::new(COPY, 0, &DigestKey::Sign(SIGNING));
    let window = windows.next(&lane, 0, 0, &source).unwrap();
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
    source.end_at(3).unwrap();
    let root = node.await_notice(|notice| match notice {
        Notice::Complete(root) => Some(*root),
        _ => None,
    });
    assert_eq!(Some(root), source.root());
    node.end();
}
