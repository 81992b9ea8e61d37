//! Tests of the simulated world by itself.

use std::io::{Read, Write};
use std::sync::Arc;

use super::*;
use crate::channel::{channel, sync_channel};
use crate::mptcp::Transport;
use crate::sync::{Condvar, Mutex};
use crate::tcp_info::TcpInfo;
use crate::threads::{self, sleep};
use crate::{clock, tcp};

const SECOND: Duration = Duration::from_secs(1);

/// Starts a process that sends back what it receives on port 7, connection by connection.
fn start_echo() -> Process {
    Process::start("echo", || {
        let listener = tcp::listen(7, Transport::Tcp).unwrap();
        while let Ok((mut stream, _)) = listener.accept() {
            let thread = threads::spawn("serve", move || {
                let mut bytes = [0; 1000];
                while let Ok(length @ 1..) = stream.read(&mut bytes) {
                    stream.write_all(&bytes[..length]).unwrap();
                }
            });
            drop(thread.unwrap());
        }
    })
    .unwrap()
}

fn dial(process: Process) -> io::Result<crate::socket::TcpStream> {
    tcp::connect((process.address(), 7).into(), SECOND, Transport::Tcp)
}

#[test]
fn bytes_travel_for_a_while_and_the_same_seed_gives_the_same_run() {
    let travel = |seed| {
        run(seed, Wires::default(), || {
            let echo = start_echo();
            sleep(Duration::from_millis(1));
            let began_ns = clock::now_ns();
            let mut stream = dial(echo).unwrap();
            let sent: Vec<u8> = (0..3_000_000).map(|at| at as u8).collect();
            let mut writer = stream.try_clone().unwrap();
            let its = sent.clone();
            let writing = threads::spawn("write", move || writer.write_all(&its).unwrap());
            let mut received = vec![0; sent.len()];
            stream.read_exact(&mut received).unwrap();
            writing.unwrap().join().unwrap();
            assert!(received == sent);
            clock::now_ns() - began_ns
        })
    };
    // 3 MB at 125 MB/s.
    assert!((24_000_000..60_000_000).contains(&travel(1)), "{} ns", travel(1));
    assert_eq!(travel(1), travel(1));
    assert_ne!(travel(1), travel(2));
}

