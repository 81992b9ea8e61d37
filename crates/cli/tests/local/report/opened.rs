//! The page in a browser: nothing is fetched and nothing goes wrong, and what it shows is what the
//! run kept.

use std::fs;

use garland_testkit::{Browser, Position, Scratch};
use serde_json::Value;

use crate::report::{copied, garland_in, reported};

/// Where the timeline stands: left, top, width, height.
const PLACE: &str = "(() => { const box = document.querySelector('.timeline'); \
     box.scrollIntoView({ behavior: 'instant', block: 'start' }); const rect = box.querySelector('canvas').getBoundingClientRect(); \
     return [rect.left, rect.top, rect.width, rect.height]; })()";

/// Unfolds everything.
const UNFOLD: &str = "document.querySelectorAll('details').forEach((one) => { one.open = true; })";

#[test]
fn a_page_zooms_tells_toggles_and_has_the_runs_figures() {
    let scratch = Scratch::new("report-open");
    let garland = garland_in(&scratch);
    let result = copied(&scratch, &garland, 3);
    let file = reported(&scratch, &garland, &["last"]);
    let mut browser = Browser::start(&scratch, 1200, 900);
    browser.open(&file);
    assert_eq!(browser.complaints(), [""; 0]);

    // The figures are the run's.
    let text = browser.asked("document.body.innerText");
    let text = text.as_str().expect("a page has text");
    assert!(text.contains(result["run"].as_str().unwrap()), "{text}");
    assert!(text.contains("24.00 MiB to 3 of 3 nodes"), "{text}");
    assert_eq!(browser.asked("document.querySelector('h1').innerText"), "file to 3 nodes");
    assert_eq!(browser.asked("document.title"), "file to 3 nodes - Garland");
    answers(&mut browser, &result);
    let shown = browser
        .asked("JSON.parse(document.getElementById('data').textContent).runs[0].result.elapsed_ns");
    assert_eq!(shown, result["elapsed_ns"]);
    let phases = browser.asked(
        "[...document.querySelectorAll('.phases span')].map((span) => Number(span.style.flexGrow))",
    );
    let of_phase = |phase: &Value| phase["ns"].as_f64().filter(|ns| *ns > 0.0);
    let kept: Vec<f64> = result["phases"].as_array().unwrap().iter().filter_map(of_phase).collect();
    let phases: Vec<f64> = phases.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    assert_eq!(phases.len(), kept.len());
    assert!(phases.iter().zip(&kept).all(|(shown, kept)| (shown / kept - 1.0).abs() < 1e-3));

    // A tooltip says what a bar is.
    let place = browser.asked(PLACE);
    let of = |at: usize| place[at].as_f64().unwrap();
    let told = tooltip(&mut browser, of(0), of(1), of(2));
    assert!(told.starts_with("local") || told.starts_with("head"), "{told:?}");
    assert!(told.contains("ms") || told.contains("µs"), "{told:?}");
    has_one_cursor(&mut browser);

    // Plus zooms, and 0 shows all again.
    let view = "document.querySelector('.timeline').view";
    let span = |browser: &mut Browser| {
        browser.asked(&format!("{view}.to - {view}.from")).as_f64().unwrap()
    };
    let whole = span(&mut browser);
    browser.asked("document.querySelector('.timeline').focus()");
    browser.press("+");
    assert!((span(&mut browser) / whole - 0.5).abs() < 0.01);
    // The page moves with the pointer.
    let from = |browser: &mut Browser| browser.asked(&format!("{view}.from")).as_f64().unwrap();
    let before = from(&mut browser);
    let middle = of(1) + of(3) / 2.0;
    let across = |share: f64| Position { x: of(0) + of(2) * share, y: middle };
    browser.drag(across(0.5), across(0.7));
    assert!(from(&mut browser) < before * 0.9, "{before}");
    assert!((span(&mut browser) / whole - 0.5).abs() < 0.01);
    browser.press("0");
    assert!((span(&mut browser) / whole - 1.0).abs() < 1e-9);

    opens_nodes(&mut browser, view);

    // A stage that is switched off has no rows.
    let rows = browser.asked(&format!("{view}.rows")).as_u64().unwrap();
    let toggle = "[...document.querySelectorAll('.tools button[aria-pressed]')].find((b) => b.innerText === 'write')";
    browser.asked(&format!("{toggle}.click()"));
    assert_eq!(browser.asked(&format!("{toggle}.getAttribute('aria-pressed')")), "false");
    let left = browser.asked(&format!("{view}.rows")).as_u64().unwrap();
    assert_eq!(rows - left, 3, "three nodes wrote");
    switches_a_series(&mut browser);
    assert_eq!(browser.complaints(), [""; 0]);
    browser.end(&scratch);
}

