//! The generator of bindings, which `scripts/bindgen` runs.

fn main() {
    uniffi::uniffi_bindgen_main();
}
