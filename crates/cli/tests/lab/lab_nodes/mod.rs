//! Copies in labs whose nodes are more than a NIC each: bonds, slow disks, and every scenario's
//! topology, where each node must reach each other one.

mod balances;
mod bonds;
mod checked;
mod comings;
mod disks;
mod members;
mod racks;
mod rails;
mod scenarios;
mod slow;
mod stage;
