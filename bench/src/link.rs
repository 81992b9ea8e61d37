//! Measures the limit of all tools with iperf3: the goodput of one link of the cluster.

use anyhow::{Context, Result};
use serde_json::Value;

use super::field::{Field, wait_listening};
use super::processes::{Processes, alone};

const PORT: u16 = 5201;

/// Returns the TCP payload rate from the head to the first node in bytes per second, as the
/// receiver counts it: of one stream, or of as many as there are processors where that is more.
pub(crate) fn measure_goodput(field: &Field) -> Result<f64> {
    let processors = std::thread::available_parallelism().context("failed to count processors")?;
    let one = streams(field, 1)?;
    let many = if processors.get() > 1 { streams(field, processors.get())? } else { one };
    Ok(one.max(many))
}

fn streams(field: &Field, number: usize) -> Result<f64> {
    let mut server = Processes::default();
    let mut command = field.command(1, "iperf3")?;
    command.args(["-s", "-1"]);
    wait_listening(server.start(1, command)?, "tcp6", PORT).context("failed to start iperf3")?;
    let out = field.dir(0).join("iperf3.json");
    let mut command = field.command(0, "iperf3")?;
    command.args(["-c", &field.address(1)?, "-t", "4", "-O", "1", "-J"]);
    command.args(["-P", &number.to_string()]);
    command.arg("--logfile").arg(&out);
    alone(field, 0, command)?;
    server.finish(field)?;
    let text = std::fs::read_to_string(&out).context("failed to read iperf3's result")?;
    std::fs::remove_file(&out).context("failed to remove iperf3's result")?;
    let result: Value = serde_json::from_str(&text).context("failed to parse iperf3's result")?;
    let bits = result["end"]["sum_received"]["bits_per_second"].as_f64();
    Ok(bits.context("iperf3's result has no rate")? / 8.0)
}
