//! All of Linux that Garland touches, one kernel feature a file, each with a probe and a fallback
//! where the feature may be missing. Unsafe code lives here, each with its reason, and in `fabric`
//! for what libfabric needs. Nothing here knows of clusters or copies.

#![allow(unsafe_code)]

pub mod arrival;
pub mod block_device;
pub mod cache;
pub mod cgroup;
pub mod child;
pub mod clock;
pub mod closing;
pub mod confine;
pub mod datagram;
pub mod device_use;
pub mod error;
pub mod event;
pub mod folder_events;
pub mod fuse;
pub mod identity;
pub mod init;
pub mod limits;
pub mod link_settings;
pub mod local_socket;
pub mod lock;
pub mod mptcp;
pub mod namespace;
pub mod nic;
pub mod packet;
pub mod pages;
pub mod pinning;
pub mod power;
pub mod process;
pub mod processors;
pub mod program;
pub mod proxy;
pub mod random;
pub mod schedule;
pub mod segment;
pub mod signal;
pub mod tcp;
pub mod tcp_info;
pub mod terminal;
pub mod thread_io;
pub mod threads;
pub mod uring;
pub mod watch;
