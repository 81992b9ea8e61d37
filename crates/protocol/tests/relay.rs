//! Rules of the relay machine.

use std::net::SocketAddr;

use garland_core::plan::{LaneBlocks, Layout, NodeId};
use garland_protocol::copy::LinkSide::{Down, Up};
use garland_protocol::copy::{
    Downstream, FRAME_LEN, Kind, Landing, Relay, RelayEvent as Event, RelayOrder as Order, Route,
    Sink, Store,
};

const CONTENT: [u8; 32] = [4; 32];

/// The length of a block on the wire, in most tests: that of the layout.
const BLOCK: u64 = 4 << 20;

/// The epoch of the downstream link in most tests.
const DOWN: u32 = 2;

/// A relay of a lane of eight blocks, and its sink.
struct Middle {
    relay: Relay,
    sink: Sink,
}

fn down_to(node: u32, epoch: u32) -> Downstream {
    let address = Some(SocketAddr::from(([127, 0, 0, 1], 1)));
    Downstream { node: NodeId(node), epoch, address, side_fed: false }
}

fn route(up: Option<u32>, down: Option<u32>) -> Event {
    Event::Route(Route {
        lane: 0,
        upstream: up.map(|epoch| (NodeId(1), epoch, None)),
        downstreams: down.into_iter().map(|epoch| down_to(3, epoch)).collect(),
        secrets: Vec::new(),
    })
}

fn stored() -> Event {
    Event::Received { stored: true }
}

fn receive(index: u64, store: Store, forward: bool) -> Order {
    let forward = if forward { vec![DOWN] } else { Vec::new() };
    Order::Receive { index, store, forward }
}

fn void(index: u64) -> Order {
    Order::SendDown(DOWN, Kind::Void, index)
}

fn again(index: u64) -> Order {
    Order::SendUp(Kind::Again, index)
}

impl Middle {
    fn new(is_head: bool) -> Self {
        let layout = Layout::new(8 * 4096, 4096).unwrap();
        let sink = if is_head { Sink::source(layout) } else { Sink::new(layout, true) };
        Self { relay: Relay::new(LaneBlocks { first: 0, run: 1, step: 1, end: 8 }, is_head), sink }
    }

    /// The head of a lane of this many blocks of 4 MiB.
    fn source(blocks: u64) -> Self {
        let layout = Layout::new(blocks * BLOCK, BLOCK as u32).unwrap();
        let lane = LaneBlocks { first: 0, run: 1, step: 1, end: blocks };
        Self { relay: Relay::new(lane, true), sink: Sink::source(layout) }
    }

    /// A relay whose upstream and downstream are open; the downstream is at the lane's start.
    fn open() -> Self {
        let mut middle = Self::new(false);
        assert_eq!(middle.after(route(Some(1), Some(2))), [Order::Open(Down, NodeId(3), 2)]);
        assert_eq!(middle.after(Event::Opened(Up, 1)), [Order::SendUp(Kind::Resume, 0)]);
        middle.after(Event::Opened(Down, 2));
        assert!(!middle.may_read(), "nothing is read before the downstream is ready");
        middle.after(Event::Requested(DOWN, Kind::Resume, 0));
        assert!(middle.may_read());
        middle
    }

    fn after(&mut self, event: Event) -> Vec<Order> {
        if let Event::Landed(index, landing) = event {
            self.sink.landed(index, landing);
        }
        self.relay.handle(event, &mut self.sink);
        std::iter::from_fn(|| self.relay.poll(&self.sink)).collect()
    }

    fn may_read(&self) -> bool {
        self.relay.may_read(&self.sink)
    }

    /// A block arrives, is forwarded and stored, and lands.
    fn pass(&mut self, index: u64, landing: Landing) -> Vec<Order> {
        let mut orders = self.after(Event::Block(index, CONTENT));
        assert_eq!(orders.pop(), Some(receive(index, Store::Yes, true)));
        orders.extend(self.after(stored()));
        orders.extend(self.after(Event::Landed(index, landing)));
        orders
    }
}

/// The order to feed a block in the lane's order on one link.
fn feed(index: u64, incarnation: u64, link: u32) -> Order {
    Order::Feed { index, incarnation, again: false, to: vec![link] }
}

