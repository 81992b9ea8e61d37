//! How many lanes a copy has for network cards and processors of all kinds.

use std::fmt::Write;

use garland_predict::CpuCosts;

/// What a byte costs on a server of 2023, in seconds: calibrated on one with AVX-512 at 2.7 GHz.
const COSTS: CpuCosts = CpuCosts { copy: 0.11e-9, hash: 0.22e-9, seal: 0.17e-9, stream: 0.16e-9 };

/// Rates of network cards, in Gbit/s.
const CARDS: [u32; 8] = [1, 10, 25, 40, 50, 100, 200, 400];

const PROCESSORS: [usize; 6] = [2, 4, 8, 16, 32, 128];

/// Returns the table of the page on performance: the lanes, and the rate that their threads keep up
/// with, in Gbit/s.
fn lane_table() -> String {
    let mut table = String::from("| card |");
    let column = |table: &mut String, text: String| write!(table, " {text} |").expect("a string");
    PROCESSORS.iter().for_each(|count| column(&mut table, format!("{count} processors")));
    table += "\n|---|";
    PROCESSORS.iter().for_each(|_| table += "---|");
    for card in CARDS {
        let rate = f64::from(card) * 1e9 / 8.0;
        table += "\n|";
        column(&mut table, format!("{card} Gbit/s"));
        for processors in PROCESSORS {
            let lanes = COSTS.lanes(rate, processors);
            let kept = (COSTS.rate_of_lanes(lanes, processors) * 8.0 / 1e9).min(f64::from(card));
            column(&mut table, format!("{lanes} ({kept:.0})"));
        }
    }
    table + "\n"
}

#[test]
fn the_page_on_performance_has_the_lanes_of_all_cards() {
    let page = include_str!("../../../docs/performance.md");
    let table = lane_table();
    assert!(page.contains(&table), "docs/performance.md lacks this table:\n{table}");
}

#[test]
fn lanes_grow_with_the_card_up_to_half_of_the_processors() {
    let lanes = |gbits: f64, processors| COSTS.lanes(gbits * 1e9 / 8.0, processors);
    assert_eq!(lanes(1.0, 128), 1);
    assert_eq!(lanes(10.0, 128), 1);
    assert!((2..=3).contains(&lanes(25.0, 128)), "{}", lanes(25.0, 128));
    assert!((4..=6).contains(&lanes(100.0, 128)), "{}", lanes(100.0, 128));
    assert_eq!(lanes(400.0, 128), 16);
    assert_eq!(lanes(400.0, 2), 1);
    assert_eq!(lanes(400.0, 1), 1);
}
