//! The kernels, each put together from parts.

use causerie_backend::Format;

use crate::row_texts::RowText;
use crate::texts::{instance, part};

/// How a device multiplies and adds with one rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MultiplyAdd {
    /// By `fma`.
    Fused,
    /// In f64, rounded to f32: for software devices whose `fma` rounds twice. Rounding twice differs from rounding once in about
    /// one of 10^8 results.
    Wide,
}

/// What a kernel is told of a format of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WeightForm(pub Format);

/// The function of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateCurve {
    /// `x / (1 + e^-x)`
    Silu,
    /// GELU, approximated by the hyperbolic tangent.
    GeluTanh,
}

/// The storage format of keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum CacheFormat {
    F32,
    F16,
    Q8_0,
}

/// A kernel, with all that its text depends on. Sizes that a text has no need of are given when it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the texts in `shaders` begin with what they do")]
pub enum Kernel {
    Embed(WeightForm),
    /// Products of up to `tokens` tokens at a time.
    ProductOfFew {
        form: WeightForm,
        tokens: u32,
        has_bias: bool,
    },
    /// Products with the experts that the device has chosen for each token.
    ProductOfChosen {
        form: WeightForm,
    },
    ProductOfMany {
        form: WeightForm,
        has_bias: bool,
    },
    ProductOfFloats {
        form: WeightForm,
        tokens: u32,
        has_bias: bool,
    },
    Norm {
        is_quantised: bool,
    },
    RowInputs {
        is_gated: bool,
        is_quantised: bool,
    },
    Gate {
        curve: GateCurve,
        is_quantised: bool,
    },
    Convolve {
        has_bias: bool,
        is_quantised: bool,
    },
    DeltaConvolve,
    UnitHeads,
    DeltaNet,
    AddWeighted,
    ChooseExperts,
    AddChosen,
    AddRows {
        has_norm: bool,
    },
    Rotate {
        has_norm: bool,
        rotation: Option<PairForm>,
    },
    Append {
        format: CacheFormat,
        head_dim: u32,
        /// Whether queries are rotated in the same kernel.
        has_queries: bool,
        has_norms: bool,
        rotation: Option<PairForm>,
    },
    Attention {
        format: CacheFormat,
        head_dim: u32,
        end: AttentionEnd,
    },
    ProductOfRow {
        front: RowFront,
        forms: [Option<WeightForm>; 3],
        n_columns: u32,
        end: RowEnd,
    },
    Map(MapForm),
    Gather(GatherForm),
    Choose {
        is_last: bool,
    },
    CopyItem,
    Receipt,
    Probe,
}

/// What the results of attention become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum AttentionEnd {
    Rows,
    Inputs { is_quantised: bool },
}

/// What a row is made of before it is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`shaders/front_norm.wgsl` and `shaders/front_convolution.wgsl` have them")]
pub enum RowFront {
    Norm,
    Convolution { has_bias: bool },
}

/// What the outputs of a row become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`shaders/end_outputs.wgsl` and `shaders/end_gate.wgsl` have them")]
pub enum RowEnd {
    Outputs,
    Gate { curve: GateCurve, is_quantised: bool },
}

/// Which elements of a head form a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "as `causerie_backend::Pairing`")]
pub enum PairForm {
    Halves,
    Neighbours,
}

/// A function that replaces values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`shaders/map.wgsl` has them")]
pub enum MapForm {
    Scale,
    Sigmoid,
    Decay,
    Bound,
    Grow,
    Mix,
}

/// Where copied values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "`shaders/gather.wgsl` has them")]
pub enum GatherForm {
    Columns,
    Select,
    Heads,
    Upload,
}

impl WeightForm {
    /// The names that a format enables.
    fn names(self) -> &'static [&'static str] {
        match self.0 {
            Format::F32 => &["FLOATS", "F32"],
            Format::F16 => &["FLOATS", "HALF", "F16"],
            Format::Bf16 => &["FLOATS", "HALF", "BF16"],
            Format::Q8_0 => &["QUANTISED", "Q8_0", "ONE_SCALE", "PLAIN"],
            Format::Q4_0 => &["QUANTISED", "Q4_0", "NIBBLES", "ONE_SCALE"],
            Format::Q5_1 => &["QUANTISED", "Q5_1", "NIBBLES", "UPPER", "FIFTH", "MINIMUM", "TWO_STEPS", "PLAIN"],
            Format::Q4K => &["QUANTISED", "Q4_K", "NIBBLES", "EIGHT", "MINIMUM", "TWO_STEPS", "PLAIN"],
            Format::Q5K => {
                &["QUANTISED", "Q5_K", "NIBBLES", "UPPER", "FIFTH", "EIGHT", "MINIMUM", "TWO_STEPS", "PLAIN"]
            }
            Format::Q6K => &["QUANTISED", "Q6_K", "NIBBLES", "UPPER", "TWO_STEPS"],
        }
    }
}

