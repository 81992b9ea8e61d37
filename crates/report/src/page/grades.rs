//! The grades of scenarios: the account of all facts on top, then every statement with what was
//! measured.

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
    let grades = || sheets.iter().map(|sheet| &sheet.result["grades"]);
    let graded = grades().any(|grades| grades.is_object());
    let sum = |key: &str| grades().filter_map(|grades| grades[key].as_u64()).sum::<u64>();
    output.write_all(b"<section class=\"words grades\" aria-label=\"Grades\">\n")?;
    match graded {
        false => writeln!(output, "<h2>Ungraded: made once</h2>")?,
        true => writeln!(
            output,
            "<h2>{} independent comparable facts: {} reproduced, {} explained, {} follow from {} \
             constants, {} differ, {} too noisy, {} not measured; {} of other hardware</h2>",
            sum("counted"),
            sum("reproduced"),
            sum("explained"),
            sum("follow"),
            sum("constants"),
            sum("differ"),
            sum("noisy"),
            sum("not_measured"),
            sum("other_hardware")
        )?,
    }
    for (scenario, statements) in &scenarios {
        let mut differing = statements.iter().filter(|one| differs(one)).peekable();
        if differing.peek().is_some() {
            writeln!(output, "<h3>{}</h3>\n<ul>", text(&scenario["name"]))?;
            differing.try_for_each(|one| {
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

/// Returns whether a statement counts and did not come out.
fn differs(statement: &Value) -> bool {
    statement["standing"] == "counted" && statement["grade"]["grade"] == "differs"
}

fn row(output: &mut dyn Write, one: &Value) -> io::Result<()> {
    let cells = ["what", "unit", "published", "measured", "verdict"];
    let cells: String = cells.iter().map(|key| format!("<td>{}</td>", text(&one[*key]))).collect();
    writeln!(output, "<tr>{cells}</tr>")
}

fn text(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}
