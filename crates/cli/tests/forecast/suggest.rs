//! Plans that are suggested.

use garland_testkit::Scratch;

use crate::{garland, told};

#[test]
fn large_files_go_down_a_chain_and_small_ones_to_many_branch() {
    let scratch = Scratch::new("suggest");
    let of = |bytes: &str, nodes: &str, more: &[&str]| {
        let words = ["plan", "suggest", bytes, "--nodes", nodes, "--rate", "1gbit", "--topology"];
        told(&scratch, &[&words[..], more].concat())
    };
    let chain = of("1GiB", "20", &["switch"]);
    assert_eq!(chain["plans"][0]["shape"], "chain");
    let seconds = chain["plans"][0]["seconds"].as_f64().unwrap();
    assert!((9.1..9.4).contains(&seconds), "{seconds}");
    assert!(chain["options"].as_str().unwrap().contains("--shape chain"));
    assert!(of("1MB", "500", &["switch"])["options"].as_str().unwrap().contains("--shape tree"));
    let rails = of("1GiB", "20", &["switch", "--nics", "2"]);
    assert!(rails["options"].as_str().unwrap().contains("--rails 2"), "{}", rails["why"]);
    // Nodes of an isolated star see the head only.
    let star = told(&scratch, &["plan", "suggest", "1GiB", "--topology", "p2p-star"]);
    assert!(star["plans"].as_array().unwrap().iter().all(|plan| plan["shape"] == "star"), "{star}");
    let text = garland(&scratch, &["plan", "suggest", "1GiB", "--topology", "hub10"]).with_code(0);
    assert!(text.out.contains("why     "), "{}", text.out);
    let none = garland(&scratch, &["plan", "suggest", "much", "--topology", "hub10"]);
    assert_eq!(none.code, 2);
}