/// A node's row opens to its stages, with the keyboard and with a button for all; all are open
/// then. `view` is what the timeline shows.
fn opens_nodes(browser: &mut Browser, view: &str) {
    let rows = |browser: &mut Browser| browser.asked(&format!("{view}.rows")).as_u64().unwrap();
    assert_eq!(rows(browser), 5, "the path, the head and three nodes");
    browser.asked("document.querySelector('.timeline').focus()");
    browser.press("ArrowDown");
    browser.press("Enter");
    let open = rows(browser);
    assert!(open > 8, "{open}");
    let said = browser
        .asked("[...document.querySelectorAll('[aria-live]')].map((p) => p.innerText).join()");
    assert!(said.as_str().unwrap().contains("local1 is open"), "{said}");
    browser.press("Enter");
    assert_eq!(rows(browser), 5);
    browser.asked("[...document.querySelectorAll('.tools button')].find((b) => b.innerText.startsWith('Open or close')).click()");
    assert!(rows(browser) > open);
}

/// The rates below the timeline have the cursor where the pointer is.
fn has_one_cursor(browser: &mut Browser) {
    let at = "document.querySelector('.chart').plot";
    let cursor = browser.asked(&format!("{at}.cursor.left"));
    let left = browser.asked(&format!(
        "{at}.bbox.left / devicePixelRatio + {at}.root.getBoundingClientRect().left"
    ));
    let place = cursor.as_f64().unwrap() + left.as_f64().unwrap();
    let pointed = browser
        .asked("parseFloat(document.querySelector('.tip').style.left) - 14")
        .as_f64()
        .unwrap();
    assert!((place - pointed).abs() < 3.0, "{place} {pointed}");
}

/// The tiles, the critical path, the waterfall, the picture of the chain and the table of nodes.
fn answers(browser: &mut Browser, result: &Value) {
    let elapsed = result["elapsed_ns"].as_f64().unwrap();
    let tiles = browser
        .asked("[...document.querySelectorAll('.tile .what')].map((tile) => tile.innerText)");
    assert_eq!(tiles, serde_json::json!(["Time", "Cost most", "Nodes that need attention"]));
    let sum = |browser: &mut Browser, what: &str| {
        let words = format!(
            "[...document.querySelectorAll('{what}')].reduce((sum, one) => sum + parseFloat(one.style.width), 0)"
        );
        browser.asked(&words).as_f64().unwrap()
    };
    // Both are of the whole time: what the path does not cover are the trace's ends.
    let path = sum(browser, ".strip span");
    assert!((50.0..=100.01).contains(&path), "{path}");
    let rows = "[...document.querySelectorAll('.waterfall tr:not(.total) .fall > span')]";
    let ends = browser.asked(&format!(
        "{rows}.map((bar) => [parseFloat(bar.style.left), parseFloat(bar.style.left) + parseFloat(bar.style.width)])"
    ));
    let ends: Vec<[f64; 2]> = serde_json::from_value(ends).unwrap();
    assert!(ends.windows(2).all(|two| (two[0][1] - two[1][0]).abs() < 0.01), "{ends:?}");
    let whole = browser.asked(
        "[...document.querySelectorAll('.waterfall tr.total .fall > span')].pop().style.width",
    );
    let whole: f64 = whole.as_str().unwrap().trim_end_matches('%').parse().unwrap();
    assert!((ends.last().unwrap()[1] - whole).abs() < 0.01, "{ends:?} {whole}");
    let ledger = browser.asked("JSON.parse(document.getElementById('data').textContent).runs[0].explained.rows.reduce((sum, row) => sum + row.ns, 0)");
    assert!((ledger.as_f64().unwrap() / elapsed - 1.0).abs() < 0.02, "{ledger} {elapsed}");
    // Every kind of time has its name beside its colour.
    let nameless = "[...document.querySelectorAll('.strip span')].filter((one) => ![...one.closest('section').querySelectorAll('.legend .swatch')].some((mark) => mark.classList.contains(one.className))).length";
    assert_eq!(browser.asked(nameless), 0);
    assert_eq!(browser.asked("document.querySelectorAll('.chain .link:not(.part)').length"), 3);
    let names =
        "[...document.querySelectorAll('.nodes tbody tr')].map((row) => row.cells[0].innerText)";
    let head = "document.querySelector('.nodes thead button')";
    browser.asked(&format!("{head}.click()"));
    assert_eq!(browser.asked(names), serde_json::json!(["local1", "local2", "local3"]));
    browser.asked(&format!("{head}.click()"));
    assert_eq!(browser.asked(names), serde_json::json!(["local3", "local2", "local1"]));
    assert_eq!(
        browser.asked(&format!("{head}.closest('th').getAttribute('aria-sort')")),
        "descending"
    );
}

