// The number of a step, written after all else: what is read back with it belongs to this step. A device that drops a step in the
// background does not report it.
struct Shape {
    nothing: u32,
    step: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read_write> receipt: array<u32>;

@compute @workgroup_size(1)
fn main() {
    receipt[0] = shape.step ^ shape.nothing;
}
