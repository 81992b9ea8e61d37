//! Tests of silence.

use super::*;

#[test]
fn an_agent_is_silent_after_seconds_without_a_message() {
    let mut silence = Silence::new(2, 0);
    for turn in 1..=51 {
        silence.turn(turn * 100_000_000, [1]);
        assert_eq!(silence.is_long(0), turn == 51);
    }
    let lost: Vec<_> = silence.lost().collect();
    assert_eq!(lost, [(0, "no message from its agent for 5 s".to_owned())]);
}

#[test]
fn an_agent_behind_a_login_may_be_silent_while_that_is_made_again() {
    let mut silence = Silence::new(2, 0);
    silence.await_login(0);
    for turn in 1..=200 {
        silence.turn(turn * 100_000_000, []);
    }
    let lost: Vec<_> = silence.lost().collect();
    assert_eq!(lost, [(1, "no message from its agent for 5 s".to_owned())]);
    silence.turn(20_100_000_000, []);
    assert!(silence.is_long(0));
    silence.restart(20_100_000_000);
    silence.turn(21_000_000_000, []);
    assert!(!silence.is_long(0) && !silence.is_long(1));
}

#[test]
fn a_head_that_stood_still_accuses_nobody() {
    let mut silence = Silence::new(1, 0);
    silence.turn(100_000_000, []);
    silence.turn(60_000_000_000, []);
    assert!(!silence.is_long(0));
    for turn in 1..=40 {
        silence.turn(60_000_000_000 + turn * 100_000_000, []);
    }
    assert!(silence.is_long(0), "the time in which it ran counts");
}
