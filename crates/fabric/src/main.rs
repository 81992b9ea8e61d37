//! `garland-fabric`: runs libfabric operations for an agent, which starts it.

fn main() -> std::process::ExitCode {
    garland_fabric::run()
}
