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