#[test]
fn blocks_are_forwarded_while_they_arrive() {
    let mut middle = Middle::open();
    for index in 0..8 {
        assert_eq!(middle.pass(index, Landing::Written), []);
        assert_eq!(middle.relay.received(), index + 1);
    }
    assert_eq!(middle.after(Event::End(8)), [Order::SendDown(DOWN, Kind::End, 8)]);
    assert!(middle.sink.is_complete());
}

#[test]
fn the_head_feeds_and_a_lost_downstream_ends_a_feed() {
    let mut head = Middle::new(true);
    head.after(route(None, Some(1)));
    head.after(Event::Opened(Down, 1));
    let feed_on = |index, link: u32| feed(index, link.into(), link);
    assert_eq!(head.after(Event::Requested(1, Kind::Resume, 0)), [feed_on(0, 1)]);
    assert_eq!(head.after(Event::Fed(BLOCK)), [feed_on(1, 1)]);
    let lost = Order::ReportLost(Down, 1, "gone".to_owned());
    assert_eq!(head.after(Event::Lost(Down, 1, "gone".to_owned())), [lost]);
    // Another link never carries blocks that were sealed with the first link's key.
    let orders = head.after(route(None, Some(2)));
    assert_eq!(orders, [Order::Close(Down, 1), Order::Open(Down, NodeId(3), 2)]);
    head.after(Event::Opened(Down, 2));
    assert_eq!(head.after(Event::Requested(2, Kind::Resume, 1)), [feed_on(1, 2)]);
}

/// Links the node 3 to the head of a lane, lets it ask for the blocks from `place` on, as repairs
/// of `repairs`, too, and feeds it until it waits. Returns the reason if it is refused.
fn ask_head(
    head: &mut Middle,
    epoch: u32,
    place: u64,
    repairs: std::ops::Range<u64>,
) -> Option<String> {
    head.after(route(None, Some(epoch)));
    head.after(Event::Opened(Down, epoch));
    let mut orders = head.after(Event::Requested(epoch, Kind::Resume, place));
    for index in repairs {
        orders.extend(head.after(Event::Requested(epoch, Kind::Again, index)));
    }
    while orders.iter().any(|order| matches!(order, Order::Feed { .. })) {
        orders = head.after(Event::Fed(BLOCK));
    }
    orders.into_iter().find_map(|order| match order {
        Order::ReportLost(Down, lost, reason) if lost == epoch => Some(reason),
        _ => None,
    })
}

#[test]
fn a_node_that_asks_for_the_first_block_again_and_again_is_not_served_for_ever() {
    for repairs in [0..0, 0..8, 3..8] {
        let mut head = Middle::source(8);
        // It is sent 66 blocks a second time: those of eight links.
        let ask = |epoch| Some((epoch, ask_head(&mut head, epoch, 0, repairs.clone())?));
        let (epoch, reason) = (1..100).find_map(ask).expect("in the end");
        assert!((10..=12).contains(&epoch), "{repairs:?}: {epoch}");
        assert_eq!(reason, "protocol error: it asks again for more blocks than it can have lost");
        let lacks = ask_head(&mut head, epoch + 1, 8, 0..0);
        assert_eq!(lacks, None, "what it lacks it may ask for");
    }
}

#[test]
fn a_node_that_requests_one_block_again_and_again_is_not_served_for_ever() {
    let mut head = Middle::source(8);
    assert_eq!(ask_head(&mut head, 1, 0, 0..0), None);
    let refused = (1..1000).find(|_| {
        let mut orders = head.after(Event::Requested(1, Kind::Again, 0));
        orders.extend(head.after(Event::Fed(BLOCK)));
        orders.iter().any(|order| matches!(order, Order::ReportLost(Down, 1, _)))
    });
    // Each block once, and 256 MiB.
    assert_eq!(refused, Some(8 + 64 + 1));
}

#[test]
fn blocks_that_cost_nothing_on_the_wire_may_be_sent_again_and_again() {
    let mut head = Middle::source(100_000);
    for epoch in 1..100 {
        head.after(route(None, Some(epoch)));
        head.after(Event::Opened(Down, epoch));
        head.after(Event::Requested(epoch, Kind::Resume, 0));
        // The headers of holes are in the buffers of sockets when the link breaks.
        for _ in 0..1000 {
            let orders = head.after(Event::Fed(FRAME_LEN as u64));
            assert!(matches!(orders[..], [Order::Feed { .. }]), "link {epoch}: {orders:?}");
        }
        head.after(Event::Lost(Down, epoch, "gone".to_owned()));
    }
}

