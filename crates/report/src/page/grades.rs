//! The grades of scenarios: every published statement with what was measured, and what is open on
//! top.

use std::io::{self, Write};

use serde_json::Value;

use super::escape::escaped;
use super::sheet::Sheet;

/// Writes the statements of all scenarios of `sheets`; nothing if they have none.
///
/// # Errors
/// If `output` cannot be written.
pub(super) fn write(output: &mut dyn Write, sheets: &[Sheet]) -> io::Result<()> {
    let scenarios: Vec<(&Value, &[Value])> = sheets.iter().filter_map(statements).collect();
    if scenarios.is_empty() {
        return Ok(());
    }
    let all = || scenarios.iter().flat_map(|(_, statements)| statements.iter());
    let graded = all().filter(|one| is_graded(one)).count();
    let open = all().filter(is_open).count();
    output.write_all(b"<section class=\"words grades\" aria-label=\"Grades\">\n")?;
    match graded {
        0 => writeln!(output, "<h2>Ungraded: made once</h2>")?,
        _ => writeln!(output, "<h2>Open: {open} of {graded} published statements</h2>")?,
    }
    for (scenario, statements) in &scenarios {
        let mut open = statements.iter().filter(is_open).peekable();
        if open.peek().is_some() {
            writeln!(output, "<h3>{}</h3>\n<ul>", text(&scenario["name"]))?;
            open.try_for_each(|one| {
                let what = text(&one["what"]);
                let verdict = text(&one["verdict"]);
                writeln!(output, "<li>{what}: {verdict}</li>")
            })?;
            writeln!(output, "</ul>")?;
        }
    }
    writeln!(output, "<h2>All published statements</h2>")?;
    for (scenario, statements) in &scenarios {
        let name = text(&scenario["name"]);
        let question = text(&scenario["question"]);
        writeln!(
            output,
            "<h3>{name}</h3>\n<p>{question}</p>\n<table>\n<tr><th>statement</th><th>unit</th>\
             <th>published</th><th>all runs</th><th>grade</th></tr>"
        )?;
        statements.iter().try_for_each(|one| row(output, one))?;
        writeln!(output, "</table>")?;
    }
    output.write_all(b"</section>\n")
}

/// Returns the scenario of a run and its statements; `None` if the run is of another kind.
fn statements(sheet: &Sheet) -> Option<(&Value, &[Value])> {
    let statements = sheet.result["statements"].as_array()?;
    Some((&sheet.result["scenario"], statements))
}

fn is_graded(statement: &Value) -> bool {
    statement["calibrated"].is_null() && statement["grade"].is_object()
}

fn is_open(statement: &&Value) -> bool {
    is_graded(statement) && statement["grade"]["grade"] == "open"
}

fn row(output: &mut dyn Write, one: &Value) -> io::Result<()> {
    let cells = ["what", "unit", "published", "measured", "verdict"];
    let cells: String = cells.iter().map(|key| format!("<td>{}</td>", text(&one[*key]))).collect();
    writeln!(output, "<tr>{cells}</tr>")
}

fn text(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}
