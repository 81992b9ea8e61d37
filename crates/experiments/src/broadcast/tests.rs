//! A table in which everything came out as published, for tests of grades.

use garland_analysis::grade::{Grade, Published, RUNS, Why};
use garland_core::units::Nanos;
use garland_topology::shapes::{Basis, switch};

use super::condition::Setting;
use super::job::{Broadcast, Tool};
use super::table::{Common, Row, Table};
use crate::claim::Measure;
use crate::scenario_lab::Busy;
use crate::table::Size;

/// Returns a table of `own` with what `shape` published: the script as it was, and a standing chain
/// that is faster than another.
pub fn ideal(shape: &Broadcast, own: &Broadcast) -> Table {
    let row = |tool: Tool, receivers: u32, whole_s: f64| Row {
        tool,
        receivers,
        with: None,
        predicted_s: whole_s,
        whole_s,
        stream_s: whole_s,
        short_s: Some(whole_s / 80.0),
        busy: Busy::default(),
        equal: true,
    };
    let rows = shape.published.iter().flat_map(|then| {
        let whole_s = then.seconds.middle();
        if then.tool == Tool::Dolly {
            let stream_s = then.transfer.as_ref().map_or(whole_s, Published::middle);
            return vec![Row { stream_s, ..row(Tool::Dolly, then.receivers, whole_s) }];
        }
        [(Tool::Pipes, whole_s), (Tool::Cold, 9.0), (Tool::Up, 7.5)]
            .map(|(tool, whole_s)| row(tool, then.receivers, whole_s))
            .to_vec()
    });
    let size = Size { scale: 1.0, bytes: 86_400_000 };
    let common = Common { media: String::new(), size, limit_s: 7.34, refused: Vec::new() };
    Table::new(own, common, rows.collect())
}

/// The conditions of a file: a sourced one and one without a source.
const CONDITIONS: &str = r#"
[[job.condition]]
name = "small pipes"
source = "pipe(7)"
pipe = "4KiB"

[[job.condition]]
name = "slow starts"
start = "50ms"
"#;

/// Returns dolly-2005 with the conditions of `text` instead of its own.
fn with_conditions(text: &str) -> Broadcast {
    let own = garland_topology::scenarios::text("dolly-2005").unwrap();
    let without = own.split("[[job.condition]]").next().unwrap();
    let rest = &own[own.find("[emulation]").unwrap()..];
    toml::from_str(&format!("{without}{text}{rest}")).unwrap()
}

/// Returns the grade of the time to 20 if the script took `bare` seconds, and `with` seconds with a
/// condition.
fn graded(bare: f64, name: &str, with: f64) -> (Grade, Table) {
    let own = with_conditions(CONDITIONS);
    let mut table = ideal(&own, &own);
    table.rows.iter_mut().filter(|row| row.receivers == 20).for_each(|row| row.whole_s = bare);
    let row = table.rows.iter().find(|row| row.tool == Tool::Pipes && row.receivers == 20);
    let more = Row { with: Some(name.to_owned()), whole_s: with, ..row.unwrap().clone() };
    table.rows.push(more);
    (grade(&own, &table, "dolly.script.time.20"), table)
}

/// Returns the grade of a fact if each repetition gave this table.
fn grade(own: &Broadcast, table: &Table, fact: &str) -> Grade {
    let measures = Measure::gather(&vec![table.claims(); RUNS]);
    let judged = own.account("dolly-2005").judge(&measures);
    let one = judged.into_iter().find(|one| one.fact.as_deref() == Some(fact));
    one.and_then(|one| one.grade).unwrap()
}

#[test]
fn a_condition_explains_what_is_so_with_it_and_not_without() {
    let (grade, table) = graded(8.0, "small pipes", 20.0);
    assert_eq!(grade, Grade::Explained { by: "small pipes".to_owned() });
    let text = table.to_string();
    assert!(text.contains("largest share: small pipes, 12.00 of 12.00 s (100 %)"), "{text}");
    let (grade, table) = graded(8.0, "small pipes", 9.0);
    assert!(matches!(grade, Grade::Differs { why: Why::Outside, .. }), "{grade}");
    assert!(table.to_string().contains("left unexplained: 10.50 s"), "{table}");
    assert_eq!(graded(20.0, "small pipes", 9.0).0, Grade::Reproduced);
    let (grade, _) = graded(8.0, "slow starts", 20.0);
    assert!(matches!(grade, Grade::Differs { why: Why::Unsourced { .. }, .. }), "{grade}");
}