#[test]
fn a_node_whose_link_breaks_again_and_again_gets_what_was_in_flight() {
    let blocks = 100_000;
    let mut head = Middle::source(blocks);
    let mut place = 0;
    let mut epoch = 0;
    while place + 500 < blocks {
        epoch += 1;
        head.after(route(None, Some(epoch)));
        head.after(Event::Opened(Down, epoch));
        let orders = head.after(Event::Requested(epoch, Kind::Resume, place));
        assert!(matches!(orders[..], [Order::Feed { .. }]), "link {epoch}: {orders:?}");
        (0..500).for_each(|_| drop(head.after(Event::Fed(BLOCK))));
        head.after(Event::Lost(Down, epoch, "gone".to_owned()));
        // A fifth of it was on the way when the link broke.
        place += 400;
    }
    assert!(epoch > 200, "{epoch} links");
}

#[test]
fn requested_blocks_are_sealed_with_a_new_key() {
    let mut head = Middle::new(true);
    head.after(route(None, Some(1)));
    head.after(Event::Opened(Down, 1));
    head.after(Event::Requested(1, Kind::Resume, 8));
    let orders = head.after(Event::Requested(1, Kind::Again, 3));
    assert_eq!(orders, [Order::Feed { index: 3, incarnation: 2, again: true, to: vec![1] }]);
    assert_eq!(
        head.after(Event::Fed(BLOCK)),
        [Order::SendDown(1, Kind::End, 8)],
        "a frame follows"
    );
}

#[test]
fn repairs_do_not_change_the_lanes_key() {
    let mut head = Middle::new(true);
    head.after(route(None, Some(1)));
    head.after(Event::Opened(Down, 1));
    assert_eq!(head.after(Event::Requested(1, Kind::Resume, 2)), [feed(2, 1, 1)]);
    head.after(Event::Requested(1, Kind::Again, 0));
    let again = Order::Feed { index: 0, incarnation: 2, again: true, to: vec![1] };
    assert_eq!(head.after(Event::Fed(BLOCK)), [again]);
    assert_eq!(
        head.after(Event::Fed(BLOCK)),
        [feed(3, 1, 1)],
        "blocks sealed in advance can still be sent"
    );
    head.after(Event::Requested(1, Kind::Again, 0));
    let again = Order::Feed { index: 0, incarnation: 3, again: true, to: vec![1] };
    assert_eq!(head.after(Event::Fed(BLOCK)), [again], "each repair has a key of its own");
}

/// A source that feeds two downstreams, from the lane's start.
fn two_downstreams() -> Middle {
    let mut head = Middle::new(true);
    let Event::Route(mut both) = route(None, Some(1)) else { unreachable!() };
    both.downstreams.push(down_to(4, 2));
    head.after(Event::Route(both));
    for epoch in [1, 2] {
        head.after(Event::Opened(Down, epoch));
    }
    head
}

#[test]
fn a_downstream_that_requests_blocks_without_end_holds_up_nobody() {
    let mut head = two_downstreams();
    head.after(Event::Requested(1, Kind::Resume, 8));
    let mut orders = head.after(Event::Requested(2, Kind::Resume, 0));
    let mut told = [0, 0];
    let mut round = 0;
    // The other one has all blocks of the lane after twice as many.
    while told[1] < 8 {
        let [Order::Feed { index, again, to, .. }] = &orders[..] else { panic!("{orders:?}") };
        let is_other = to == &[2];
        assert_eq!(*again, !is_other);
        if is_other {
            assert_eq!(*index, told[1]);
        }
        told[usize::from(is_other)] += 1;
        round += 1;
        assert!(round <= 17, "{told:?}");
        for index in 0..4 {
            assert_eq!(head.after(Event::Requested(1, Kind::Again, index)), []);
        }
        orders = head.after(Event::Fed(BLOCK));
    }
    // Two that do so take turns.
    let mut served = Vec::new();
    for _ in 0..6 {
        for epoch in [1, 2] {
            for index in 0..2 {
                head.after(Event::Requested(epoch, Kind::Again, index));
            }
        }
        let [Order::Feed { again: true, to, .. }] = &head.after(Event::Fed(BLOCK))[..] else {
            panic!("both have requested blocks")
        };
        served.extend(to.clone());
    }
    assert!([[1, 2, 1, 2, 1, 2], [2, 1, 2, 1, 2, 1]].contains(&served[..].try_into().unwrap()));
}

