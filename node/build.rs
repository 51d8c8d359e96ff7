//! On macOS, a library for Node may use symbols that only Node has.

fn main() {
    napi_build::setup();
}
