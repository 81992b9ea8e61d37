//! The table of an experiment: its rows, and the figures for comparison.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

/// The rows of an experiment, with the sections of its file. Each kind of experiment has its own
/// types of row and of common fields.
#[derive(Clone, Debug, Serialize)]
pub struct Table<Experiment, Row, Common = ()> {
    /// The sections of the scenario's file.
    #[serde(skip)]
    pub experiment: Experiment,
    /// The fields that are common to all rows, such as the length of files.
    #[serde(flatten)]
    pub common: Common,
    /// The measured rows.
    pub rows: Vec<Row>,
}

impl<Experiment: Clone, Row, Common> Table<Experiment, Row, Common> {
    /// Creates a table of `rows`.
    pub fn new(experiment: &Experiment, common: Common, rows: Vec<Row>) -> Self {
        Self { experiment: experiment.clone(), common, rows }
    }
}

/// The length of a copied file.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Size {
    /// The length as a share of the published file's.
    pub scale: f64,
    /// The length in bytes.
    pub bytes: u64,
}

/// Writes a line: `of` padded to 34 columns, `what` padded to 11, and then the figures, which must
/// be padded already.
pub fn write_line(
    f: &mut Formatter<'_>,
    of: &str,
    what: &str,
    figures: impl IntoIterator<Item = impl Display>,
) -> fmt::Result {
    write!(f, "{of:<34}{what:<11}")?;
    figures.into_iter().try_for_each(|figure| write!(f, "{figure}"))?;
    writeln!(f)
}

/// Formats a figure; `None` gives a dash.
pub fn or_dash(figure: Option<impl Display>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn common_fields_are_serialized_beside_rows() {
        let sized = Table::new(&"experiment", Size { scale: 0.5, bytes: 10 }, vec![1, 2]);
        let wanted = json!({ "scale": 0.5, "bytes": 10, "rows": [1, 2] });
        assert_eq!(serde_json::to_value(sized).unwrap(), wanted);
        let bare = Table::new(&"experiment", (), vec![1]);
        assert_eq!(serde_json::to_value(bare).unwrap(), json!({ "rows": [1] }));
    }
}