#[test]
fn a_repeated_resume_costs_the_link_and_feeds_nothing_twice() {
    let mut head = Middle::new(true);
    head.after(route(None, Some(1)));
    head.after(Event::Opened(Down, 1));
    assert_eq!(head.after(Event::Requested(1, Kind::Resume, 0)), [feed(0, 1, 1)]);
    head.after(Event::Fed(BLOCK));
    let orders = head.after(Event::Requested(1, Kind::Resume, 0));
    let reason = "protocol error: second Resume on one link".to_owned();
    assert_eq!(orders, [Order::Close(Down, 1), Order::ReportLost(Down, 1, reason)]);
    assert_eq!(head.after(Event::Requested(1, Kind::Again, 0)), [], "the link is over");
}

#[test]
fn a_downstream_that_never_resumes_costs_its_own_link() {
    let mut middle = Middle::new(false);
    let Event::Route(mut both) = route(Some(1), Some(2)) else { panic!("it is a route") };
    both.downstreams.push(down_to(4, 3));
    middle.after(Event::Route(both));
    middle.after(Event::Opened(Up, 1));
    assert!(!middle.relay.awaits_resume(3), "the link is not open yet");
    for epoch in [2, 3] {
        middle.after(Event::Opened(Down, epoch));
    }
    middle.after(Event::Requested(2, Kind::Resume, 0));
    assert_eq!([2, 3].map(|epoch| middle.relay.awaits_resume(epoch)), [false, true]);
    assert_eq!(middle.after(Event::Overdue(2)), [], "it has resumed");
    let reason = "its other end asked for no blocks for 5 s".to_owned();
    let lost = [Order::Close(Down, 3), Order::ReportLost(Down, 3, reason)];
    assert_eq!(middle.after(Event::Overdue(3)), lost);
    assert_eq!(middle.after(Event::Overdue(3)), [], "it is reported once");
    // The head gives the node another feeder: the other downstream goes on.
    assert!(!middle.may_read());
    middle.after(route(Some(1), Some(2)));
    assert!(middle.may_read());
}

#[test]
fn who_sends_frames_without_end_before_resume_costs_its_own_link() {
    for (frames, told) in [
        (vec![Event::Requested(2, Kind::Again, 0)], "a request before Resume"),
        (
            vec![Event::Have(2, 0, [0; 32]), Event::Have(2, 0, [0; 32])],
            "more reports of blocks than there are blocks",
        ),
    ] {
        let mut middle = Middle::new(false);
        middle.after(route(Some(1), Some(2)));
        middle.after(Event::Opened(Up, 1));
        middle.after(Event::Opened(Down, 2));
        let orders: Vec<_> = frames.into_iter().flat_map(|frame| middle.after(frame)).collect();
        let reason = format!("protocol error: {told}");
        assert_eq!(orders, [Order::Close(Down, 2), Order::ReportLost(Down, 2, reason)]);
    }
}

#[test]
fn side_links_never_share_a_key_however_often_they_repair() {
    let newest = |epoch: u32, repairs: u64| {
        let mut middle = Middle::new(true);
        middle.relay = Relay::side_feed(LaneBlocks { first: 0, run: 1, step: 1, end: 8 }, epoch);
        middle.after(route(None, Some(epoch)));
        middle.after(Event::Opened(Down, epoch));
        middle.after(Event::Requested(epoch, Kind::Resume, 8));
        let mut last = 0;
        for _ in 0..repairs {
            let orders = middle.after(Event::Requested(epoch, Kind::Again, 3));
            let [Order::Feed { incarnation, .. }] = orders[..] else { panic!("{orders:?}") };
            assert!(incarnation > last);
            last = incarnation;
            middle.after(Event::Fed(BLOCK));
        }
        last
    };
    assert!(newest(5, 5000) < newest(6, 1), "the next link's keys begin behind all of these");
}

