use std::collections::BTreeSet;

use proptest::prelude::*;

use super::tests::{names, sources};
use super::*;

fn set_of(names: impl IntoIterator<Item = String>) -> BTreeSet<String> {
    names.into_iter().collect()
}

proptest! {
    #[test]
    fn folding_loses_nothing(set in proptest::collection::btree_set("(n|r0?[12]n|lab:[ab]-)?[0-9]{1,3}(-ib[0-2])?", 1..60)) {
        let names: Vec<&String> = set.iter().collect();
        let folded = fold(&names);
        let back = expand(&folded, &NoSources).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(back.len(), set.len());
        prop_assert_eq!(set_of(back), set, "{}", folded);
    }

    #[test]
    fn folding_loses_no_odd_name(set in proptest::collection::btree_set("[a-z0-9_][a-z0-9._%:-]{0,30}[a-z0-9]", 1..20)) {
        let folded = fold(&Vec::from_iter(&set));
        let back = expand(&folded, &NoSources).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(set_of(back), set, "{}", folded);
    }

    #[test]
    fn folding_ignores_the_order(names in proptest::collection::vec("n[0-9]{1,2}", 0..20).prop_shuffle()) {
        let mut sorted = names.clone();
        sorted.sort();
        prop_assert_eq!(fold(&names), fold(&sorted));
    }

    #[test]
    fn folding_any_text_does_not_panic(names in proptest::collection::vec(".*", 0..8)) {
        prop_assert_eq!(fold(&names).is_empty(), names.iter().all(String::is_empty));
    }

    #[test]
    fn expanding_any_text_does_not_panic(text in ".*", dense in r"[a1,!@^#\[\]/ \n0-9é-]{0,40}") {
        for expr in [text, dense] {
            match expand(&expr, &sources()) {
                Ok(names) => prop_assert_eq!(set_of(names.clone()).len(), names.len()),
                Err(error) => {
                    let place = &error.place;
                    prop_assert!(place.expression.get(place.span.clone()).is_some());
                    prop_assert!(place.caret().contains('^'));
                }
            }
        }
    }

    #[test]
    fn an_exclusion_is_a_set_difference(all in "n\\[[1-9]-[1-9][0-9]\\]", less in "n\\[[0-9]-[1-9][0-9]\\]") {
        let less_names = set_of(names(&less));
        let expected: Vec<String> = names(&all).into_iter().filter(|name| !less_names.contains(name)).collect();
        match expand(&format!("{all}!{less}"), &NoSources) {
            Ok(names) => prop_assert_eq!(names, expected),
            Err(error) => {
                prop_assert_eq!(error.problem, NodeListProblem::Empty);
                prop_assert!(expected.is_empty());
            }
        }
    }
}
