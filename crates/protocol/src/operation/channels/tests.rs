//! Tests of channels that break, are silent, and are dialled again.

use super::*;

const SILENCE_MAX_NS: u64 = 1_000_000_000;
const A: NodeId = NodeId(1);
const B: NodeId = NodeId(2);

fn new() -> Channels {
    Channels::new(SILENCE_MAX_NS, "it is gone".to_owned())
}

/// The time at which open channels are looked at.
struct OpenChannels(u64);

impl OpenChannels {
    /// Returns the nodes whose channels are dialled at the next look.
    fn due(&mut self, channels: &mut Channels, states: &[ChannelState]) -> Vec<NodeId> {
        self.0 += LOOK_NS;
        channels.due(self.0, || states.to_vec()).iter().map(|it| it.node).collect()
    }
}

fn silent(node: NodeId) -> ChannelState {
    ChannelState { node, is_broken: false, silent_ns: SILENCE_MAX_NS + 1 }
}

#[test]
fn a_channel_that_broke_is_dialled_and_its_agent_lost_if_nobody_answers() {
    let mut channels = new();
    assert!(channels.broke(A, "reset".to_owned()));
    channels.began(A);
    assert!(!channels.broke(A, "again".to_owned()), "it is being dialled");
    assert_eq!(channels.dialled(A, DialEnd::NoAnswer), ChannelFate::Lost("reset".to_owned()));
    assert!(channels.broke(A, "reset".to_owned()));
    channels.began(A);
    assert_eq!(channels.dialled(A, DialEnd::Accepted), ChannelFate::Continues);
    assert!(channels.broke(A, "reset".to_owned()));
    channels.began(A);
    assert_eq!(channels.dialled(A, DialEnd::Over), ChannelFate::Lost("it is gone".to_owned()));
}

#[test]
fn a_channel_that_is_only_silent_stays_if_nobody_answers() {
    let mut channels = new();
    let mut open = OpenChannels(0);
    let quick = ChannelState { node: B, is_broken: false, silent_ns: SILENCE_MAX_NS };
    assert_eq!(open.due(&mut channels, &[silent(A), quick]), [A]);
    channels.began(A);
    assert!(open.due(&mut channels, &[silent(A)]).is_empty(), "it is being dialled");
    assert_eq!(channels.dialled(A, DialEnd::NoAnswer), ChannelFate::Stays);
    assert_eq!(open.due(&mut channels, &[silent(A)]), [A]);
    // It breaks while it is dialled.
    channels.began(A);
    assert!(!channels.broke(A, "reset".to_owned()));
    assert_eq!(channels.dialled(A, DialEnd::NoAnswer), ChannelFate::Lost("reset".to_owned()));
}

#[test]
fn channels_are_looked_at_at_intervals() {
    let mut channels = new();
    assert_eq!(channels.due(LOOK_NS, || vec![silent(A)]).len(), 1);
    let unasked = || unreachable!("it is too early");
    assert!(channels.due(2 * LOOK_NS - 1, unasked).is_empty());
    assert_eq!(channels.due(2 * LOOK_NS, || vec![silent(A)]).len(), 1);
}

#[test]
fn those_that_broke_are_dialled_first_when_there_is_room() {
    let mut channels = new();
    let mut open = OpenChannels(0);
    for number in 0..DIALLED_MAX {
        channels.began(NodeId(100 + u32::try_from(number).unwrap()));
    }
    assert!(!channels.broke(B, "reset".to_owned()), "there is no room");
    assert!(open.due(&mut channels, &[silent(A), silent(B)]).is_empty());
    assert_eq!(channels.dialled(NodeId(100), DialEnd::Accepted), ChannelFate::Continues);
    assert_eq!(open.due(&mut channels, &[silent(A), silent(B)]), [B]);
    channels.forget(NodeId(101));
    assert_eq!(open.due(&mut channels, &[silent(A), silent(B)]), [B, A]);
}

#[test]
fn an_agent_whose_broken_channel_cannot_be_dialled_is_lost() {
    let mut channels = new();
    assert!(channels.broke(A, "reset".to_owned()));
    assert_eq!(channels.not_begun(A, true), ChannelFate::Lost("reset".to_owned()));
    assert_eq!(channels.not_begun(B, true), ChannelFate::Lost("it is gone".to_owned()));
    assert_eq!(channels.not_begun(B, false), ChannelFate::Stays);
}