#[test]
fn a_changed_block_is_reported_at_the_next_block_and_requested_again() {
    let mut middle = Middle::open();
    assert_eq!(middle.pass(0, Landing::Changed), [], "it may have been cut off");
    let orders = middle.after(Event::Block(1, CONTENT));
    assert_eq!(orders, [Order::ReportBad(0), receive(1, Store::Yes, true)]);
    assert_eq!(middle.after(stored()), [again(0)]);
    // The downstream finds the same fault, and requests the block, which is forwarded while it
    // arrives.
    middle.after(Event::Requested(DOWN, Kind::Again, 0));
    assert_eq!(middle.after(Event::Block(0, CONTENT)), [receive(0, Store::Yes, true)]);
}

#[test]
fn what_was_not_sent_is_not_sent_again() {
    let mut head = Middle::source(8);
    head.after(route(None, Some(DOWN)));
    head.after(Event::Opened(Down, DOWN));
    let orders = head.after(Event::Requested(DOWN, Kind::Resume, 0));
    assert_eq!(orders, [feed(0, 1, DOWN)]);
    assert_eq!(head.after(Event::Requested(DOWN, Kind::Again, 7)), []);
    assert_eq!(head.after(Event::Fed(BLOCK)), [feed(1, 1, DOWN)], "the lane's order goes on");
    assert_eq!(head.after(Event::Requested(DOWN, Kind::Again, 0)), []);
    let orders = head.after(Event::Fed(BLOCK));
    let is_again = |order: &Order| matches!(order, Order::Feed { index: 0, again: true, .. });
    assert!(orders.iter().any(is_again), "{orders:?}");
}

#[test]
fn a_void_block_is_no_fault_and_is_declared_void_downstream() {
    let mut middle = Middle::open();
    assert_eq!(middle.pass(0, Landing::Changed), []);
    assert_eq!(middle.after(Event::Void(0)), [void(0)]);
    assert_eq!(middle.relay.received(), 0, "the stream goes on with it");
    assert_eq!(middle.pass(0, Landing::Written), []);
}

#[test]
fn a_repaired_block_does_not_settle_blocks_that_may_be_void() {
    let mut middle = Middle::open();
    middle.pass(0, Landing::Changed);
    middle.after(Event::Block(1, CONTENT));
    middle.after(stored());
    // Block 0 arrives again before the upstream knows that block 1 was cut off.
    middle.after(Event::Landed(1, Landing::Changed));
    assert_eq!(middle.after(Event::Block(0, CONTENT)), [receive(0, Store::Yes, false)]);
    assert_eq!(middle.after(stored()), []);
    assert_eq!(middle.after(Event::Void(1)), [void(1)]);
}

#[test]
fn the_rest_of_a_cut_off_block_is_declared_void() {
    let mut middle = Middle::open();
    assert_eq!(middle.after(Event::Block(0, CONTENT)), [receive(0, Store::Yes, true)]);
    assert_eq!(middle.after(Event::CutOff), [void(0)]);
    assert!(middle.sink.wants(0));
    assert_eq!(
        middle.after(Event::Lost(Up, 1, "gone".to_owned())),
        [Order::ReportLost(Up, 1, "gone".to_owned())]
    );
    assert_eq!(middle.after(route(Some(5), Some(2))), []);
    assert_eq!(middle.after(Event::Opened(Up, 5)), [Order::SendUp(Kind::Resume, 0)]);
}

#[test]
fn a_lost_upstream_leaves_its_last_block_in_doubt() {
    let mut middle = Middle::open();
    middle.after(Event::Block(0, CONTENT));
    middle.after(stored());
    assert_eq!(middle.after(route(Some(5), Some(2))), [Order::Close(Up, 1)]);
    assert_eq!(middle.after(Event::Opened(Up, 5)), [Order::SendUp(Kind::Resume, 1)]);
    assert!(!middle.may_read(), "until it has landed");
    // No fault is reported, the downstream is told, and the block is requested again.
    assert_eq!(middle.after(Event::Landed(0, Landing::Changed)), [void(0), again(0)]);
    assert!(middle.may_read());
}

