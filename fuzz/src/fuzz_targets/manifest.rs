//! Any text is a stripe's manifest, which survives being written and read, or an error in words.
#![no_main]

use garland_core::plan::{FoundStripe, Manifest, StripeSet};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for text in [text.to_owned(), format!("version = 1\n{text}")] {
        match Manifest::parse(&text) {
            Ok(manifest) => {
                assert_eq!(Manifest::parse(&manifest.to_string()), Ok(manifest.clone()));
                let stripe = manifest.stripe();
                let length = Some(stripe.length(manifest.stripes.length));
                let (node, suffix) = ("n".to_owned(), stripe.suffix());
                let found = FoundStripe { node, suffix, length, text };
                assert_eq!(StripeSet::assemble(&[found]).is_ok(), manifest.stripes.servers == 1);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});
