//! A copy on real sockets and files, with workers and without.

use std::net::TcpListener;

use garland_core::plan::Layout;
use garland_protocol::{CopyId, Secret, Verdict};
use garland_spike::head::{HeadDriver, Job};
use garland_spike::node::{CONTROL_LISTENER, DATA_LISTENER, Flaw, NodeDriver};
use garland_spike::real::Real;
use garland_sys::clock;

#[test]
fn a_file_arrives_over_loopback() {
    for (workers, sealed) in [(0, true), (2, true), (2, false)] {
        let name = format!("garland-spike-{}-{workers}-{sealed}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder).unwrap();
        let bytes: Vec<u8> = (0..9_000_001_u32).map(|at| (at / 7) as u8).collect();
        std::fs::write(folder.join("source"), &bytes).unwrap();
        let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [control, data] = listeners.each_ref().map(|one| one.local_addr().unwrap());
        let job = Job {
            copy: CopyId([1; 16]),
            secret: Secret([2; 32]),
            seed: Secret([3; 32]),
            source: folder.join("source"),
            layout: Layout::fitting(bytes.len() as u64),
            destination: folder.join("file"),
            sealed,
            fsync: true,
            node: (control, data),
            buffers: 4,
            node_buffers: 4,
        };
        let node = std::thread::spawn(move || {
            let mut io = Real::new(workers).unwrap();
            for (name, listener) in [CONTROL_LISTENER, DATA_LISTENER].into_iter().zip(listeners) {
                io.listen(name, listener).unwrap();
            }
            io.run(&mut NodeDriver::new(clock::now_ns(), Flaw::None)).unwrap();
        });
        let mut head = HeadDriver::new(job, clock::now_ns());
        Real::new(workers).unwrap().run(&mut head).unwrap();
        node.join().unwrap();
        assert_eq!(head.verdict(), Some(Verdict::Ok));
        assert!(std::fs::read(folder.join("file")).unwrap() == bytes);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "no hidden file is left");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
