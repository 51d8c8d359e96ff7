//! The tensors of a folder's decoder under the names, with the shapes and in the order of rows of GGUF files, as llama.cpp's converter
//! writes them. Loading reads a folder through this map, and quantising copies through it.

use std::ops::Range;

use crate::checkpoint::architecture::Architecture;
use crate::checkpoint::config;
use crate::checkpoint::folder_delta_net::DeltaOrders;
use crate::checkpoint::folder_tensors::{FolderTensors, RowChange};
use crate::checkpoint::invalid::invalid;
use crate::checkpoint::metadata::{LONG_FACTORS, SHORT_FACTORS};
use crate::checkpoint::rope::{DIVISORS, RopePairing, RopeScaling, exported_divisors};
use crate::error::Result;
use crate::weights::{FileBytes, Folder, MappedRows, Tensor, TensorSource, TensorType};

/// How the names of the decoder's tensors begin in folders. Models with several parts, such as one for images, have a prefix
/// for each; models that embed texts have none.
const PREFIXES: [&str; 6] = ["model.", "model.language_model.", "language_model.model.", "lfm.", "encoder.", ""];
/// The names of the matrix that gives the logits.
const HEADS: [&str; 2] = ["lm_head.weight", "language_model.lm_head.weight"];
/// Rows of a tensor whose rows are reordered at most: more than any model has, and few enough to list.
const MAX_REORDERED: usize = 1 << 20;
/// The parts that layers which read the keys and values of another one do not need.
const KEYS_AND_VALUES: [&str; 3] = ["attn_k", "attn_k_norm", "attn_v"];
/// A folder's tensors in the form of a GGUF file.
pub(super) struct FolderMap<'a> {
    architecture: &'a Architecture,
    /// How the names of the decoder's tensors begin.
    pub(super) prefix: &'static str,
    pub(super) found: FolderTensors<'a>,
}

impl<'a> FolderMap<'a> {
    /// # Errors
    /// A tensor that cannot be read, and settings of config.json.
    pub(super) fn read(folder: &'a Folder, architecture: &'a Architecture) -> Result<Self> {
        let has_embedding = |prefix: &&&str| folder.shape(&format!("{prefix}embed_tokens.weight")).is_some();
        let prefix = PREFIXES.iter().find(has_embedding).unwrap_or(&PREFIXES[0]);
        let mut map = Self { architecture, prefix, found: FolderTensors::new(folder) };
        map.add_outside_of_layers()?;
        for layer in 0..architecture.layers.len() {
            map.add_layer(layer)?;
        }
        map.add_rotary_tensors();
        Ok(map)
    }

    fn add_outside_of_layers(&mut self) -> Result<()> {
        let (family, prefix) = (self.architecture.family, self.prefix);
        let adds_one = family.folder_norms_lack_one;
        for (name, in_folder, change) in [
            ("token_embd", "embed_tokens", RowChange::default()),
            (family.output_norm, family.folder_output_norm(), RowChange { adds_one, ..RowChange::default() }),
            ("per_layer_token_embd", "embed_tokens_per_layer", RowChange::default()),
            ("per_layer_model_proj", "per_layer_model_projection", RowChange::default()),
            ("per_layer_proj_norm", "per_layer_projection_norm", RowChange { adds_one, ..RowChange::default() }),
        ] {
            self.found.add(format!("{name}.weight"), &[format!("{prefix}{in_folder}.weight")], change)?;
        }
        self.add_head()
    }

    /// The matrix that gives the logits, if it is not the embedding.
    fn add_head(&mut self) -> Result<()> {
        let head = HEADS.into_iter().find(|name| self.found.folder.shape(name).is_some());
        let embedding = format!("{}embed_tokens.weight", self.prefix);
        let is_tied = match config::is_tied(self.found.folder.config())? {
            None => head.is_none(),
            // A matrix with other values was trained after the two had been tied.
            Some(is_tied) => is_tied && !head.is_some_and(|head| self.differ(head, &embedding)),
        };
        match (is_tied, head) {
            (true, None) => Ok(()),
            (true, Some(head)) => {
                self.found.used.insert(head.to_owned(), "token_embd.weight".to_owned());
                Ok(())
            }
            (false, _) => self.found.add("output.weight".to_owned(), &HEADS.map(str::to_owned), RowChange::default()),
        }
    }

    /// Whether both tensors begin with other values. Training changes all rows of a matrix, so that a part decides.
    fn differ(&self, a: &str, b: &str) -> bool {
        let [Some(a), Some(b)] = [a, b].map(|name| self.found.folder.tensor(name)) else { return false };
        !a.begins_as(&b)
    }

