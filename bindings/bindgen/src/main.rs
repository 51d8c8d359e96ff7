//! `scripts/bindgen` runs this.

fn main() {
    uniffi::uniffi_bindgen_main();
}
