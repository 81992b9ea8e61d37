//! `garland-fabric`: the helper that runs libfabric operations for the agent that started it.

fn main() -> std::process::ExitCode {
    garland_fabric::run()
}