#[test]
fn a_new_downstream_gets_missing_blocks_from_this_nodes_sink() {
    let mut middle = Middle::open();
    (0..3).for_each(|index| assert_eq!(middle.pass(index, Landing::Written), []));
    middle.after(Event::Block(3, CONTENT));
    middle.after(stored());
    middle.after(route(Some(1), Some(9)));
    middle.after(Event::Opened(Down, 9));
    let feed_on = |index| feed(index, 2, 9);
    assert_eq!(middle.after(Event::Requested(9, Kind::Resume, 2)), [feed_on(2)]);
    assert_eq!(middle.after(Event::Fed(BLOCK)), []);
    assert!(!middle.may_read(), "block 3 has to land and be fed before block 4 may come");
    assert_eq!(middle.after(Event::Landed(3, Landing::Written)), [feed_on(3)]);
    assert_eq!(middle.after(Event::Fed(BLOCK)), []);
    assert!(middle.may_read());
}

#[test]
fn a_detached_node_fetches_dropped_blocks_at_its_own_rate() {
    let mut middle = Middle::new(false);
    middle.after(route(Some(1), None));
    middle.after(Event::Opened(Up, 1));
    middle.after(Event::Detached);
    for index in 0..8 {
        let orders = middle.after(Event::Block(index, CONTENT));
        assert_eq!(orders, [receive(index, Store::IfRoom, false)]);
        assert_eq!(middle.after(Event::Received { stored: false }), [], "not while it streams");
    }
    assert_eq!(middle.after(Event::End(8)), (0..4).map(again).collect::<Vec<_>>());
    middle.after(Event::Block(0, CONTENT));
    assert_eq!(middle.after(stored()), []);
    assert_eq!(middle.after(Event::Landed(0, Landing::Written)), [again(4)]);
}

#[test]
fn a_relay_waits_for_its_upstream_and_then_for_its_writer() {
    let mut middle = Middle::open();
    for index in 0..8 {
        assert!(middle.relay.is_owed() && !middle.relay.is_behind_writer(&middle.sink));
        middle.after(Event::Block(index, CONTENT));
        middle.after(stored());
    }
    middle.after(Event::End(8));
    for index in 0..8 {
        assert!(!middle.relay.is_owed() && middle.relay.is_behind_writer(&middle.sink));
        middle.after(Event::Landed(index, Landing::Written));
    }
    assert!(!middle.relay.is_behind_writer(&middle.sink), "all is written");
}

/// A relay with two downstreams, on links 2 and 3, both at the lane's start.
fn forked() -> Middle {
    let mut middle = Middle::new(false);
    let Event::Route(mut both) = route(Some(1), Some(2)) else { panic!("it is a route") };
    both.downstreams.push(down_to(4, 3));
    let opened = [Order::Open(Down, NodeId(3), 2), Order::Open(Down, NodeId(4), 3)];
    assert_eq!(middle.after(Event::Route(both)), opened);
    middle.after(Event::Opened(Up, 1));
    for epoch in [2, 3] {
        assert!(!middle.may_read(), "not before all can take it");
        middle.after(Event::Opened(Down, epoch));
        middle.after(Event::Requested(epoch, Kind::Resume, 0));
    }
    assert!(middle.may_read());
    middle
}

#[test]
fn a_block_is_forwarded_to_all_downstreams_at_once() {
    let mut middle = forked();
    for index in 0..8 {
        let to_both = Order::Receive { index, store: Store::Yes, forward: vec![2, 3] };
        assert_eq!(middle.after(Event::Block(index, CONTENT)), [to_both]);
        middle.after(stored());
        middle.after(Event::Landed(index, Landing::Written));
    }
    let ends = [2, 3].map(|epoch| Order::SendDown(epoch, Kind::End, 8));
    assert_eq!(middle.after(Event::End(8)), ends);
    assert!(middle.relay.is_down_over(2) && middle.relay.is_down_over(3));
}