#[test]
fn the_time_that_dolly_does_not_count_is_explained_by_disks_that_sync_at_the_end() {
    let own = garland_topology::scenarios::text("dolly-2005").unwrap();
    let own: Broadcast = toml::from_str(own).unwrap();
    let disk = own.settings().unwrap().into_iter().find(Setting::is_disk).unwrap();
    let name = disk.condition().name().to_owned();
    let source = disk.condition().source();
    assert!(source.is_some(), "a condition without a source explains nothing");
    let graded = |bare_s: f64, with_s: f64| {
        let mut table = ideal(&own, &own);
        let row = table.rows.iter_mut().find(|row| row.tool == Tool::Dolly).unwrap();
        row.whole_s = row.stream_s + bare_s;
        let more = Row { with: Some(name.clone()), whole_s: row.stream_s + with_s, ..row.clone() };
        table.rows.push(more);
        (grade(&own, &table, "dolly.tool.whole"), table.to_string())
    };
    let (grade, text) = graded(0.1, 7.05);
    assert_eq!(grade, Grade::Explained { by: name.clone() });
    assert!(text.contains("not counted by it: 7.064 s then, 0.10 s in the lab as it is"), "{text}");
    assert!(text.contains("+6.95 s (98 %)"), "{text}");
    assert!(!graded(0.1, 3.0).0.holds(), "slow disks that are too fast explain nothing");
    assert_eq!(graded(7.05, 7.05).0, Grade::Reproduced);
}

#[test]
fn conditions_are_put_in_alone_and_together() {
    let own = with_conditions(CONDITIONS);
    let settings = own.settings().unwrap();
    let names: Vec<&str> = settings.iter().map(|one| one.condition().name()).collect();
    assert_eq!(names, ["small pipes", "slow starts", "small pipes + slow starts"]);
    assert_eq!(settings[0].condition().source(), Some("pipe(7)"));
    assert_eq!(settings[2].condition().source(), None, "one of them has none");
    let topology = switch(&Basis::numbered("try", 2), None);
    let node = settings[2].applied(&topology).nodes[1].vintage;
    assert_eq!((node.pipe, node.start), (Some(4096), Some(Nanos::from_millis(50))));
    let none = with_conditions("[[job.condition]]\nname = \"x\"\n").settings().unwrap_err();
    assert!(none.message().contains("x changes nothing"), "{}", none.message());
    let odd = with_conditions("[[job.condition]]\nname = \"x\"\npipe = \"5000B\"\n");
    assert!(odd.settings().unwrap_err().message().contains("x: `pipe`"));
}

#[test]
fn a_guess_is_met_if_its_cause_alone_brings_half_of_what_the_lab_lacks() {
    let own = garland_topology::scenarios::text("dolly-2005").unwrap();
    let own: Broadcast = toml::from_str(own).unwrap();
    let graded = |with_s: f64| {
        let mut table = ideal(&own, &own);
        let is_it = |row: &&mut Row| row.tool == Tool::Pipes && row.receivers == 20;
        let row = table.rows.iter_mut().find(is_it).unwrap();
        row.whole_s = 8.0;
        let with = Some("pipe and network blocks that differ".to_owned());
        let more = Row { with, whole_s: with_s, ..row.clone() };
        table.rows.push(more);
        grade(&own, &table, "dolly.guess.blocks")
    };
    // 20 s were published, so that 12 are lacking.
    assert_eq!(graded(15.0), Grade::Reproduced);
    let less = graded(9.2);
    let Grade::Differs { why: Why::Less, factor: Some(factor) } = less else { panic!("{less}") };
    assert!((factor - 0.2).abs() < 1e-9, "a tenth, of the half that is needed: {factor}");
}

#[test]
fn slow_starts_delay_agents_that_are_started_for_the_copy_and_no_standing_ones() {
    let own = garland_topology::scenarios::text("dolly-2005").unwrap();
    let own: Broadcast = toml::from_str(own).unwrap();
    let settings = own.settings().unwrap();
    let changed = |tool: Tool| {
        let settings = settings.iter().filter(|one| tool.is_changed_by(one));
        settings.map(|one| one.condition().name()).collect::<Vec<_>>()
    };
    assert_eq!(changed(Tool::Cold), ["set-up by rsh"]);
    assert_eq!(changed(Tool::Up), ["set-up by rsh"], "for the quotient");
    assert_eq!(changed(Tool::Dolly), ["disks that sync at dolly's end"]);
    assert_eq!(changed(Tool::Pipes).len(), 4);
    // The short file takes as long with both, but for the slow start.
    let mut table = ideal(&own, &own);
    for row in table.rows.clone() {
        let late_s = if row.tool == Tool::Cold { 0.05 } else { 0.0 };
        let short_s = Some(0.1 + late_s);
        let with = Some("set-up by rsh".to_owned());
        table.rows.push(Row { with, short_s, ..row });
    }
    table.rows.iter_mut().filter(|row| row.with.is_none()).for_each(|row| row.short_s = Some(0.1));
    let by = "set-up by rsh".to_owned();
    assert_eq!(grade(&own, &table, "dolly.daemon"), Grade::Explained { by });
}

#[test]
fn half_of_the_file_is_compared_as_the_whole_one() {
    let own = garland_topology::scenarios::text("dolly-2005").unwrap();
    let own: Broadcast = toml::from_str(own).unwrap();
    let mut table = ideal(&own, &own);
    table.common.size = Size { scale: 0.5, bytes: 43_200_000 };
    for row in &mut table.rows {
        row.whole_s /= 2.0;
        row.stream_s /= 2.0;
    }
    for fact in
        ["dolly.script.time.20", "dolly.script.rate.20", "dolly.tool.whole", "dolly.tool.time"]
    {
        assert_eq!(grade(&own, &table, fact), Grade::Reproduced, "{fact}");
    }
}
