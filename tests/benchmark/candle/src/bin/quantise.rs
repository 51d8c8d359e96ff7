//! Converts the weights of a model: `quantise MODEL q8_0|q6_k|q5_k|q4_k OUT`, best from a file in f32.
//!
//! Only for measuring the loss of quality of a type. K types need rows with a multiple of 256 weights; other matrices become
//! Q8_0. Norms and the taps of convolutions are not converted.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;

use candle_core::quantized::{GgmlDType, QTensor, gguf_file};
use candle_core::{D, Device};

/// The smallest row that is quantised; a convolution has three taps.
const SMALLEST_ROW: usize = 32;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, name, out] = &arguments[..] else {
        return Err("usage: quantise MODEL q8_0|q6_k|q5_k|q4_k OUT".into());
    };
    // The number is llama.cpp's code for files of that type.
    let (kind, file_type) = match name.as_str() {
        "q8_0" => (GgmlDType::Q8_0, 7_u32),
        "q6_k" => (GgmlDType::Q6K, 18),
        "q5_k" => (GgmlDType::Q5K, 17),
        "q4_k" => (GgmlDType::Q4K, 15),
        _ => return Err(format!("the type must be q8_0, q6_k, q5_k or q4_k, found {name}").into()),
    };
    let mut file = File::open(model)?;
    let mut content = gguf_file::Content::read(&mut file)?;
    let mut names: Vec<String> = content.tensor_infos.keys().cloned().collect();
    names.sort();
    let mut tensors = Vec::new();
    for name in &names {
        let tensor = content.tensor(&mut file, name, &Device::Cpu)?;
        tensors.push(quantised(tensor, kind)?);
    }
    content.metadata.insert("general.file_type".into(), gguf_file::Value::U32(file_type));
    let metadata: Vec<(&str, &gguf_file::Value)> =
        content.metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let tensors: Vec<(&str, &QTensor)> = names.iter().map(String::as_str).zip(&tensors).collect();
    gguf_file::write(&mut BufWriter::new(File::create(out)?), &metadata, &tensors)?;
    Ok(())
}

fn quantised(tensor: QTensor, kind: GgmlDType) -> Result<QTensor, Box<dyn Error>> {
    let row = tensor.shape().dim(D::Minus1)?;
    if tensor.rank() < 2 || row < SMALLEST_ROW {
        return Ok(tensor);
    }
    let fitting = if row.is_multiple_of(kind.block_size()) { kind } else { GgmlDType::Q8_0 };
    Ok(QTensor::quantize(&tensor.dequantize(&Device::Cpu)?, fitting)?)
}
