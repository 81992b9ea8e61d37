//! The protocol: fixed-size frames on the links of the chain, sealed blocks, messages on the
//! control channel, and the sans-io machines that decide. A machine takes events and returns
//! orders; it has no payload, never blocks, and never reads a clock or makes random values.
//!
//! - [`copy`]: frames and sealed blocks, and the machines of a copy: [`copy::Head`],
//!   [`copy::Relay`] and [`copy::Sink`],
//! - [`farm`], whose machine is in [`farm::dispatch`]; [`names`]; [`files`] of mounts; [`measure`],
//! - [`operation`]: the machines of all other operations on agents,
//! - [`wire`]: how two ends recognise each other and speak.
//!
//! [`ToAgent`] and [`FromAgent`] are all messages; a [`Role`] says who may send which.
//!
//! # Where to change what
//!
//! - After how long a silent node of a copy is suspected or dead, and when one is slow or stuck:
//!   `copy/head/policy.rs`, judged in `liveness.rs`, `watch.rs`, `stuck.rs` and `disks.rs` there.
//!   In other operations: `operation/silence.rs`.
//! - Busy agents and their queue, late nodes, phases, the end on the agents:
//!   `copy/head/{admission,joining,milestones,ending}.rs`.
//! - Links that break, and when they are given up: `copy/head/retries.rs`; the attempts of one
//!   link: `lane.rs`. Who feeds whom: `chain.rs`.
//! - What the head says of a node in the end: `NodeOutcome` in `copy/head/node.rs`, filled in
//!   `ending.rs`; `results/src/copy/making.rs` makes the result of it. What nodes report is in
//!   `copy/report.rs`.
//! - How agents of other releases are ended: `wire/retirement.rs` has the bytes, which never
//!   change.
//! - Which greetings are repetitions, and which come too often:
//!   `wire/{freshness,greeting_rate}.rs` decide; the MAC and its key are in `agreement.rs` there.
//! - A session that continues over another connection: `wire/delivery.rs` says what is kept and
//!   numbered. Sealed frames of control channels and mounts: `wire/line.rs`; their keys come from
//!   the handshake in `channel.rs`.
//! - What all nodes have of a tree before a rerun: `operation/unchanged.rs`.
//! - Which pairs `wires` measures next, what it believes and who is left out: `operation/wires/`.
//! - A farm: `farm/dispatch/head.rs` composes the machine of agents, `batch.rs` divides copies of
//!   files of jobs, `rounds.rs` is the machine of engines that choose nodes themselves;
//!   `moves.rs` decides which running jobs move, by `work.rs`.
//! - Faults that users inject (`--inject`): `copy/injection.rs`.

#![forbid(unsafe_code)]

mod bounds;
pub mod command;
pub mod copy;
pub mod farm;
pub mod files;
pub mod measure;
mod message;
pub mod names;
pub mod operation;
mod role;
pub mod wire;

pub use message::{FromAgent, Message, ToAgent};
pub use role::{
    Admitted, AskKind, Budget, Grant, OrderKind, Refused, Role, budget_table, table as role_table,
};