impl WeightForm {
    /// Tokens that share the reading of weights in products of few: as many as workgroup memory has space for.
    pub(crate) fn tokens_of_few(self) -> usize {
        if self.names().contains(&"TWO_STEPS") { 2 } else { 4 }
    }
}

impl GateCurve {
    fn name(self) -> &'static str {
        match self {
            Self::Silu => "SILU",
            Self::GeluTanh => "GELU_TANH",
        }
    }
}

impl CacheFormat {
    fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Q8_0 => "Q8_0",
        }
    }
}

/// Groups of lanes in products of few tokens, and the rows of weights of each.
const GROUPS_OF_FEW: u32 = 4;
const ROWS_OF_GROUP: u32 = 2;
/// Rows of weights that a workgroup takes in products of few tokens: fewer than in any other product.
pub(crate) const ROWS_OF_FEW: u32 = GROUPS_OF_FEW * ROWS_OF_GROUP;
/// Rows that a workgroup takes in products with float weights.
pub(crate) const ROWS_OF_FLOATS: u32 = 64;
/// Rows, and tokens, that a workgroup takes in products of many tokens.
pub(crate) const TILE_OF_MANY: u32 = 64;

impl Kernel {
    /// The kernel's text.
    pub fn source(self, multiply_add: MultiplyAdd) -> String {
        let arithmetic = match multiply_add {
            MultiplyAdd::Fused => "FUSED",
            MultiplyAdd::Wide => "WIDE",
        };
        if let Self::ProductOfRow { front, forms, n_columns, end } = self {
            let convolution = match front {
                RowFront::Norm => None,
                RowFront::Convolution { has_bias } => Some(has_bias),
            };
            let gate = match end {
                RowEnd::Outputs => None,
                RowEnd::Gate { curve, is_quantised } => Some((curve.name(), stored(is_quantised))),
            };
            let matrices = forms.into_iter().flatten().map(WeightForm::names).collect();
            let constants = few_constants();
            return RowText { n_columns, constants, arithmetic, matrices, convolution, gate }.text();
        }
        let (mut names, mut text, parts): (Vec<&str>, String, &[&str]) = self.description();
        names.push(arithmetic);
        for part in parts {
            text.push_str(&instance(part, &names, "", 0));
        }
        text
    }

