fn main() -> std::process::ExitCode {
    if let Some(c) = garland_lab::hidden::main(std::env::args_os()) {
        return c;
    }
    use garland_lab::*;
    let a: Vec<String> = std::env::args().collect();
    let state = StateDir(a[1].clone().into());
    let r = (|| -> Result<(), LabError> {
        match a[2].as_str() {
            "up" => {
                let r: u64 = a[4].parse().unwrap();
                Lab::up(
                    &state,
                    Spec {
                        name: "lab".into(),
                        nodes: a[3].parse().unwrap(),
                        medium: Medium::Switch { rate: (r > 0).then_some(r) },
                        roots: None,
                    },
                )?;
            }
            "check" => {
                for m in Lab::open(&state, "lab")?.check()? {
                    println!(
                        "{} {} {} {:.2} Mbit/s {:?}",
                        m.from,
                        m.to,
                        m.at_once,
                        m.goodput / 1e6,
                        m.ratio()
                    );
                }
            }
            "status" => {
                println!("{}", serde_json::to_string(&Lab::open(&state, "lab")?.status()?).unwrap())
            }
            "exec" => {
                let st = Lab::open(&state, "lab")?
                    .command(&a[3], &a[4])?
                    .args(&a[5..])
                    .status()
                    .unwrap();
                println!("{st:?}");
            }
            "down" => {
                println!("{}", Lab::end(&state, "lab")?);
            }
            "flip" => fault::flip(
                &Lab::open(&state, "lab")?,
                &a[3],
                if a[4] == "in" { fault::Way::In } else { fault::Way::Out },
                a[5].parse().unwrap(),
            )?,
            "cut" => fault::cut(&Lab::open(&state, "lab")?, &a[3])?,
            "restore" => fault::restore(&Lab::open(&state, "lab")?, &a[3])?,
            "chain" => {
                let lab = Lab::open(&state, "lab")?;
                let n: u32 = a[3].parse().unwrap();
                let bytes = &a[4];
                let me = std::env::current_exe().unwrap();
                let cc = a.get(5).cloned().unwrap_or("bbr".into());
                let mut kids = vec![];
                for k in (1..=n).rev() {
                    let mut c = lab.command(&format!("n{k}"), &me)?;
                    c.arg("x").arg(if k == n { "sink" } else { "relay" }).arg(&cc);
                    if k < n {
                        c.arg(lab.address(&format!("n{}", k + 1))?.to_string());
                    }
                    kids.push(c.spawn().unwrap());
                }
                std::thread::sleep(std::time::Duration::from_millis(300));
                let cpu0 = cpu();
                let t0 = std::time::Instant::now();
                let mut h = lab.command("n0", &me)?;
                h.arg("x").arg("send").arg(&cc).arg(lab.address("n1")?.to_string()).arg(bytes);
                h.status().unwrap();
                for mut k in kids {
                    k.wait().unwrap();
                }
                let t = t0.elapsed().as_secs_f64();
                let c1 = cpu();
                let b: f64 = bytes.parse().unwrap();
                println!(
                    "{cc} {n} hops {:.3} s, {:.1} MB/s = {:.4} of 117.69 MB/s; cpu total {:.2} of {:.2} ({:.2} s/GiB/node)",
                    t,
                    b / t / 1e6,
                    b / t / 1e6 / 117.69,
                    c1 - cpu0,
                    2.0 * t,
                    (c1 - cpu0) / (b / 1073741824.0) / n as f64
                );
            }
            "sink" | "relay" | "send" => {
                use std::io::{Read, Write};
                let mut buf = vec![0u8; 262144];
                let set = |s: &std::net::TcpStream| {
                    garland_sys::tcp::choose_congestion(s, &[a[3].as_str()]).unwrap();
                };
                let accept = || {
                    let l = std::net::TcpListener::bind("0.0.0.0:9000").unwrap();
                    l.accept().unwrap().0
                };
                match a[2].as_str() {
                    "sink" => {
                        let mut i = accept();
                        loop {
                            if i.read(&mut buf).unwrap() == 0 {
                                break;
                            }
                        }
                        i.write_all(b"k").unwrap();
                    }
                    "relay" => {
                        let mut o = std::net::TcpStream::connect((a[4].as_str(), 9000)).unwrap();
                        set(&o);
                        let mut i = accept();
                        loop {
                            let n = i.read(&mut buf).unwrap();
                            if n == 0 {
                                break;
                            }
                            o.write_all(&buf[..n]).unwrap();
                        }
                        o.shutdown(std::net::Shutdown::Write).unwrap();
                        o.read_exact(&mut buf[..1]).unwrap();
                        i.write_all(b"k").unwrap();
                    }
                    _ => {
                        let mut o = std::net::TcpStream::connect((a[4].as_str(), 9000)).unwrap();
                        set(&o);
                        let mut left: usize = a[5].parse().unwrap();
                        while left > 0 {
                            let n = left.min(buf.len());
                            o.write_all(&buf[..n]).unwrap();
                            left -= n;
                        }
                        o.shutdown(std::net::Shutdown::Write).unwrap();
                        o.read_exact(&mut buf[..1]).unwrap();
                    }
                }
            }
            _ => panic!(),
        }
        Ok(())
    })();
    if let Err(e) = r {
        println!("ERR {e}");
        return std::process::ExitCode::FAILURE;
    }
    std::process::ExitCode::SUCCESS
}

fn cpu() -> f64 {
    let t = std::fs::read_to_string("/proc/stat").unwrap();
    let f: Vec<f64> =
        t.lines().next().unwrap().split_whitespace().skip(1).map(|x| x.parse().unwrap()).collect();
    (f[0] + f[1] + f[2] + f[5] + f[6]) / 100.0
}
