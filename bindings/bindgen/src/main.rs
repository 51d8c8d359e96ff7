//! Generates the bindings: `scripts/bindgen` calls it.

fn main() {
    uniffi::uniffi_bindgen_main()
}