    /// The names that are enabled, constants, and the parts.
    fn description(self) -> (Vec<&'static str>, String, &'static [&'static str]) {
        let quantised = |is_quantised: bool| stored(is_quantised).to_vec();
        let product = |form: WeightForm, has_bias: bool| {
            let mut names = form.names().to_vec();
            names.extend(has_bias.then_some("BIAS"));
            names
        };
        match self {
            Self::Embed(form) if form.0.is_quantised() => {
                (form.names().to_vec(), String::new(), &[part!("embed"), part!("blocks"), part!("exact")])
            }
            Self::Embed(form) => (form.names().to_vec(), FLOAT_WORDS.to_owned(), &[part!("embed"), part!("exact")]),
            Self::ProductOfFew { form, tokens, has_bias } => {
                let mut names = product(form, has_bias);
                names.push("FIXED");
                (names, format!("const TOKENS = {tokens}u;\n{}", few_constants()), OF_FEW)
            }
            Self::ProductOfChosen { form } => {
                let mut names = product(form, false);
                names.push("CHOSEN");
                (names, format!("const TOKENS = 1u;\n{}", few_constants()), OF_FEW)
            }
            Self::ProductOfMany { form, has_bias } => (
                product(form, has_bias),
                String::new(),
                &[part!("product"), part!("product_of_many"), part!("blocks"), part!("exact")],
            ),
            Self::ProductOfFloats { form, tokens, has_bias } => (
                product(form, has_bias),
                format!("const TOKENS = {tokens}u;\n{FLOAT_WORDS}"),
                &[part!("product"), part!("product_of_floats"), part!("exact")],
            ),
            Self::Norm { is_quantised } => (
                quantised(is_quantised),
                String::new(),
                &[part!("norm"), part!("row_scale"), part!("inputs_tail"), part!("lanes"), part!("exact")],
            ),
            Self::RowInputs { is_gated, is_quantised } => {
                let mut names = quantised(is_quantised);
                names.extend(is_gated.then_some("GATED"));
                (names, String::new(), &[part!("row_inputs"), part!("inputs_tail"), part!("exact")])
            }
            Self::Gate { curve, is_quantised } => {
                let mut names = quantised(is_quantised);
                names.push(curve.name());
                (names, String::new(), &[part!("gate"), part!("activation"), part!("inputs_tail"), part!("exact")])
            }
            Self::Convolve { has_bias, is_quantised } => {
                let mut names = quantised(is_quantised);
                names.push("SHORT");
                names.extend(has_bias.then_some("BIAS"));
                (names, String::new(), &[part!("convolve"), part!("convolution"), part!("inputs_tail"), part!("exact")])
            }
            Self::DeltaConvolve => {
                (vec!["DELTA"], String::new(), &[part!("convolve"), part!("convolution"), part!("exact")])
            }
            Self::UnitHeads => (vec![], String::new(), &[part!("unit_heads"), part!("lanes"), part!("exact")]),
            Self::DeltaNet => (vec![], String::new(), &[part!("delta_net"), part!("exact")]),
            Self::ChooseExperts => (vec![], String::new(), &[part!("choose_experts"), part!("exact")]),
            Self::AddChosen => (vec![], String::new(), &[part!("add_chosen"), part!("exact")]),
            Self::AddWeighted => (vec![], String::new(), &[part!("add_weighted"), part!("exact")]),
            Self::AddRows { has_norm } => (
                has_norm.then_some("NORM").into_iter().collect(),
                String::new(),
                &[part!("add_rows"), part!("lanes"), part!("exact")],
            ),
            Self::Rotate { has_norm, rotation } => {
                let mut names: Vec<_> = has_norm.then_some("NORM").into_iter().collect();
                names.extend(rotation_names(rotation));
                (names, String::new(), &[part!("rotate"), part!("lanes"), part!("exact")])
            }
            Self::Append { format, head_dim, has_queries, has_norms, rotation } => {
                let mut names = vec![format.name()];
                names.extend(has_queries.then_some("QUERIES"));
                names.extend(has_norms.then_some("NORM"));
                names.extend(rotation_names(rotation));
                let parts = &[part!("append"), part!("pages"), part!("lanes"), part!("exact")];
                (names, head_size(head_dim), parts)
            }
            Self::Attention { format, head_dim, end: AttentionEnd::Rows } => (
                vec![format.name(), "ROWS"],
                head_size(head_dim),
                &[part!("attention"), part!("pages"), part!("exact")],
            ),
            Self::Attention { format, head_dim, end: AttentionEnd::Inputs { is_quantised } } => {
                let mut names = quantised(is_quantised);
                names.extend([format.name(), "INPUTS"]);
                let parts = &[part!("attention"), part!("pages"), part!("inputs_tail"), part!("exact")];
                (names, head_size(head_dim), parts)
            }
            // Its text has several instances of a part.
            Self::ProductOfRow { .. } => (vec![], String::new(), &[]),
            Self::Map(form) => {
                let names = match form {
                    MapForm::Scale => vec!["SCALE"],
                    MapForm::Sigmoid => vec!["SIGMOID"],
                    MapForm::Decay => vec!["DECAY"],
                    MapForm::Bound => vec!["BOUND"],
                    MapForm::Grow => vec!["GROW", "TABLE"],
                    MapForm::Mix => vec!["MIX", "TABLE"],
                };
                (names, String::new(), &[part!("map"), part!("exact")])
            }
            Self::Gather(form) => {
                let names = match form {
                    GatherForm::Columns => vec!["COLUMNS", "ROWS"],
                    GatherForm::Select => vec!["SELECT", "ROWS", "TABLE"],
                    GatherForm::Heads => vec!["HEADS", "ROWS"],
                    GatherForm::Upload => vec!["UPLOAD", "TABLE"],
                };
                (names, String::new(), &[part!("gather")])
            }
            Self::Choose { is_last } => {
                (vec![if is_last { "LAST" } else { "FIRST" }], String::new(), &[part!("choose")])
            }
            Self::CopyItem => (vec![], String::new(), &[part!("copy_item")]),
            Self::Receipt => (vec![], String::new(), &[part!("receipt")]),
            Self::Probe => (vec![], String::new(), &[part!("probe"), part!("exact")]),
        }
    }
}

/// The parts of products of few tokens.
const OF_FEW: &[&str] =
    &[part!("product"), part!("product_of_few"), part!("product_block"), part!("blocks"), part!("exact")];

const FLOAT_WORDS: &str = "@group(0) @binding(0) var<storage, read> float_words: array<u32>;\n";

/// The names of the formats of inputs that are stored.
fn stored(is_quantised: bool) -> &'static [&'static str] {
    if is_quantised { &["STORED", "BYTES", "QUANTISED"] } else { &["STORED"] }
}

fn rotation_names(rotation: Option<PairForm>) -> impl Iterator<Item = &'static str> {
    let form = rotation.map(|form| match form {
        PairForm::Halves => "HALVES",
        PairForm::Neighbours => "NEIGHBOURS",
    });
    rotation.map(|_| "ROTATED").into_iter().chain(form)
}

fn few_constants() -> String {
    format!("const ROWS = {ROWS_OF_GROUP}u;\nconst GROUPS = {GROUPS_OF_FEW}u;\n")
}

fn head_size(head_dim: u32) -> String {
    format!("const HEAD_DIM = {head_dim}u;\n")
}
