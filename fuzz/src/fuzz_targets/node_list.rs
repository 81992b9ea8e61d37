//! Any text is a node list or an error that points into it; what it names survives folding.
#![no_main]

use std::collections::BTreeSet;

use garland_core::cluster::nodelist::{NoSources, expand, fold};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match expand(text, &NoSources) {
        Ok(names) => {
            let folded = fold(&names);
            let back = expand(&folded, &NoSources).expect("what was folded can be expanded");
            let before: BTreeSet<_> = names.into_iter().collect();
            assert_eq!(back.into_iter().collect::<BTreeSet<_>>(), before, "{folded}");
        }
        Err(error) => {
            let place = error.place();
            assert!(place.expression().get(place.span()).is_some());
            assert!(place.caret().contains('^'));
        }
    }
});
