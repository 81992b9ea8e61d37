use garland_core::units::Rate;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{DEN, EXPLICIT};
use crate::Selector;
use crate::file::*;
use crate::shapes::*;

fn any_rate() -> impl Strategy<Value = Rate> {
    prop_oneof![Just(10_000_000), Just(2_500_000_000), 1..u64::MAX / 2]
        .prop_map(Rate::from_bits_per_second)
}

fn any_bonded() -> impl Strategy<Value = Shape> {
    let selectors = vec![Selector::Packet, Selector::Flow, Selector::Subflow];
    let segments = vec![Segment::Hub, Segment::Switch];
    (2..5_u32, select(segments), select(selectors))
        .prop_map(|(nets, segment, selector)| Shape::Bonded(Bonded { nets, segment, selector }))
}

fn any_mesh(nodes: u32) -> impl Strategy<Value = Shape> {
    let columns: Vec<u32> = (1..=nodes).filter(|columns| nodes.is_multiple_of(*columns)).collect();
    let segments = vec![Segment::Hub, Segment::Switch];
    let joined = vec![Joined::Routed, Joined::Switched];
    let both = option::of(select(vec![Selector::Packet, Selector::Flow]));
    (select(columns), select(segments), select(joined), both).prop_map(
        |(columns, segment, joined, both)| Shape::Mesh(Mesh { columns, segment, joined, both }),
    )
}

fn any_joined(nodes: u32) -> impl Strategy<Value = Shape> {
    let selectors = vec![Selector::Packet, Selector::Flow];
    (1..nodes, option::of(any_rate()), 1..4_u32, select(selectors)).prop_map(
        |(first, trunk, wires, selector)| {
            let selector = if wires == 1 { Selector::default() } else { selector };
            Shape::Joined(JoinedStars { first, trunk, wires, selector })
        },
    )
}

fn any_leaf_spine(nodes: u32) -> impl Strategy<Value = Shape> {
    (1..=nodes, 1..4_u32, option::of(any_rate()))
        .prop_map(|(leaves, spines, uplink)| Shape::LeafSpine(LeafSpine { leaves, spines, uplink }))
}

fn any_shape(nodes: u32) -> impl Strategy<Value = Shape> {
    prop_oneof![
        select(vec![
            Shape::Hub,
            Shape::Ring,
            Shape::FullMesh,
            Shape::Star(Between::Isolated),
            Shape::Star(Between::Forwarded),
        ]),
        option::of(any_rate()).prop_map(|backplane| Shape::Switch { backplane }),
        (1..5_u32).prop_map(|rails| Shape::Rail { rails }),
        any_bonded(),
        any_mesh(nodes),
        any_joined(nodes),
        any_leaf_spine(nodes),
    ]
}

fn any_sketch() -> impl Strategy<Value = Sketch> {
    let names = proptest::collection::btree_set("[a-z]{1,3}[0-9]{0,3}(-[a-z]{1,2})?", 2..20);
    let names = names.prop_map(Vec::from_iter).prop_shuffle();
    let subnets = select(vec!["10.88.0.0/16", "192.168.1.0/24", "10.0.0.0/8"]);
    (names, any_rate(), subnets, "[ -~]{0,10}[a-z]").prop_flat_map(|(nodes, rate, subnet, name)| {
        let count = u32::try_from(nodes.len()).expect("few");
        let subnet = subnet.parse().expect("a subnet");
        let basis = Basis { rate: Some(rate), subnet, ..Basis::named(name.trim(), nodes) };
        any_shape(count).prop_map(move |shape| Sketch { basis: basis.clone(), shape })
    })
}

proptest! {
    #[test]
    fn a_shape_prints_and_parses(sketch in any_sketch()) {
        let text = sketch.to_string();
        let file = parse(&text, "x.toml");
        let file = file.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
        prop_assert_eq!(file.topology, sketch.draw());
    }

    #[test]
    fn any_text_gives_a_topology_or_an_error(
        text in ".*",
        shape in "hub|switch|star|bonded|mesh|joined|ring|full-mesh|leaf-spine|rail|explicit",
        nodes in 0..100_u32,
        tail in r#"((rows|columns|nets|rails|leaves|spines|first|wires|routes|mtu) = [0-9]{1,3}\n|\[\[topology\.(nic|node|medium|route|bond)\]\]\n|(names|nodes|medium|via|to|address) = "(n[0-9]|10\.0\.0\.[0-9](/[0-9]{1,2})?)"\n){0,8}"#,
    ) {
        let begun = format!("version = 1\n[topology]\nshape = \"{shape}\"\nnodes = {nodes}\nrate = \"1gbit\"\n{tail}");
        for text in [text, begun] {
            if let Err(error) = parse(&text, "x.toml") {
                prop_assert!(error.line >= 1 && error.column >= 1);
            }
        }
    }

    #[test]
    fn a_file_changed_anywhere_gives_a_topology_or_an_error(
        explicit: bool,
        place in 0.0..1.0_f64,
        length in 0..30_usize,
        put in r#"[a-z0-9"=\[\]/.]{0,4}"#,
    ) {
        let text = if explicit { EXPLICIT } else { DEN };
        let from = (place * text.len() as f64) as usize;
        let to = (from + length).min(text.len());
        let _ = parse(&format!("{}{put}{}", &text[..from], &text[to..]), "x.toml");
    }
}
