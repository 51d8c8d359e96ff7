//! The shared library is found by its name, not by the path that it was linked from.

fn main() {
    if matches!(std::env::var("CARGO_CFG_TARGET_OS").as_deref(), Ok("linux" | "android")) {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcauserie_c.so");
    }
}