#[test]
fn a_late_downstream_is_fed_alone_until_it_is_as_far_as_the_other() {
    let mut middle = forked();
    let both = vec![2, 3];
    for index in 0..2 {
        middle.after(Event::Block(index, CONTENT));
        middle.after(stored());
        middle.after(Event::Landed(index, Landing::Written));
    }
    let Event::Route(mut next) = route(Some(1), Some(2)) else { panic!("it is a route") };
    next.downstreams.push(down_to(5, 7));
    let orders = middle.after(Event::Route(next));
    assert_eq!(orders, [Order::Close(Down, 3), Order::Open(Down, NodeId(5), 7)]);
    middle.after(Event::Opened(Down, 7));
    let feed_on = |index| feed(index, 3, 7);
    assert_eq!(middle.after(Event::Requested(7, Kind::Resume, 0)), [feed_on(0)]);
    assert_eq!(middle.after(Event::Fed(BLOCK)), [feed_on(1)]);
    assert_eq!(middle.after(Event::Fed(BLOCK)), []);
    let forward = both.into_iter().map(|epoch| if epoch == 3 { 7 } else { epoch }).collect();
    let to_both = Order::Receive { index: 2, store: Store::Yes, forward };
    assert_eq!(middle.after(Event::Block(2, CONTENT)), [to_both]);
    // A truncated block is void for both downstreams.
    let voids = [2, 7].map(|epoch| Order::SendDown(epoch, Kind::Void, 2));
    assert_eq!(middle.after(Event::CutOff), voids);
}

/// A stream of at most eight blocks.
fn stream() -> Layout {
    Layout { length: 8 * 4096, block_size: 4096, open: true }
}

#[test]
fn the_end_of_a_stream_that_has_as_many_blocks_as_there_can_be_is_looked_for() {
    // Also on the side; and a lane whose last block comes earlier.
    let all = LaneBlocks { first: 0, run: 1, step: 1, end: 8 };
    let half = LaneBlocks { step: 2, ..all };
    for relay in [Relay::new(all, true), Relay::side_feed(all, 1), Relay::new(half, true)] {
        let mut head = Middle { relay, sink: Sink::source(stream()) };
        head.after(route(None, Some(1)));
        head.after(Event::Opened(Down, 1));
        let orders = head.after(Event::Requested(1, Kind::Resume, 8));
        let [Order::Feed { index: 8, again: false, to, .. }] = &orders[..] else {
            panic!("the end is not known: {orders:?}");
        };
        assert_eq!(to, &[1]);
        assert_eq!(head.after(Event::NotYet), orders, "it may come later");
        assert_eq!(head.after(Event::Ended(8)), [Order::SendDown(1, Kind::End, 8)]);
        assert!(head.sink.wanted() == Some(8) && head.relay.is_down_over(1));
    }
}

#[test]
fn a_node_learns_the_end_of_a_stream_that_has_as_many_blocks_as_there_can_be() {
    let mut middle = Middle { sink: Sink::new(stream(), true), ..Middle::new(false) };
    middle.after(route(Some(1), None));
    middle.after(Event::Opened(Up, 1));
    for index in 0..8 {
        middle.after(Event::Block(index, CONTENT));
        middle.after(stored());
        middle.after(Event::Landed(index, Landing::Written));
    }
    assert!(!middle.sink.is_complete(), "there might be more");
    assert_eq!(middle.after(Event::End(8)), []);
    assert!(middle.sink.is_complete());
}

#[test]
fn a_side_feed_waits_for_blocks_that_are_not_held_yet() {
    let mut middle = Middle::new(false);
    middle.relay = Relay::side_feed(LaneBlocks { first: 0, run: 1, step: 1, end: 8 }, 5);
    middle.after(route(None, Some(5)));
    middle.after(Event::Opened(Down, 5));
    assert_eq!(middle.after(Event::Requested(5, Kind::Resume, 0)), [], "nothing is held");
    middle.sink.take(0, CONTENT).unwrap();
    middle.sink.landed(0, Landing::Written);
    let order = middle.relay.poll(&middle.sink);
    let Some(Order::Feed { index: 0, incarnation, again: false, to }) = order else {
        panic!("what has landed is fed: {order:?}");
    };
    assert!(incarnation > 1 << 63, "the lane itself uses other keys: {incarnation}");
    assert_eq!(to, [5]);
    assert_eq!(middle.after(Event::Fed(BLOCK)), [], "block 1 is waited for, not skipped");
}
