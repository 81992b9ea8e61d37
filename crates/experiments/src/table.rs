//! The table of an experiment: its rows, and what they are compared with.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

/// The rows of an experiment, beside the sections of its file. A kind's own table says what a row is, what
/// all rows have in common, when the table is a miss, and how it is printed.
#[derive(Clone, Debug, Serialize)]
pub struct Table<Experiment, Row, Common = ()> {
    /// What was done, and what was published.
    #[serde(skip)]
    pub experiment: Experiment,
    /// What all rows have in common, such as the files' length.
    #[serde(flatten)]
    pub common: Common,
    /// What was measured.
    pub rows: Vec<Row>,
}

impl<Experiment: Clone, Row, Common> Table<Experiment, Row, Common> {
    /// The table of `rows`.
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

/// Writes a line of figures: 34 columns for what they are of, 11 for what they are, and the figures.
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

/// A figure, or a dash where there is none.
pub fn or_dash(figure: Option<impl Display>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| figure.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_rows_have_in_common_stands_beside_them() {
        let sized = Table::new(&"experiment", Size { scale: 0.5, bytes: 10 }, vec![1, 2]);
        let wanted = json!({ "scale": 0.5, "bytes": 10, "rows": [1, 2] });
        assert_eq!(serde_json::to_value(sized).unwrap(), wanted);
        let bare = Table::new(&"experiment", (), vec![1]);
        assert_eq!(serde_json::to_value(bare).unwrap(), json!({ "rows": [1] }));
    }
}
