//! Prometheus' text-based exposition format, version 0.0.4.

use std::fmt::Write as _;

/// What Prometheus may do with the values of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They go up and down.
    Gauge,
    /// They only go up, except at a restart; the name ends with `_total`.
    Counter,
}

/// A text of metrics, each with all of its values.
#[derive(Debug, Default)]
pub struct Exposition(String);

impl Exposition {
    /// Begins a metric; `name` lacks the prefix `garland_`.
    pub fn begin(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP garland_{name} {help}\n# TYPE garland_{name} {kind}");
    }

    /// Adds a value of the metric that was begun last. Labels are pairs of a name and a value.
    pub fn value(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| label(name, value)).collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.0, "garland_{name}{labels} {value}");
    }

    /// Returns the text.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// Returns a label; its value is escaped.
fn label(name: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        assert_eq!(label("path", "a\"b\\c"), "path=\"a\\\"b\\\\c\"");
    }

    #[test]
    fn a_metric_has_its_help_its_type_and_its_values() {
        let mut text = Exposition::default();
        text.begin("x_total", Kind::Counter, "All x.");
        text.value("x_total", &[("node", "n1"), ("path", "/a")], 3.0);
        text.value("x_total", &[], 0.5);
        let wanted = "# HELP garland_x_total All x.\n# TYPE garland_x_total counter\n\
                      garland_x_total{node=\"n1\",path=\"/a\"} 3\ngarland_x_total 0.5\n";
        assert_eq!(text.into_string(), wanted);
    }
}
