//! What a helper says is an answer that says itself again, or nothing; so is an order.
#![no_main]

use garland_fabric::words::{self, Answer, Order, PREFIX};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(answer) = words::message::<Answer>(bytes) {
        assert_eq!(words::message(&words::frame(&answer)[PREFIX..]), Ok(answer));
    }
    if let Ok(order) = words::message::<Order>(bytes) {
        assert_eq!(words::message(&words::frame(&order)[PREFIX..]), Ok(order));
    }
});
