//! The texts of kernels that multiply one row, which they make themselves: see `shaders/product_of_row.wgsl`.

use crate::texts::{instance, part};

/// First bindings of the matrices, each with its planes and its outputs.
pub(crate) const MATRIX_BINDINGS: [u32; 3] = [8, 12, 16];
/// First binding of the inputs that are stored: less than the number in the part, which counts from 5.
pub(crate) const TAIL_BINDINGS: u32 = 15;

/// What a kernel's text depends on.
pub(crate) struct RowText<'a> {
    pub(crate) n_columns: u32,
    pub(crate) constants: String,
    /// The name that chooses how to multiply and add.
    pub(crate) arithmetic: &'static str,
    /// Names that the formats of the matrices enable.
    pub(crate) matrices: Vec<&'static [&'static str]>,
    /// For the norm of the row, `None`; for a convolution, whether it has a bias.
    pub(crate) convolution: Option<bool>,
    /// Names that the function of the gate enables, and names of the inputs that are stored.
    pub(crate) gate: Option<(&'static str, &'a [&'static str])>,
}

impl RowText<'_> {
    pub(crate) fn text(&self) -> String {
        let mut names = vec![self.arithmetic];
        names.extend(self.matrices.iter().any(|names| names.contains(&"TWO_STEPS")).then_some("TWO_STEPS"));
        names.extend((2 <= self.matrices.len()).then_some("TWO"));
        names.extend((3 <= self.matrices.len()).then_some("THREE"));
        let mut text = format!("const COLUMNS = {}u;\n{}", self.n_columns, self.constants);
        let mut add = |part: &str, names: &[&str]| text.push_str(&instance(part, names, "", 0));
        add(part!("product_of_row"), &names);
        add(part!("exact"), &names);
        match self.convolution {
            None => {
                add(part!("front_norm"), &names);
                add(part!("row_scale"), &names);
                add(part!("lanes"), &names);
            }
            Some(has_bias) => {
                let names: &[&str] = if has_bias { &["SHORT", "BIAS"] } else { &["SHORT"] };
                add(part!("front_convolution"), names);
                add(part!("convolution"), names);
            }
        }
        text.push_str(&instance(part!("inputs_tail"), &["HELD", "QUANTISED"], "_held", 0));
        for (at, (formats, first_binding)) in self.matrices.iter().zip(MATRIX_BINDINGS).enumerate() {
            let mut names = formats.to_vec();
            if self.gate.is_none() {
                names.extend(["PUTS", if self.convolution.is_some() { "ADDS" } else { "NEW" }]);
            }
            for part in [part!("blocks"), part!("product_block"), part!("outputs_of_row")] {
                text.push_str(&instance(part, &names, &format!("_{at}"), first_binding));
            }
        }
        match self.gate {
            None => text.push_str(&instance(part!("end_outputs"), &names, "", 0)),
            Some((curve, stored)) => {
                text.push_str(&instance(part!("end_gate"), &names, "", 0));
                text.push_str(&instance(part!("activation"), &[curve], "", 0));
                text.push_str(&instance(part!("inputs_tail"), stored, "", TAIL_BINDINGS));
            }
        }
        text
    }
}
