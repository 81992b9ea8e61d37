//! A wire: a network namespace whose loopback device may have a limited rate. It exists as long as
//! the command that runs in it, so that nothing needs to be cleaned up.

use std::path::Path;
use std::process::Command;

/// The setup of a namespace: the rate of its loopback device, and further shell commands.
#[derive(Clone, Debug)]
pub struct Wire {
    setup: String,
}

impl Wire {
    /// Returns a wire with a rate limit of `mbit` Mbit/s, which all hops of a chain share.
    #[must_use]
    pub fn slow(mbit: u32) -> Self {
        // The bucket holds a few of loopback's 64 KiB packets.
        let setup = format!(
            "ip link set lo up && tc qdisc add dev lo root tbf rate {mbit}mbit burst 512k latency 200ms"
        );
        Self { setup }
    }

    /// Returns a wire without a rate limit.
    #[must_use]
    pub fn quick() -> Self {
        Self { setup: "ip link set lo up".to_owned() }
    }

    /// Adds the shell command `setup`, which runs in the namespace before the program. The command
    /// may mount file systems, which only the program sees.
    #[must_use]
    pub fn and(mut self, setup: &str) -> Self {
        self.setup = format!("{} && {setup}", self.setup);
        self
    }

    /// Returns a command that sets up the namespace and then executes `program` in it, in the same
    /// process.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("unshare");
        let user: &[&str] = if garland_sys::process::user_id() == 0 { &[] } else { &["-r"] };
        command.args(user).args(["--net", "--mount", "sh", "-ec"]);
        command.arg(format!("{} && exec \"$0\" \"$@\"", self.setup)).arg(program);
        command
    }
}
