// The functions of gates.
fn activation(x: f32) -> f32 {
//SILU     return fraction(x, -x);
//GELU_TANH     // -2 sqrt(2 / pi), and that times 0.044715
//GELU_TANH     let inner = mul_add(x * x, -0.0713548139, -1.59576905);
//GELU_TANH     return fraction(x, x * inner);
}