    fn add_layer(&mut self, layer: usize) -> Result<()> {
        let (family, prefix) = (self.architecture.family, self.prefix);
        self.check_reordered(layer)?;
        let delta_net = self.delta_orders(layer);
        if let Some(orders) = &delta_net {
            self.add_decays(layer, orders)?;
        }
        let shares = self.architecture.layers[layer].key_values_of.is_some();
        for part in family.parts() {
            if shares && KEYS_AND_VALUES.contains(&part) {
                continue;
            }
            if let Some(orders) = &delta_net
                && let Some(change) = orders.change(part)
            {
                self.add_delta_part(layer, part, change)?;
                continue;
            }
            if self.add_experts(layer, part)? {
                continue;
            }
            for (name, change) in self.pieces(layer, part) {
                for kind in ["weight", "bias"] {
                    let change = RowChange {
                        adds_one: family.folder_norms_lack_one && part.ends_with("norm") && kind == "weight",
                        ..change.clone()
                    };
                    let in_folder = self.names(layer, part, &format!(".{kind}"));
                    self.found.add(format!("blk.{layer}.{name}.{kind}"), &in_folder, change)?;
                }
            }
        }
        for (name, in_folder) in
            [("exp_probs_b.bias", "feed_forward.expert_bias"), ("layer_output_scale.weight", "layer_scalar")]
        {
            let in_folder = format!("{prefix}layers.{layer}.{in_folder}");
            self.found.add(format!("blk.{layer}.{name}"), &[in_folder], RowChange::default())?;
        }
        Ok(())
    }

    /// Refuses tensors with too many rows before an order is listed for them.
    fn check_reordered(&self, layer: usize) -> Result<()> {
        for part in self.architecture.family.parts() {
            let n_rows = self.shape(layer, part, ".weight").and_then(<[usize]>::first).copied().unwrap_or_default();
            if MAX_REORDERED < n_rows {
                let name = self.names(layer, part, ".weight").into_iter().next().unwrap_or_default();
                return Err(invalid(format!("tensor {name} must have at most {MAX_REORDERED} rows, found {n_rows}")));
            }
        }
        Ok(())
    }

    /// The possible names of a part of a layer, of which those come first that newer folders have.
    fn names(&self, layer: usize, part: &str, end: &str) -> Vec<String> {
        let name = |part: &str| format!("{}layers.{layer}.{part}{end}", self.prefix);
        self.architecture.family.folder_names(part).map(name).collect()
    }

    /// The shape of a part of a layer.
    fn shape(&self, layer: usize, part: &str, end: &str) -> Option<&[usize]> {
        self.names(layer, part, end).iter().find_map(|name| self.found.folder.shape(name))
    }

    /// How the tensors of a layer's delta net change; `None` for a layer without one, and for sizes that do not fit, which are refused
    /// later.
    fn delta_orders(&self, layer: usize) -> Option<DeltaOrders> {
        let n_rows = |part: &str| self.shape(layer, part, ".weight")?.first().copied();
        let (n_values, n_channels) = (n_rows("ssm_beta")?, n_rows("attn_qkv")?);
        DeltaOrders::new(self.architecture.n_delta_keys?, n_values, n_channels, n_rows("ssm_norm")?)
    }

    /// Adds the decays of a delta net, whose logarithms folders have.
    fn add_decays(&mut self, layer: usize, orders: &DeltaOrders) -> Result<()> {
        let Some(in_folder) = self.names(layer, "ssm_a", "").into_iter().next() else { return Ok(()) };
        let name = format!("blk.{layer}.ssm_a");
        self.found.tensors.name_in_files(name.clone(), in_folder.clone());
        let Some(file) = self.found.folder.tensor(&in_folder) else { return Ok(()) };
        if self.found.folder.shape(&in_folder) == Some(&[orders.heads().len()][..]) {
            let logarithms = self.found.values(&in_folder, &file)?;
            let decays: Vec<f32> = orders.heads().iter().map(|head| -logarithms[*head].exp()).collect();
            let tensor = Tensor::new(TensorType::F32, vec![decays.len()], TensorSource::of_values(&decays));
            self.found.used.insert(in_folder, name.clone());
            self.found.tensors.insert(name, tensor);
        }
        Ok(())
    }

    fn add_delta_part(&mut self, layer: usize, part: &str, change: RowChange) -> Result<()> {
        match part {
            "ssm_dt" => {
                let names = self.names(layer, part, "");
                self.found.add(format!("blk.{layer}.ssm_dt.bias"), &names, change)
            }
            "ssm_a" => Ok(()), // its values change: `add_decays` adds it
            _ => {
                let names = self.names(layer, part, ".weight");
                self.found.add(format!("blk.{layer}.{part}.weight"), &names, change)
            }
        }
    }

    /// The tensors of a GGUF file that a tensor of the folder becomes, and how its rows change.
    fn pieces(&self, layer: usize, part: &'static str) -> Vec<(&'static str, RowChange)> {
        let family = self.architecture.family;
        let (keeps_stacks, n_rows) =
            (family.keeps_stacks, self.shape(layer, part, ".weight").map_or(0, |shape| shape[0]));
        let rows = |rows: Range<usize>| RowChange::order(Some(rows.collect()));
        match part {
            "ffn_gate_up" if keeps_stacks || n_rows % 2 != 0 => vec![("ffn_up", RowChange::default())],
            "ffn_gate_up" => {
                let width = n_rows / 2;
                vec![("ffn_gate", rows(0..width)), ("ffn_up", rows(width..n_rows))]
            }
            "attn_qkv" if !keeps_stacks => self.stacked_pieces(n_rows),
            "attn_q" | "attn_k" => vec![(part, RowChange::order(self.rotated(0..n_rows)))],
            _ => vec![(part, RowChange::default())],
        }
    }

