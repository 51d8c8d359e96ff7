#!/usr/bin/env bash
# The Rust crate `image` decodes the first half of a JPEG file without an error, and fills the rest with grey. The first half of a PNG
# file is an error, and Pillow refuses both.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet pillow==13.0.0
cat >halves.py <<'PYTHON'
import io
from PIL import Image

picture = Image.effect_noise((160, 160), 60).convert("RGB")
for form in ("jpeg", "png"):
    file = io.BytesIO()
    picture.save(file, form)
    half = file.getvalue()[: len(file.getvalue()) // 2]
    open(f"half.{form}", "wb").write(half)
    try:
        Image.open(io.BytesIO(half)).load()
        print(f"Pillow {form}: accepted")
    except OSError as error:
        print(f"Pillow {form}: {str(error).split(' (')[0]}")
PYTHON
venv/bin/python halves.py | tee found
cargo init --quiet --name halves --vcs none
cargo add --quiet image@=0.25.10 --no-default-features --features jpeg,png
cat >src/main.rs <<'RUST'
fn main() {
    for form in ["jpeg", "png"] {
        match image::open(format!("half.{form}")) {
            Ok(picture) => println!("image {form}: accepted, the last pixel is {:?}", picture.to_rgb8().get_pixel(159, 159).0),
            Err(_) => println!("image {form}: refused"),
        }
    }
}
RUST
cargo run --quiet | tee --append found
grep -q '^Pillow jpeg: image file is truncated$' found
grep -q '^Pillow png: .*truncated' found
grep -q '^image jpeg: accepted' found
grep -q '^image png: refused$' found
