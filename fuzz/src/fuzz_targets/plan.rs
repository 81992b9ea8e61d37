//! Any JSON is a plan that is written the same again, or an error.
#![no_main]

use garland_core::plan::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(plan) = serde_json::from_slice::<Plan>(bytes) {
        let text = serde_json::to_string(&plan).expect("a plan is JSON");
        assert_eq!(serde_json::from_str::<Plan>(&text).expect("its own JSON"), plan);
    }
});
