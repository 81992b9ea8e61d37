//! `garland-fabric`: what an agent asks of libfabric. It is started by an agent, not by people.

fn main() -> std::process::ExitCode {
    garland_fabric::run()
}
