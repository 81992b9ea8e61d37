use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Fault, FormProblem, wrong_kind};

/// The version of all configuration file formats.
const VERSION: &str = "1";

/// Parses the text of a configuration file and checks its version. `file` is the kind of file, such
/// as `cluster file`. The version is checked first, so that a newer file is not reported as one
/// with unknown keys.
pub fn document<'t>(text: &'t str, file: &'static str) -> Result<Spanned<DeTable<'t>>, Fault> {
    let document = DeTable::parse(text).map_err(|error| {
        let message = error.message().trim().replace('\n', "; ");
        Fault::new(error.span().unwrap_or(0..0), FormProblem::Syntax(message))
    })?;
    let value = document.get_ref().get("version");
    let value = value.ok_or_else(|| Fault::new(0..0, FormProblem::NoVersion(file)))?;
    match value.get_ref() {
        DeValue::Integer(version) if version.to_string() == VERSION => Ok(document),
        DeValue::Integer(version) => {
            let problem = FormProblem::Version { file, found: version.to_string() };
            Err(Fault::new(value.span(), problem))
        }
        _ => Err(wrong_kind("version", "the number 1", value)),
    }
}
