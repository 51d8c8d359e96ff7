#!/usr/bin/env bash
# cargo 1.95 strips a dependency that has `debug = false` by an override for packages, although the profile says `strip = "none"`. If the
# profile itself says `debug = false`, its `strip = "none"` holds. For Apple's systems, rustc strips with `rust-objcopy`, so such a
# build fails where that tool is not installed. Tables of lines (`debug = "line-tables-only"`) avoid it.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
export RUSTUP_TOOLCHAIN=1.95.0
cargo init --quiet --lib --name strips --vcs none
cargo add --quiet cfg-if@=1.0.4
cargo --version
stripping() { # settings of the dev profile: whether cargo asks rustc to strip the dependency
    rm -rf target
    cargo build --verbose "${@/#/--config=profile.dev.}" 2>&1 | grep 'crate-name cfg_if' | grep -o 'strip=[a-z]*' || echo "no strip"
}
for settings in 'debug=false' 'debug=false strip="none"' 'package."*".debug=false strip="none"' 'package."*".debug="line-tables-only" strip="none"'; do
    # shellcheck disable=SC2086 # several settings
    printf '%s: %s\n' "$settings" "$(stripping $settings)"
done | tee found
grep -q '^debug=false: strip=debuginfo$' found
grep -q '^debug=false strip="none": no strip$' found
grep -q '^package."\*".debug=false strip="none": strip=debuginfo$' found
grep -q '^package."\*".debug="line-tables-only" strip="none": no strip$' found
