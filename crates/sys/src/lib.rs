//! Garland's interface to Linux: one kernel feature per module, with a probe and a fallback for
//! each feature that may be missing. Only this crate and `fabric`, for libfabric, contain unsafe
//! code; a comment justifies each block. Nothing here depends on clusters or copies.
//!
//! # Where to change what
//!
//! - A call of Linux that nothing here makes yet: a module of its own, named after the feature,
//!   with its probe and what is done without it.
//! - Everything that waits or reads a clock goes through `sync`, `channel`, `socket`, `threads`,
//!   `event`, `storage` or `clock`, so that it runs in a simulated `world`, too.

#![allow(unsafe_code)]

mod answers;
pub mod arrival;
pub mod block_device;
pub mod cache;
pub mod capabilities;
pub mod cgroup;
pub mod channel;
pub mod child;
pub mod clock;
pub mod closing;
pub mod confine;
pub mod copying;
pub mod datagram;
pub mod device_use;
pub mod dumpable;
pub mod error;
pub mod event;
pub mod fifo;
pub mod folder_events;
pub mod frame_tap;
pub mod fuse;
pub mod holes;
pub mod identity;
pub mod inherited;
pub mod init;
pub mod limits;
pub mod link_settings;
pub mod local_socket;
pub mod lock;
pub mod mark;
pub mod mounts;
pub mod mptcp;
pub mod namespace;
pub mod new_file;
pub mod nic;
pub mod ownership;
pub mod packet;
pub mod pages;
pub mod pinning;
pub mod pipe;
pub mod ports;
pub mod power;
pub mod private_file;
pub mod proc_file;
pub mod process;
mod process_status;
pub mod process_table;
pub mod processors;
pub mod program;
pub mod proxy;
pub mod random;
pub mod regular_file;
pub mod removal;
pub mod schedule;
pub mod segment;
pub mod signal;
pub mod socket;
pub mod storage;
pub mod sync;
pub mod syslog;
pub mod tcp;
pub mod tcp_info;
pub mod terminal;
pub mod thread_io;
pub mod threads;
mod unix_sockets;
pub mod urgent;
pub mod uring;
pub mod watch;
#[cfg(feature = "simulated")]
pub mod world;
#[cfg(not(feature = "simulated"))]
#[path = "no_world.rs"]
mod world;
pub mod writers;