/// What a tooltip says of some bar of the timeline, which begins there and is so wide.
fn tooltip(browser: &mut Browser, left: f64, top: f64, width: f64) -> String {
    let mut told = String::new();
    'found: for row in 3..30 {
        for part in 4..18 {
            browser.point(left + width * f64::from(part) / 20.0, top + 12.0 * f64::from(row));
            let tip = browser.asked("document.querySelector('.tip').hidden ? '' : document.querySelector('.tip').innerText");
            told = tip.as_str().unwrap_or_default().to_owned();
            if told.contains(" for ") && told.contains("\nat ") && told.contains(": ") {
                break 'found;
            }
        }
    }
    told
}

/// A chart's line goes and comes by its name in the legend, which keys reach, too.
fn switches_a_series(browser: &mut Browser) {
    let shown = "document.querySelector('.chart').plot.series.map((one) => one.show !== false)";
    let all = browser.asked(shown);
    assert!(all.as_array().unwrap().iter().all(|one| one == true), "{all}");
    let name = "document.querySelectorAll('.chart .u-legend .u-series th')[1]";
    browser.asked(&format!("{name}.click()"));
    assert_eq!(browser.asked(shown)[1], false);
    let enter = "new KeyboardEvent('keydown', { key: 'Enter', cancelable: true })";
    browser.asked(&format!("{name}.dispatchEvent({enter})"));
    assert_eq!(browser.asked(shown), all);
}

#[test]
fn critical_paths_of_several_runs_have_one_scale_and_what_is_folded_is_drawn_when_it_is_opened() {
    let scratch = Scratch::new("report-paths");
    let garland = garland_in(&scratch);
    let runs = [1, 2].map(|nodes| copied(&scratch, &garland, nodes));
    let names: Vec<&str> = runs.iter().map(|run| run["run"].as_str().unwrap()).collect();
    let file = reported(&scratch, &garland, &names);
    let mut browser = Browser::start(&scratch, 1200, 900);
    browser.open(&file);
    let ends = "[...document.querySelectorAll('.multiple .strip')].map((strip) => { const last = strip.lastElementChild.style; return parseFloat(last.left) + parseFloat(last.width); })";
    let told = "(() => { const runs = JSON.parse(document.getElementById('data').textContent).runs; \
         const longest = Math.max(...runs.map((run) => Math.max(run.result.elapsed_ns, run.timeline.length_ns))); \
         return runs.map((run) => (run.timeline.path.at(-1).end_ns / longest) * 100); })()";
    let [ends, told]: [Vec<f64>; 2] =
        [ends, told].map(|words| serde_json::from_value(browser.asked(words)).unwrap());
    assert_eq!(ends.len(), 2);
    assert!(
        ends.iter().zip(&told).all(|(end, told)| (end - told).abs() < 0.5),
        "{ends:?} {told:?}"
    );
    // Each run has its answer, and its pictures as wide as the page, in its fold.
    browser.asked(UNFOLD);
    let drawn = "new Promise((done) => { const end = Date.now() + 30000; const look = () => { \
         const told = [...document.querySelectorAll('main > details.part')].map((fold) => [fold.querySelectorAll('.tile').length, \
         fold.querySelector('.chain svg').clientWidth > 900, fold.querySelector('.chart canvas').clientWidth > 900]); \
         if (told.every((one) => one[1] && one[2]) || Date.now() > end) done(told); else setTimeout(look, 20); }; look(); })";
    let all = serde_json::json!([3, true, true]);
    assert_eq!(browser.asked(drawn), serde_json::json!([all, all]));
    assert_eq!(browser.complaints(), [""; 0]);
    browser.end(&scratch);
}

