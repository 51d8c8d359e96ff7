// Copies an item of a pool to another: a page that two sequences share, before one of them writes to it.
struct Shape {
    nothing: u32,
    n_words: u32,
    source: u32,
    copy: u32,
}
var<immediate> shape: Shape;

@group(0) @binding(0) var<storage, read_write> items: array<u32>;

@compute @workgroup_size(256)
fn main(@builtin(global_invocation_id) at: vec3<u32>) {
    if at.x < shape.n_words {
        items[shape.copy * shape.n_words + at.x] = items[shape.source * shape.n_words + at.x];
    }
}