    /// Queries, keys and values that one tensor stacks.
    fn stacked_pieces(&self, n_rows: usize) -> Vec<(&'static str, RowChange)> {
        let query_rows = || self.architecture.n_heads?.checked_mul(self.head_dim()?);
        let Some((queries, rest)) = query_rows().and_then(|queries| Some((queries, n_rows.checked_sub(queries)?)))
        else {
            return vec![("attn_qkv", RowChange::default())]; // which is refused later
        };
        let keys = queries + rest / 2;
        let rows = |rows: Range<usize>| RowChange::order(self.rotated(rows.clone()).or_else(|| Some(rows.collect())));
        vec![
            ("attn_q", rows(0..queries)),
            ("attn_k", rows(queries..keys)),
            ("attn_v", RowChange::order(Some((keys..n_rows).collect()))),
        ]
    }

    fn head_dim(&self) -> Option<usize> {
        let hidden = *self.found.folder.shape(&format!("{}embed_tokens.weight", self.prefix))?.get(1)?;
        let head_dim = self.architecture.head_dim.or_else(|| hidden.checked_div(self.architecture.n_heads?))?;
        Some(head_dim).filter(|head_dim| *head_dim != 0 && head_dim.is_multiple_of(2))
    }

    /// The places of the rows of queries or keys, whose pairs are neighbours in GGUF files and halves in folders. `None` if the order
    /// is the same, or if they do not divide into heads.
    fn rotated(&self, rows: Range<usize>) -> Option<Vec<usize>> {
        if self.architecture.family.pairing == RopePairing::Halves {
            return None;
        }
        let head_dim = self.head_dim().filter(|head_dim| rows.len().is_multiple_of(*head_dim))?;
        let place = |row: usize| {
            let (head, in_head) = (row / head_dim * head_dim, row % head_dim);
            rows.start + head + in_head % 2 * (head_dim / 2) + in_head / 2
        };
        Some((0..rows.len()).map(place).collect())
    }

    /// Adds the stack of the experts' matrices; `false` if the part has no experts.
    fn add_experts(&mut self, layer: usize, part: &str) -> Result<bool> {
        let Some(pattern) = self.names(layer, part, ".weight").into_iter().find(|name| name.contains('*')) else {
            return Ok(false);
        };
        let name = format!("blk.{layer}.{part}.weight");
        let expert = |expert: usize| pattern.replace('*', &expert.to_string());
        self.found.tensors.name_in_files(name.clone(), expert(0));
        let Some(shape) = self.found.folder.shape(&expert(0)).map(<[usize]>::to_vec) else { return Ok(true) };
        let names: Vec<String> =
            (0..).map(expert).take_while(|name| self.found.folder.shape(name) == Some(&shape[..])).collect();
        let parts: Vec<FileBytes> = names.iter().filter_map(|name| self.found.folder.tensor(name)).collect();
        let tensor_type = parts.first().map_or(TensorType::F32, FileBytes::tensor_type);
        let n_columns = shape.last().copied().unwrap_or(1);
        let rows = MappedRows::new(parts, n_columns, None, None)
            .ok_or_else(|| invalid(format!("the tensors of experts like {} must have one type", expert(0))))?;
        self.found.used.extend(names.iter().map(|in_folder| (in_folder.clone(), name.clone())));
        let shape = [&[names.len()], &shape[..]].concat();
        self.found.tensors.insert(name, Tensor::new(tensor_type, shape, TensorSource::Rows(rows)));
        Ok(true)
    }

    /// Scalings of rotary positions that metadata has no keys for, and the factors of LongRoPE.
    fn add_rotary_tensors(&mut self) {
        let mut factors = Vec::new();
        if let RopeScaling::Long(long) = &self.architecture.rope.scaling {
            factors.extend([(LONG_FACTORS, long.long.clone()), (SHORT_FACTORS, long.short.clone())]);
        }
        let divisors = self.rotated_head_dim().and_then(|size| exported_divisors(&self.architecture.rope, size));
        factors.extend(divisors.map(|divisors| (DIVISORS, divisors)));
        for (name, values) in factors {
            let source = TensorSource::of_values(&values);
            self.found.tensors.insert(name.to_owned(), Tensor::new(TensorType::F32, vec![values.len()], source));
        }
    }

    /// The size of the heads in the first layer with full attention.
    fn rotated_head_dim(&self) -> Option<usize> {
        let mut layers = (0..self.architecture.layers.len()).filter(|layer| {
            self.architecture.layers[*layer].window.is_none()
                && self.shape(*layer, "attn_q", ".weight").or(self.shape(*layer, "attn_qkv", ".weight")).is_some()
                && self.shape(*layer, "ssm_beta", ".weight").is_none()
        });
        let layer = layers.next()?;
        match self.shape(layer, "attn_q_norm", ".weight").filter(|_| self.architecture.family.has_head_norms) {
            Some(shape) => shape.first().copied(),
            None => self.head_dim(),
        }
    }
}
