// Products of blocks of weights with blocks of inputs. `inputs` has the inputs' bytes, four to a word, and `group_scales` what belongs to
// each block of them. A kernel has an instance for each of its matrices.

/// Puts the exact sums of a block, and their factors, at a place.
fn add_block$(block: u32, weight_scales: vec2<f32>, input: u32, place: u32) {
    let input_scales = group_scales[input];
    var first = -OFFSET$ * i32(input_scales.z);
    var second = -OFFSET$ * i32(input_scales.w);
    for (var j = 0u; j < 4u; j++) {
        first += dot4I8Packed(word_of$(block, j), inputs[8u * input + j]);
        second += dot4I8Packed(word_of$(block, j + 4u), inputs[8u * input + j + 4u]);
    }
//ONE_SCALE     sums[place] = vec2<f32>(f32(first + second), weight_scales.x * input_scales.x);
//MINIMUM     sums[place] = vec2<f32>(f32(first + second), weight_scales.x * input_scales.x);
//MINIMUM     second_sums[place] = vec2<f32>(weight_scales.y, input_scales.y);
//Q6_K     sums[place] = vec2<f32>(f32(first), weight_scales.x * input_scales.x);
//Q6_K     second_sums[place] = vec2<f32>(f32(second), weight_scales.y * input_scales.x);
}

/// Adds up the products of `n` blocks, in their order.
fn chain$(start: f32, first_place: u32, n: u32) -> f32 {
    var y = start;
    for (var i = 0u; i < n; i++) {
        let pair = sums[first_place + i];
        y = mul_add(pair.x, pair.y, y);
//TWO_STEPS         let next = second_sums[first_place + i];
//TWO_STEPS         y = mul_add(next.x, next.y, y);
    }
    return y;
}
