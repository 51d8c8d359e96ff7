// The end of kernels that make inputs of products (STORED), and the beginning of products that make inputs of their own (HELD). `WIDTH`
// lanes, a multiple of 32, have as many columns of a row. For each group of 32 values there are its scale, its scale times the sum of
// its values, and the sums of both halves.
//STORED @group(0) @binding(#5) var<storage, read_write> floats: array<f32>;
//BYTES @group(0) @binding(#6) var<storage, read_write> stored: array<u32>;
//BYTES @group(0) @binding(#7) var<storage, read_write> stored_scales: array<vec4<f32>>;
//HELD var<workgroup> inputs: array<u32, COLUMNS / 4u>;
//HELD var<workgroup> group_scales: array<vec4<f32>, COLUMNS / 32u>;
//QUANTISED
//QUANTISED var<workgroup> tail$: array<vec4<f32>, WIDTH / 4u>;

/// All lanes call it, each with the value at `place` among all rows; lanes outside of the row have the value 0.
fn put_input$(lane: u32, place: u32, is_inside: bool, value: f32) {
//STORED     if is_inside {
//STORED         floats[place] = value;
//STORED     }
//QUANTISED     tail$[lane / 4u][lane % 4u] = value;
//QUANTISED     workgroupBarrier();
//QUANTISED     let first = lane / 32u * 8u;
//QUANTISED     var most = vec4<f32>();
//QUANTISED     for (var i = 0u; i < 8u; i++) {
//QUANTISED         most = max(most, abs(tail$[first + i]));
//QUANTISED     }
//QUANTISED     let largest = max(max(most.x, most.y), max(most.z, most.w));
//QUANTISED     // 127 divided by less is not finite.
//QUANTISED     let is_scaled = largest > 3.7322e-37;
//QUANTISED     let inverse = select(0.0, divide(127.0, select(1.0, largest, is_scaled)), is_scaled);
//QUANTISED     let whole = round(value * inverse);
//QUANTISED     workgroupBarrier();
//QUANTISED     tail$[lane / 4u][lane % 4u] = whole;
//QUANTISED     workgroupBarrier();
//QUANTISED     if is_inside && lane % 4u == 0u {
//BYTES         stored[place / 4u] = pack4xI8(vec4<i32>(tail$[lane / 4u]));
//HELD         inputs[place / 4u] = pack4xI8(vec4<i32>(tail$[lane / 4u]));
//QUANTISED     }
//QUANTISED     if is_inside && lane % 32u == 0u {
//QUANTISED         let a = tail$[first] + tail$[first + 1u] + tail$[first + 2u] + tail$[first + 3u]; // exact
//QUANTISED         let b = tail$[first + 4u] + tail$[first + 5u] + tail$[first + 6u] + tail$[first + 7u];
//QUANTISED         let sums = vec2<f32>(a.x + a.y + a.z + a.w, b.x + b.y + b.z + b.w);
//QUANTISED         let scale = divide(largest, 127.0);
//BYTES         stored_scales[place / 32u] = vec4<f32>(scale, scale * (sums.x + sums.y), sums);
//HELD         group_scales[place / 32u] = vec4<f32>(scale, scale * (sums.x + sums.y), sums);
//QUANTISED     }
//QUANTISED     workgroupBarrier();
}