#[test]
fn waits_end_by_other_threads_or_by_time() {
    run(3, Wires::default(), || {
        let shared = Arc::new((Mutex::new(0), Condvar::new()));
        let its = Arc::clone(&shared);
        let (sender, receiver) = sync_channel(1);
        let thread = threads::spawn("count", move || {
            for number in 0..10 {
                sleep(Duration::from_millis(1));
                *its.0.lock() += 1;
                its.1.notify_all();
                sender.send(number).unwrap();
            }
        });
        let mut count = shared.0.lock();
        shared.1.wait_while(&mut count, |count| *count < 1);
        assert!(shared.1.wait_while_for(&mut count, |_| true, SECOND / 100), "the time is up");
        drop(count);
        assert_eq!(receiver.iter().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
        thread.unwrap().join().unwrap();
        assert_eq!(*shared.0.lock(), 10);
        let (kept, silent) = channel::<()>();
        let began_ns = clock::now_ns();
        assert!(silent.recv_timeout(SECOND).is_err());
        assert!((SECOND.as_nanos() as u64..2_000_000_000).contains(&(clock::now_ns() - began_ns)));
        drop(kept);
        assert!(silent.recv().is_err());
    });
}

#[test]
fn a_process_can_be_paused_cut_off_killed_and_lose_its_power() {
    run(4, Wires::default(), || {
        let echo = start_echo();
        sleep(Duration::from_millis(1));
        let mut stream = dial(echo).unwrap();
        let mut answer = |what: &str| {
            let began_ns = clock::now_ns();
            stream.write_all(b"x").unwrap();
            let read = stream.read(&mut [0]);
            assert!(matches!(read, Ok(1)), "{what}: {read:?}");
            clock::now_ns() - began_ns
        };
        assert!(answer("at once") < 2_000_000);
        echo.pause(SECOND);
        assert!(answer("after the pause") > 900_000_000);
        echo.cut(Process::this(), SECOND);
        assert!(answer("after the cut") > 900_000_000);
        echo.kill();
        assert!(echo.is_gone());
        sleep(Duration::from_millis(10));
        assert_eq!(stream.read(&mut [0]).unwrap(), 0, "the kernel ends its connections");
        assert!(stream.write(b"x").is_err());
        assert_eq!(dial(echo).unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        let other = start_echo();
        sleep(Duration::from_millis(1));
        let mut stream = dial(other).unwrap();
        other.power_off();
        stream.set_read_timeout(Some(SECOND)).unwrap();
        stream.write_all(b"x").unwrap();
        assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(dial(other).unwrap_err().kind(), io::ErrorKind::TimedOut);
    });
}

#[test]
fn a_cut_in_one_direction_holds_up_that_one_and_all_acknowledgements() {
    run(6, Wires::default(), || {
        let echo = start_echo();
        sleep(Duration::from_millis(1));
        let mut stream = dial(echo).unwrap();
        let mut answer = |what: &str, after: Duration| {
            let began_ns = clock::now_ns();
            stream.write_all(b"x").unwrap();
            sleep(after);
            let info = TcpInfo::read(&stream).unwrap();
            assert!(matches!(stream.read(&mut [0]), Ok(1)), "{what}");
            (clock::now_ns() - began_ns, info)
        };
        for (from, to) in [(echo, Process::this()), (Process::this(), echo)] {
            from.cut_to(to, SECOND);
            let (took_ns, info) = answer("one direction", SECOND * 9 / 10);
            assert!((1_000_000_000..1_100_000_000).contains(&took_ns), "{took_ns} ns");
            // Sent again after 0.2 and 0.6 s.
            assert_eq!(info.vain, 2);
            assert!(info.unheard > SECOND / 2, "{info:?}");
            assert_eq!(answer("both directions", SECOND / 10).1, TcpInfo::default());
        }
    });
}

#[test]
fn a_connection_breaks_and_a_bit_changes() {
    run(7, Wires::default(), || {
        let echo = start_echo();
        sleep(Duration::from_millis(1));
        let mut stream = dial(echo).unwrap();
        Process::this().flip_to(echo, 3);
        stream.write_all(&[0; 8]).unwrap();
        let mut read = [1; 8];
        stream.read_exact(&mut read).unwrap();
        assert_eq!(read, [0, 0, 0, 8, 0, 0, 0, 0]);
        Process::this().break_connections(echo);
        let broken = stream.read(&mut [0]).unwrap_err();
        assert_eq!(broken.kind(), io::ErrorKind::ConnectionReset);
        assert!(!TcpInfo::read(&stream).unwrap().peer_closed);
        assert!(dial(echo).is_ok(), "others can be opened");
    });
}

#[test]
fn a_machine_that_sleeps_does_not_notice_and_a_wall_clock_jumps() {
    run(8, Wires::default(), || {
        let (tell, told) = channel();
        let sleeper = Process::start("sleeper", move || {
            let clocks = || [clock::now_ns(), clock::boot_ns(), clock::wall_ns()];
            let before = clocks();
            sleep(SECOND * 2);
            let after = clocks();
            tell.send([0, 1, 2].map(|at| (after[at] - before[at]) / 100_000_000)).unwrap();
        });
        sleep(SECOND);
        let sleeper = sleeper.unwrap();
        sleeper.suspend(SECOND * 3);
        sleeper.set_wall_clock(100);
        assert_eq!(told.recv().unwrap(), [20, 50, 1050], "tenths of a second");
    });
}

#[test]
#[should_panic(expected = "the world hangs")]
fn threads_that_wait_for_each_other_are_named() {
    run(5, Wires::default(), || {
        let (_kept, receiver) = channel::<()>();
        receiver.recv().unwrap();
    });
}