#[test]
fn what_contradicts_itself_is_drawn_as_far_as_it_goes() {
    let scratch = Scratch::new("report-strange");
    let garland = garland_in(&scratch);
    let mut runs = Vec::new();
    for (at, text) in STRANGE.iter().enumerate() {
        let folder = scratch.path(format!("strange{at}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("result.json"), text).unwrap();
        fs::write(folder.join("topology.json"), "{\"name\": 7}").unwrap();
        runs.push(format!("./strange{at}"));
    }
    let names: Vec<&str> = runs.iter().map(String::as_str).collect();
    let file = reported(&scratch, &garland, &names);
    let mut browser = Browser::start(&scratch, 1200, 900);
    browser.open(&file);
    assert_eq!(browser.complaints(), [""; 0]);
    browser.asked(UNFOLD);
    let text = browser.asked("document.body.innerText");
    let text = text.as_str().expect("a page has text");
    for nonsense in ["NaN", "undefined", "Infinity", "[object", "null"] {
        let line = text.lines().find(|line| line.contains(nonsense));
        assert_eq!(line, None, "{nonsense}");
    }
    assert!(!text.contains("its data is invalid"), "every part copes: {text}");
    assert!(text.contains("cannot read its topology"), "{text}");
    assert_eq!(
        browser.asked("document.querySelectorAll('.chart').length"),
        0,
        "no curve of nothing"
    );
    browser.end(&scratch);
}

/// Results with missing parts, of other versions, and that contradict themselves.
const STRANGE: [&str; 6] = [
    r#"{"schema":"garland.cp/9","elapsed_ns":0,"bytes":-5,"rate":"quick","phases":[{"name":"stream","ns":-3},{"ns":7}],"nodes":[{"verdict":"ok"},null,{"name":"n1","rate":{}}]}"#,
    r#"{"schema":"garland.wires/2","nodes":"all","directions":[{"from":"n1"},{"from":"n1","to":"n2","rate":null}],"loads":[{"pairs":"x"}]}"#,
    r#"{"schema":"garland.ping/2","pairs":[{"from":"n1","to":"n2","points":[{"size":4,"in_flight":1,"each_ns":null}]},{"points":"none"}]}"#,
    r#"{"schema":"garland.balance/2","points":[{"size":1,"remote":0,"rate":null}],"verdicts":[{}]}"#,
    r#"{"schema":"garland.farm/2","total":0,"jobs":3,"nodes":[{"name":"n1","cores":0}],"one":{"seconds":0},"standing":{"of_one":0},"losses":{"whole":0,"causes":7},
        "records":[{"node":"n1","started":5,"ended":1},{"node":7}]}"#,
    r#"{"schema":"garland.farm/2","total":4,"jobs":3,"nodes":[{"name":"n1"}],"one":null,"standing":null,"losses":null,"records":null}"#,
];

#[test]
fn all_kinds_of_results_are_drawn_on_a_telephone_in_the_dark() {
    let scratch = Scratch::new("report-kinds");
    let garland = garland_in(&scratch);
    let mut runs = Vec::new();
    for (name, text) in KINDS {
        let folder = scratch.path(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("result.json"), text).unwrap();
        runs.push(format!("./{name}"));
    }
    let words = ["forecast", "--points", "1=150,2=76,4=39,8=21", "--limit", "hub=10s", "--json"];
    let more = ["--node-price", "100"];
    let told = garland.run(&[&words[..], &more].concat()).with_code(0);
    fs::write(scratch.path("forecast.json"), &told.out).unwrap();
    let names: Vec<&str> = runs.iter().map(String::as_str).collect();
    let file =
        reported(&scratch, &garland, &[&["--forecast", "forecast.json"], &names[..]].concat());
    let mut browser = Browser::start(&scratch, 390, 844);
    browser.in_the_dark(true);
    browser.open(&file);
    assert_eq!(browser.complaints(), [""; 0]);
    let ground = browser.asked("getComputedStyle(document.body).backgroundColor");
    assert_eq!(ground, "rgb(20, 23, 27)");
    browser.asked(UNFOLD);
    // Nothing is wider than the screen but what scrolls for itself.
    assert_eq!(browser.asked("document.documentElement.scrollWidth <= innerWidth"), true);
    let titles = browser.asked("[...document.querySelectorAll('h2, h3')].map((h) => h.innerText)");
    let titles: Vec<&str> = titles.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    for title in [
        "Side by side",
        "Forecast",
        "Timeline",
        "The farm beside one PC",
        "Pairs",
        "n1 and n2",
        "Balance of disks and network",
    ] {
        assert!(titles.contains(&title), "{title} in {titles:?}");
    }
    let cells = browser.asked("[...document.querySelectorAll('td')].map((cell) => cell.innerText)");
    for words in [
        "fed on the side: it received 15.2 MB/s (0.1216 Gbit/s), the others 56 MB/s (0.448 Gbit/s)",
        "detached: its disk was slower",
    ] {
        assert!(
            cells.as_array().is_some_and(|cells| cells.iter().any(|cell| cell == words)),
            "{cells}"
        );
    }
    let charts = browser.asked("document.querySelectorAll('.chart canvas').length");
    assert!(charts.as_u64().unwrap() >= 5, "{charts}");
    // Of several runs each has a fold with its answer.
    let folds =
        "[...document.querySelectorAll('details.part > summary > h2')].map((h) => h.innerText)";
    let folds = browser.asked(folds);
    assert_eq!(folds.as_array().unwrap().len(), KINDS.len(), "{folds}");
    let order =
        "[...document.querySelector('.nodes tbody').rows].map((row) => row.cells[0].innerText)";
    assert_eq!(browser.asked(order), serde_json::json!(["n2", "n3", "n1"]), "slow ones come first");
    // Who hears the page hears what charts show.
    let silent = browser.asked("[...document.querySelectorAll('.chart, .timeline, button')].filter((e) => !(e.getAttribute('aria-label') || e.innerText)).length");
    assert_eq!(silent, 0);
    browser.end(&scratch);
}

/// Results of other kinds, as small as they can be.
const KINDS: [(&str, &str); 5] = [
    (
        "cp",
        r#"{"schema":"garland.cp/2","elapsed_ns":5000000,"bytes":1048576,"nodes":[{"name":"n1","verdict":"ok","bytes":1048576,"detached":false},
        {"name":"n2","verdict":"ok","bytes":1048576,"detached":false,"slow":{"rate":15200000,"others":56000000}},
        {"name":"n3","verdict":"ok","bytes":1048576,"detached":true}]}"#,
    ),
    (
        "wires",
        r#"{"schema":"garland.wires/2","elapsed_ns":5000000,"nodes":[{"name":"n1","verdict":"ok","sends":1,"receives":0.99},
        {"name":"n2","verdict":"ok","sends":1,"receives":1}],"directions":[{"from":"n1","to":"n2","rate":117000000},
        {"from":"n2","to":"n1","rate":61000000}],"loads":[{"pairs":1,"rate":117000000,"median":117000000,"lowest":61000000}],
        "faults":[{"text":"n2 to n1 gives half"}],"warnings":["a small cluster"]}"#,
    ),
    (
        "ping",
        r#"{"schema":"garland.ping/2","elapsed_ns":5000000,"transport":"tcp","pairs":[{"from":"n1","to":"n2","verdict":"ok","points":[
        {"function":"get","size":4,"in_flight":1,"each_ns":2360,"sojourn":{"p50":2300,"p99":4000,"max":9000}},
        {"function":"get","size":64,"in_flight":1,"each_ns":2430,"sojourn":{"p50":2400,"p99":4000,"max":9000}},
        {"function":"get","size":4,"in_flight":8,"each_ns":840,"sojourn":{"p50":6700,"p99":9000,"max":19000}}],
        "sweep":{"knee":8}}]}"#,
    ),
    (
        "balance",
        r#"{"schema":"garland.balance/2","elapsed_ns":5000000,"points":[{"size":1048576,"remote":0,"rate":50000000,"resource":"disk"},
        {"size":1048576,"remote":1,"rate":45000000,"resource":"disk"},{"size":1048576,"remote":2,"rate":30000000,"resource":"network"}],
        "verdicts":[{"size":1048576,"text":"the network binds from 2 on"}]}"#,
    ),
    (
        "farm",
        r#"{"schema":"garland.farm/2","elapsed_ns":9000000000,"total":9.0,"jobs":3,"done":3,"nodes":[{"name":"n1","verdict":"ok"}],"one":{"seconds":14.0,"run":null},
        "standing":{"of_one":0.643},"losses":{"whole":9.0,"work":6.9,"causes":[["engine",0.1]],"counted":true},
        "records":[{"job":1,"node":"n1","started":0.1,"ended":3.0,"staged_out":3.2},{"job":2,"node":"n1","started":3.2,"ended":6.0,"staged_out":6.1},
        {"job":3,"node":"n2","started":0.2,"ended":8.9,"staged_out":9.0}]}"#,
    ),
];
