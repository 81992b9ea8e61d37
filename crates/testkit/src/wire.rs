//! A slow wire: a network namespace whose loopback device has a limited rate. It lasts as long as the
//! command in it, so there is nothing to clean up.

use std::path::Path;
use std::process::Command;

/// A loopback that is slow or as it is, and whether the command may mount in its own view of the
/// file system.
#[derive(Clone, Debug)]
pub struct Wire {
    setup: String,
}

impl Wire {
    /// A loopback that carries `mbit` million bits a second, all hops of a chain together.
    #[must_use]
    pub fn slow(mbit: u32) -> Self {
        // The bucket holds a few of loopback's 64 KiB packets.
        let setup = format!(
            "ip link set lo up && tc qdisc add dev lo root tbf rate {mbit}mbit burst 512k latency 200ms"
        );
        Self { setup }
    }

    /// A loopback as it is.
    #[must_use]
    pub fn quick() -> Self {
        Self { setup: "ip link set lo up".to_owned() }
    }

    /// Runs the shell command `setup`, too, before the program; it may mount.
    #[must_use]
    pub fn and(mut self, setup: &str) -> Self {
        self.setup = format!("{} && {setup}", self.setup);
        self
    }

    /// A command that becomes `program` there, under the process number that it was started with.
    #[must_use]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("unshare");
        let user: &[&str] = if garland_sys::process::user_id() == 0 { &[] } else { &["-r"] };
        command.args(user).args(["--net", "--mount", "sh", "-ec"]);
        command.arg(format!("{} && exec \"$0\" \"$@\"", self.setup)).arg(program);
        command
    }
}
