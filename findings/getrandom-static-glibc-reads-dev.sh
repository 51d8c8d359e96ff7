#!/usr/bin/env bash
# A program that is linked statically with glibc does not find the system call getrandom through the crate getrandom, which asks the loader
# for the C library's function: it reads /dev/urandom, after it has waited for /dev/random. Where both are missing, as in a bare chroot,
# it fails, though the kernel has the call and the C library's function, called directly, works.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cargo init --quiet --name random --vcs none
cargo add --quiet getrandom@=0.4.3 libc@=0.2.191
cat >src/main.rs <<'RUST'
fn main() {
    let mut bytes = [0; 16];
    // SAFETY: sixteen bytes are written.
    let n = unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    println!("C library: {n} bytes; crate: {:?}", getrandom::fill(&mut bytes).map_err(|error| error.raw_os_error()));
}
RUST
target="$(uname -m)-unknown-linux-gnu"
RUSTFLAGS="-Ctarget-feature=+crt-static" cargo build --quiet --target "$target"
mkdir bare
cp "target/$target/debug/random" bare
outside=$(bare/random)
inside=$(unshare --map-root-user chroot bare /random 2>/dev/null || PATH="$PATH:/usr/sbin" chroot bare /random)
echo "getrandom 0.4.3, static with glibc, with /dev: $outside"
echo "getrandom 0.4.3, static with glibc, without /dev: $inside"
[ "$outside" = "C library: 16 bytes; crate: Ok(())" ] && [ "$inside" = "C library: 16 bytes; crate: Err(Some(2))" ]
