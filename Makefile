# Every target is one command; what it does is in xtask/ or in the binary itself.
.PHONY: demo check test tidy reference book soak bench static deb wheel image fabric install install-fabric

# Emulates a small cluster on this machine and copies a real file to all of it. The build for developers
# is done sooner, and its ciphers and digests are optimised: the wires are the limit.
demo:
	@echo "compiling Garland and the libraries that it uses: about three minutes on two processors, once"
	@cargo build --locked --package garland --bin garland
	@cargo run --quiet --locked --package garland --bin garland -- demo

# Tidy, Clippy, and the tests of crates and machines: minutes, without root.
check:
	cargo xtask check

# Installs what the tests need and runs all checks and tests.
test:
	cargo xtask test

tidy:
	cargo xtask tidy

# Writes what the commands' --help says into the book, after a change of it.
reference:
	cargo build --quiet --locked --package garland --bin garland
	rm -rf docs/reference
	cargo run --quiet --locked --package garland --bin garland -- man --markdown --directory docs/reference

# Makes a site of docs/ in target/book, and checks that it has no dead link. The first time it builds mdBook: minutes.
book:
	cargo xtask book

# MINUTES=60 by default.
soak:
	cargo xtask soak scenarios
	cargo xtask soak $(MINUTES)

# The copy, ping, wires, disk, stripes, trees, mounts and jobs against their peers, labs up and down, predictions, and reports; writes bench/results/.
bench:
	cargo xtask bench chain
	cargo xtask bench wires-of-today
	cargo xtask bench lab
	cargo xtask bench ping
	cargo xtask bench wires
	cargo xtask bench disk
	cargo xtask bench stripe
	cargo xtask bench trees
	cargo xtask bench ways
	cargo xtask bench mount
	cargo xtask bench farm
	cargo xtask bench forecast
	cargo xtask bench report

# The optimised program, which runs on any Linux of the same processor, with the list of what is in it and checksums;
# prints where they are.
static:
	cargo xtask static

# A Debian package with the program, its manual, completions and systemd units, in target/debian.
deb:
	cargo xtask deb

# A wheel for pip with the Python client and the program, in target/wheel.
wheel:
	cargo xtask wheel

# A container image with the program, target/oci/garland.tar, for podman load or docker load.
image:
	cargo xtask image

# The helper for `garland ping --transport fabric`, beside garland: the only dynamic program here.
fabric:
	cargo xtask fabric --release

install:
	install -D "$$(cargo xtask static | head -n 1)" "$${CARGO_HOME:-$$HOME/.cargo}/bin/garland"

install-fabric:
	install "$$(cargo xtask fabric --release)" "$${CARGO_HOME:-$$HOME/.cargo}/bin/"
