//! A Slurm cluster: the controller runs on the head, and slurmd on every node.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::machines::{Machines, said};

/// Machines on which Slurm runs.
#[derive(Debug)]
pub struct Slurm {
    /// The head and the nodes. Commands of Slurm need the environment variable `SLURM_CONF` with
    /// the value [`Slurm::CONF`].
    pub machines: Machines,
}

impl Slurm {
    /// The path of Slurm's configuration on every machine.
    pub const CONF: &str = "/mnt/slurm/slurm.conf";

    /// Starts a cluster of `nodes` nodes; see [`Machines::start`] for `hidden`.
    ///
    /// # Errors
    /// When this process is not root, or Slurm or munge is missing.
    pub fn start(nodes: u8, hidden: &Path) -> Result<Self> {
        let machines = Machines::start(nodes, hidden)?;
        machines.shell(
            0,
            "hostname head; echo 10.99.0.254 head >>/mnt/hosts; \
             mkdir -p /mnt/slurm/state /run/munge /mnt/munge; chmod 755 /mnt /run /run/munge; \
             chmod 700 /mnt/munge; dd if=/dev/urandom of=/mnt/munge/key bs=128 count=1 2>/dev/null; \
             chmod 600 /mnt/munge/key",
        )?;
        fs::write(machines.seen(0, Self::CONF), conf(nodes)).context("slurm.conf")?;
        let slurm = Self { machines };
        slurm.machines.shell(
            0,
            "munged --key-file=/mnt/munge/key --seed-file=/mnt/munge/seed \
             --log-file=/mnt/munge/log --pid-file=/mnt/munge/pid",
        )?;
        slurm.detached(0, "/usr/sbin/slurmctld")?;
        for node in 1..=nodes {
            slurm.machines.shell(node, &format!("mkdir -p /mnt/slurm/spool.n{node}"))?;
            slurm.detached(node, "/usr/sbin/slurmd")?;
        }
        slurm.wait_idle(nodes)?;
        Ok(slurm)
    }

    fn detached(&self, machine: u8, daemon: &str) -> Result<()> {
        let conf = Self::CONF;
        let script = format!("SLURM_CONF={conf} {daemon} -D >/dev/null 2>&1 </dev/null &");
        self.machines.shell(machine, &script)
    }

    fn wait_idle(&self, nodes: u8) -> Result<()> {
        const LOOK_INTERVAL: std::time::Duration = std::time::Duration::from_millis(50);
        let conf = format!("SLURM_CONF={}", Self::CONF);
        let mut last = String::new();
        for _ in 0..2400 {
            let mut command = self.machines.command(0, "env");
            let output = command.args([&conf, "sinfo", "-h", "-t", "idle", "-o", "%D"]).output()?;
            if String::from_utf8_lossy(&output.stdout).trim() == nodes.to_string() {
                return Ok(());
            }
            last = said(&output);
            std::thread::sleep(LOOK_INTERVAL);
        }
        let log = fs::read_to_string(self.machines.seen(0, "/mnt/slurm/slurmctld.log"));
        bail!("Slurm's nodes didn't come up: {last}\n{}", log.unwrap_or_default())
    }
}

fn conf(nodes: u8) -> String {
    let mut conf = String::from(
        "ClusterName=test\nSlurmctldHost=head(10.99.0.254)\nSlurmUser=root\nSlurmdUser=root\n\
         AuthType=auth/munge\nAuthInfo=cred_expire=5\nCredType=cred/munge\nMpiDefault=none\n\
         ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
         JobAcctGatherType=jobacct_gather/none\n\
         AccountingStorageType=accounting_storage/none\nSelectType=select/cons_tres\n\
         SelectTypeParameters=CR_CPU\nSwitchType=switch/none\nSlurmdParameters=config_overrides\n\
         SlurmctldPidFile=/mnt/slurm/slurmctld.pid\nSlurmdPidFile=/mnt/slurm/slurmd.%n.pid\n\
         StateSaveLocation=/mnt/slurm/state\nSlurmdSpoolDir=/mnt/slurm/spool.%n\n\
         SlurmctldLogFile=/mnt/slurm/slurmctld.log\nSlurmdLogFile=/mnt/slurm/slurmd.%n.log\n\
         ReturnToService=2\nTreeWidth=65533\nMessageTimeout=10\nKillWait=2\n\
         SlurmdTimeout=5\nJobRequeue=1\n\
         SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,defer=0\n\
         PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
    );
    for node in 1..=nodes {
        writeln!(conf, "NodeName=n{node} NodeAddr=10.99.0.{node} CPUs=2 State=UNKNOWN")
            .expect("a string takes text");
    }
    conf
}
