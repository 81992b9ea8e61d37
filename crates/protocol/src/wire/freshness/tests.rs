//! Tests of new and repeated greetings.

use proptest::prelude::*;

use super::*;

const SECOND_NS: u64 = 1_000_000_000;

/// What a peer greets with.
struct Greeting {
    stamp: GreetingStamp,
    mac: Mac,
}

/// Returns a greeting whose MAC no greeting with another stamp has.
fn greeting(clock: u8, time_ns: u64) -> Greeting {
    let mut mac = [clock; 16];
    mac[..8].copy_from_slice(&time_ns.to_le_bytes());
    Greeting { stamp: GreetingStamp { clock: [clock; 8], time_ns }, mac }
}

/// Lets a peer greet and, if it is answered, prove its key.
fn greet(to: &mut Greetings, greeting: Greeting, now_ns: u64) -> Freshness {
    let Greeting { stamp, mac } = greeting;
    let judged = to.judge(&stamp, &mac, now_ns);
    if matches!(judged, Freshness::New | Freshness::Doubtful) {
        to.prove(&stamp, judged);
    }
    judged
}

#[test]
fn the_first_greeting_of_a_machine_is_doubtful_and_the_next_ones_are_new_once() {
    let mut greetings = Greetings::default();
    assert_eq!(greet(&mut greetings, greeting(1, 5), 0), Freshness::Doubtful);
    assert_eq!(greet(&mut greetings, greeting(1, 6), 0), Freshness::New);
    for time_ns in [5, 6] {
        assert_eq!(greet(&mut greetings, greeting(1, time_ns), 0), Freshness::Repeated);
    }
}

#[test]
fn heads_whose_clocks_differ_by_hours_do_not_disturb_each_other() {
    let mut greetings = Greetings::default();
    for round in 0..1000 {
        for clock in 0..CLOCKS_MAX as u8 {
            let time_ns = u64::from(clock) * 7200 * SECOND_NS + round + 1;
            let judged = greet(&mut greetings, greeting(clock, time_ns), round);
            let expected = if round == 0 { Freshness::Doubtful } else { Freshness::New };
            assert_eq!(judged, expected, "clock {clock}, round {round}");
        }
    }
}

#[test]
fn more_machines_than_clocks_that_are_kept_are_all_served() {
    let mut greetings = Greetings::default();
    for round in 0..10 {
        for clock in 0..200 {
            let judged = greet(&mut greetings, greeting(clock, round + 1), 0);
            assert_eq!(judged, Freshness::Doubtful, "clock {clock}, round {round}");
        }
    }
    assert_eq!(greetings.clocks.len(), CLOCKS_MAX);
}

#[test]
fn a_machine_that_was_booted_again_is_served_at_once() {
    let mut greetings = Greetings::default();
    for time_ns in 1000..2000 {
        let _ = greet(&mut greetings, greeting(1, time_ns), 0);
    }
    assert_eq!(greet(&mut greetings, greeting(2, 3), 0), Freshness::Doubtful);
    assert_eq!(greet(&mut greetings, greeting(2, 4), 0), Freshness::New);
}

/// Repetitions of as many recorded greetings as an attacker likes, as fast as he likes.
#[test]
fn repetitions_cost_a_bounded_number_of_exchanges_and_keep_no_known_head_out() {
    const RECORDED: u64 = 20_000;
    let mut greetings = Greetings::default();
    for time_ns in 1..=RECORDED {
        let _ = greet(&mut greetings, greeting(1, time_ns), time_ns);
    }
    let begin_ns = 100 * SECOND_NS;
    let mut answered = 0;
    let mut asked = 0;
    for step in 0..100_000 {
        let now_ns = begin_ns + step * 100_000;
        let Greeting { stamp, mac } = greeting(1, 1 + step % RECORDED);
        asked += 1;
        // None of them proves anything.
        if matches!(greetings.judge(&stamp, &mac, now_ns), Freshness::New | Freshness::Doubtful) {
            answered += 1;
        }
        if step % 100 == 0 {
            let head = greet(&mut greetings, greeting(1, now_ns), now_ns);
            assert_eq!(head, Freshness::New, "step {step}");
        }
    }
    let maximum = ALLOWANCE + 10 * SECOND_NS / ALLOWED_AGAIN_NS;
    assert!(answered <= maximum, "{answered} of {asked} repetitions cost an exchange");
}

/// A single greeting that was recorded, however often it is sent, costs one exchange at most.
#[test]
fn one_recorded_greeting_takes_the_allowance_once() {
    let mut greetings = Greetings::default();
    let Greeting { stamp, mac } = greeting(9, 1);
    assert_eq!(greetings.judge(&stamp, &mac, 0), Freshness::Doubtful);
    for now_ns in 0..10_000 {
        assert_eq!(greetings.judge(&stamp, &mac, now_ns * 1_000_000), Freshness::Repeated);
    }
    assert_eq!(greet(&mut greetings, greeting(8, 1), 0), Freshness::Doubtful);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Greetings that overtake each other, of several machines: all of them are served, each once,
    /// and no more of them are kept than the limits say.
    #[test]
    fn greetings_in_any_order_are_served_once(
        order in Just((0..600_u64).collect::<Vec<_>>()).prop_shuffle(),
        machines in 1_u8..20,
    ) {
        let mut greetings = Greetings::default();
        let made = |number: u64| greeting((number % u64::from(machines)) as u8, 1 + number);
        for number in &order {
            let judged = greet(&mut greetings, made(*number), *number);
            prop_assert!(matches!(judged, Freshness::New | Freshness::Doubtful), "{judged:?}");
            // The same again is never new, and an attacker proves nothing.
            let Greeting { stamp, mac } = made(*number);
            prop_assert_ne!(greetings.judge(&stamp, &mac, *number), Freshness::New);
        }
        prop_assert!(greetings.clocks.len() <= CLOCKS_MAX);
        prop_assert!(greetings.clocks.iter().all(|clock| clock.greetings.len() <= GREETINGS_MAX));
        prop_assert!(greetings.doubted.order.len() <= DOUBTED_MAX);
        prop_assert_eq!(greetings.doubted.order.len(), greetings.doubted.known.len());
    }
}
