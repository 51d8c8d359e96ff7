//! Random sets of functions from a seed, with nested types of every kind, and with names and values that need escapes.

use std::collections::BTreeMap;

use causerie::{SdkFunction, SdkFunctionParameter, SdkFunctionParameterType};

const NAMES: [&str; 14] =
    ["city", "from", "class", "n", "größe", "_x", "items", "args", "unit", "a", "ab", "abc", "is_on", "note2"];
const KEYS: [&str; 8] = ["x", "y", "a b", "it's", "\"q\"", "\\", "", "größe"];
const TEXTS: [&str; 8] = ["celsius", "it's", "say \"no\"", "a\\", "two\nlines", "", "°", "'\\\""];
const NUMBERS: [f64; 6] = [0.0, -1.0, 2.5, 1e300, 1e16, -0.125];
const INTEGERS: [i64; 5] = [0, 7, -3, i64::MAX, i64::MIN];

/// Pseudo-random numbers of SplitMix64 (Steele, Lea and Flood 2014).
pub(crate) struct Draw(pub(crate) u64);

impl Draw {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % n as u64) as usize
    }

    pub(crate) fn one<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    /// Some of the values, at least one, without repetition.
    fn some<T: Clone>(&mut self, values: &[T]) -> Vec<T> {
        let first = self.below(values.len());
        let length = 1 + self.below(values.len() - first);
        values[first..first + length].to_vec()
    }

    fn enumeration<T: Clone>(&mut self, values: &[T]) -> Option<Vec<T>> {
        (self.below(3) == 0).then(|| self.some(values))
    }
}

/// One to four functions of up to six parameters.
pub(crate) fn function_set(seed: u64) -> Vec<SdkFunction> {
    let mut draw = Draw(seed);
    let n_functions = 1 + draw.below(4);
    (0..n_functions).map(|i| function(&format!("f{}", "_long_name".repeat(i)), &mut draw)).collect()
}

fn function(name: &str, draw: &mut Draw) -> SdkFunction {
    let first = draw.below(NAMES.len() - 6);
    let names = &NAMES[first..first + draw.below(7)];
    let parameters = names.iter().map(|name| {
        let parameter = SdkFunctionParameter::new(*name, parameter_type(draw, 0), "");
        if draw.below(2) == 0 { parameter.optional() } else { parameter }
    });
    SdkFunction::new(name, "", parameters.collect())
}

fn parameter_type(draw: &mut Draw, depth: usize) -> SdkFunctionParameterType {
    use SdkFunctionParameterType::{SdkArr, SdkBool, SdkInt, SdkNull, SdkNum, SdkObj, SdkStr};
    let description = None;
    match draw.below(if depth < 3 { 8 } else { 5 }) {
        0 => SdkStr { enum_values: draw.enumeration(&TEXTS.map(str::to_owned)), description },
        1 => SdkNum { enum_values: draw.enumeration(&NUMBERS), description },
        2 => SdkInt { enum_values: draw.enumeration(&INTEGERS), description },
        3 => SdkBool { description },
        4 => SdkNull,
        5 => SdkArr { item_type: Box::new(parameter_type(draw, depth + 1)), description },
        6 => SdkObj { properties: BTreeMap::new(), required: Vec::new(), description },
        _ => {
            let names = draw.some(&KEYS);
            let properties: BTreeMap<String, SdkFunctionParameterType> =
                names.iter().map(|name| ((*name).to_owned(), parameter_type(draw, depth + 1))).collect();
            let required = properties.keys().filter(|_| draw.below(2) == 0).cloned().collect();
            SdkObj { properties, required, description }
        }
    }
}
