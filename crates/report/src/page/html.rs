//! The HTML of the page: head, summary, data and scripts.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::escape::escaped;
use super::sheet::Sheet;
use super::{figures, grades, summary, tiles, title};

const CHARTS: &str = include_str!("../../assets/uPlot.iife.min.js");
const CHARTS_STYLE: &str = include_str!("../../assets/uPlot.min.css");
const CHARTS_LICENCE: &str = include_str!("../../assets/uPlot-LICENSE");
const STYLE: &str = include_str!("../../assets/report.css");

/// The page's own scripts; each uses only those before it.
const SCRIPTS: [&str; 11] = [
    include_str!("../../assets/base.js"),
    include_str!("../../assets/bars.js"),
    include_str!("../../assets/picture.js"),
    include_str!("../../assets/chain.js"),
    include_str!("../../assets/path.js"),
    include_str!("../../assets/timeline.js"),
    include_str!("../../assets/copies.js"),
    include_str!("../../assets/measures.js"),
    include_str!("../../assets/farm.js"),
    include_str!("../../assets/forecast.js"),
    include_str!("../../assets/main.js"),
];

/// The content security policy: nothing is fetched, and only inline scripts are run.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
     img-src data:; base-uri 'none'; form-action 'none'";

/// Writes a page about the runs of `sheets`, and about a forecast (`garland.forecast/2`) if one is
/// given. Runs that did the same are compared side by side; otherwise the first one leads, and the
/// others are folded below it.
///
/// # Errors
/// If `output` cannot be written.
pub fn page(output: &mut dyn Write, sheets: &[Sheet], forecast: Option<&Value>) -> io::Result<()> {
    let leads = first_leads(sheets);
    let title = match sheets {
        [first, others @ ..] if leads => title::of_first(first, others.len()),
        _ => format!("{} runs side by side", sheets.len()),
    };
    let title = escaped(&title);
    write!(
        output,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title} - Garland</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <style>\n{CHARTS_STYLE}\n{STYLE}</style>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#runs\">Skip to the figures</a>\n<header>\n<h1>{title}</h1>\n"
    )?;
    grades::write(output, sheets)?;
    for (place, sheet) in sheets.iter().enumerate() {
        head(output, sheet, !(leads && place == 0))?;
    }
    output.write_all(
        b"</header>\n<nav id=\"contents\" aria-label=\"Contents\"></nav>\n<main id=\"runs\"></main>\n",
    )?;
    if let Some(told) = forecast {
        forecast_words(output, told)?;
    }
    output.write_all(
        b"<noscript><p>The charts need scripts; the text above does not.</p></noscript>\n",
    )?;
    let data: Vec<Value> = sheets.iter().map(data).collect();
    let all = json!({ "runs": data, "leads": leads, "forecast": forecast });
    writeln!(output, "<script type=\"application/json\" id=\"data\">{}</script>", inlined(&all))?;
    writeln!(output, "<script>\n/*\n{CHARTS_LICENCE}*/\n{CHARTS}\n</script>")?;
    writeln!(
        output,
        "<script>\n\"use strict\";\n(() => {{\n{}\n}})();\n</script>",
        SCRIPTS.concat()
    )?;
    output.write_all(b"</body>\n</html>\n")
}

/// Returns whether the first run leads: it is the only one, or others differ from it in kind or in
/// bytes, so that there is nothing to compare side by side.
fn first_leads(sheets: &[Sheet]) -> bool {
    let differs = |one: &Sheet, key: &str| one.result[key] != sheets[0].result[key];
    match sheets {
        [] => false,
        [_] => true,
        [_, others @ ..] => {
            others.iter().any(|one| differs(one, "schema") || differs(one, "bytes"))
        }
    }
}

/// Writes the summary of a forecast, which scripts move beside its chart.
fn forecast_words(output: &mut dyn Write, told: &Value) -> io::Result<()> {
    writeln!(output, "<section class=\"words\" id=\"forecast-words\">")?;
    for line in summary::of_forecast(told) {
        writeln!(output, "<p>{}</p>", escaped(&line))?;
    }
    writeln!(output, "</section>")
}

/// Writes what a run was, its tiles, and its summary in words, which is folded if there are tiles.
fn head(output: &mut dyn Write, sheet: &Sheet, has_title: bool) -> io::Result<()> {
    writeln!(output, "<section class=\"words run\" aria-label=\"{}\">", escaped(&sheet.name))?;
    if has_title {
        writeln!(output, "<h2>{}</h2>", escaped(&title::of(sheet)))?;
    }
    let words = title::command(&sheet.result);
    let by = words.map(|words| format!("<code>{}</code>", escaped(&words)));
    let about = title::when(sheet).into_iter().chain(by).chain([escaped(&sheet.name)]);
    let about = about.collect::<Vec<_>>().join("</span> <span>");
    writeln!(output, "<p class=\"about\"><span>{about}</span></p>")?;
    let mut lines = summary::of(sheet).into_iter();
    lines
        .by_ref()
        .take(1)
        .try_for_each(|line| writeln!(output, "<p class=\"lead\">{}</p>", escaped(&line)))?;
    let tiles = tiles::of(sheet);
    let rest: String = lines.map(|line| format!("<p>{}</p>\n", escaped(&line))).collect();
    match tiles.is_empty() || rest.is_empty() {
        true => write!(output, "{tiles}{rest}")?,
        false => write!(output, "{tiles}<details><summary>In words</summary>\n{rest}</details>\n")?,
    }
    output.write_all(b"</section>\n")
}

/// Returns the data of a run as the page's scripts read it.
fn data(sheet: &Sheet) -> Value {
    json!({
        "name": sheet.name,
        "title": title::of(sheet),
        "result": figures::of(&sheet.result),
        "explained": sheet.explained,
        "timeline": sheet.timeline,
        "pictures": sheet.pictures,
        "racks": sheet.racks,
        "notes": sheet.notes,
    })
}

/// Returns a value as JSON that cannot end its enclosing script element.
fn inlined(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}
