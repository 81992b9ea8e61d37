# Every target is one command; what it does is in xtask/ or in the binary itself.
.PHONY: demo test tidy soak bench fabric install install-fabric

# Emulates a small cluster on this machine and copies a real file to all of it.
demo:
	cargo run --quiet --release --locked --package garland --bin garland -- demo

# Installs what the tests need and runs all checks and tests.
test:
	cargo xtask test

tidy:
	cargo xtask tidy

# MINUTES=60 by default.
soak:
	cargo xtask soak $(MINUTES)

# The copy, ping, wires, disk, stripes, trees, mounts and jobs against their peers, labs up and down, and reports; writes benches/results/.
bench:
	cargo xtask bench chain
	cargo xtask bench lab
	cargo xtask bench ping
	cargo xtask bench wires
	cargo xtask bench disk
	cargo xtask bench stripe
	cargo xtask bench trees
	cargo xtask bench ways
	cargo xtask bench mount
	cargo xtask bench farm
	cargo xtask bench report

# The helper for `garland ping --transport fabric`, beside garland: the only dynamic program here.
fabric:
	cargo xtask fabric --release

install:
	cargo install --locked --path crates/cli

install-fabric:
	install "$$(cargo xtask fabric --release)" "$${CARGO_HOME:-$$HOME/.cargo}/bin/"
