//! Rails of the head machine: one that fails or is slow leaves its share to the others.

use std::net::SocketAddr;

use garland_core::plan::{HEAD, Layout, NodeId, Plan};
use garland_protocol::FromAgent;
use garland_protocol::copy::{
    CopyId, Head, HeadEvent as Event, LaneReport, LinkSide, Policy, Report,
};

const COPY: CopyId = CopyId([7; 16]);
const SECOND: u64 = 1_000_000_000;

/// The number of blocks of each of the two lanes.
const BLOCKS: u64 = 50;

/// A head of a copy to two nodes with `rails` addresses each; node n has port 100 n + r on rail r.
fn head_for(rails: u16, policy: Policy) -> Head {
    let names = ["n1".to_owned(), "n2".to_owned()];
    let layout = Layout::new(2 * BLOCKS * 4096, 4096).expect("it can be");
    let plan = Plan::broadcast(layout, &names, 2).expect("there are nodes");
    let address = |node: u16, rail| SocketAddr::from(([127, 0, 0, 1], 100 * node + rail));
    let addresses = |node| (0..rails).map(|rail| address(node, rail)).collect();
    let addresses = (0..3).map(addresses).collect();
    let mut head = Head::new(COPY, &plan, addresses, policy, 0);
    head.handle(0, Event::Begin);
    head
}

/// Returns the ports at which feeders reach the nodes of a lane, and the links' epochs.
fn ports(head: &Head, lane: usize) -> Vec<(u16, u32)> {
    let of = |node| head.routes(node)[lane].downstreams.clone();
    let hops = [HEAD, NodeId(1)].into_iter().flat_map(of);
    hops.map(|down| (down.address.map_or(0, |a| a.port()), down.epoch)).collect()
}

fn only_ports(head: &Head, lane: usize) -> Vec<u16> {
    ports(head, lane).into_iter().map(|(port, _)| port).collect()
}

/// Both nodes report that this many blocks have arrived on each lane.
fn report(head: &mut Head, now: u64, received: [u64; 2]) {
    for node in [1, 2].map(NodeId) {
        let lanes =
            received.map(|received| LaneReport { received, hop: None, untaken: None }).to_vec();
        let report = Report { lanes, ..Report::default() };
        head.handle(now, Event::From(node, FromAgent::Heartbeat(vec![(COPY, report)])));
    }
}

#[test]
fn a_link_that_breaks_goes_over_the_next_rail() {
    let mut head = head_for(2, Policy::for_nodes(2));
    assert_eq!(only_ports(&head, 1), [101, 201]);
    for (try_number, port) in [(1, 200), (2, 201), (3, 200)] {
        let (_, epoch) = ports(&head, 1)[1];
        let lane = 1;
        let side = LinkSide::Down;
        let reason = "no route to host".to_owned();
        let lost = FromAgent::LinkLost { copy: COPY, lane, epoch, side, reason };
        let now = try_number * SECOND;
        head.handle(now, Event::From(NodeId(1), lost));
        report(&mut head, now + SECOND / 2, [1, 1]);
        head.handle(now + SECOND / 2, Event::Tick);
        assert_eq!(only_ports(&head, 1), [101, port], "try {try_number}");
        assert_eq!(only_ports(&head, 0), [100, 200], "the other lane stays");
    }
}

#[test]
fn a_lane_on_a_slow_rail_moves_to_the_one_that_is_free() {
    let mut head = head_for(2, Policy::for_nodes(2));
    report(&mut head, SECOND, [1, 1]);
    report(&mut head, 4 * SECOND, [40, 4]);
    assert_eq!(only_ports(&head, 1), [101, 201], "both are under way");
    let before = ports(&head, 1);
    report(&mut head, 5 * SECOND, [BLOCKS, 5]);
    assert_eq!(only_ports(&head, 1), [100, 200]);
    for ((_, old), (_, new)) in before.iter().zip(ports(&head, 1)) {
        assert!(new > *old, "its links are new ones");
    }
    let moved = ports(&head, 1);
    report(&mut head, 6 * SECOND, [BLOCKS, 6]);
    assert_eq!(ports(&head, 1), moved, "it moves once");
}

#[test]
fn a_lane_that_is_nearly_done_stays() {
    let mut head = head_for(2, Policy::for_nodes(2));
    report(&mut head, SECOND, [1, 1]);
    report(&mut head, 5 * SECOND, [BLOCKS, BLOCKS - 3]);
    assert_eq!(only_ports(&head, 1), [101, 201]);
}

#[test]
fn lanes_move_only_with_several_rails_and_if_all_nodes_get_everything() {
    let mut one = head_for(1, Policy::for_nodes(2));
    let mut together = head_for(2, Policy::for_nodes(2).together());
    for head in [&mut one, &mut together] {
        let before = ports(head, 1);
        report(head, SECOND, [1, 1]);
        report(head, 5 * SECOND, [BLOCKS, 5]);
        assert_eq!(ports(head, 1), before);
    }
}
