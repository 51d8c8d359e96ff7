"""Writes the tiny models of families.py as folders and as GGUF, and computes them with transformers."""

import json
import math
import shutil
import tempfile
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM

import gguf_file
import logits
from checkpoint import write_json
from families import FAMILIES, HIDDEN, JOINED
from weights import IN_LAYER, deviation

GLOBAL = {
    "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
    "model.embed_tokens_per_layer": "per_layer_token_embd", "model.per_layer_model_projection": "per_layer_model_proj",
    "model.per_layer_projection_norm": "per_layer_proj_norm",
}
PLAIN = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate",
    "mlp.down_proj": "ffn_down", "mlp.up_proj": "ffn_up", "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "feed_forward.gate": "ffn_gate_inp",
    "self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up", "shared_mlp.output_linear": "ffn_down",
}
EXPERTS = {"w1": "ffn_gate_exps", "w2": "ffn_down_exps", "w3": "ffn_up_exps"}


def gguf_name(family, name):
    """Returns the GGUF name of a folder's tensor; for an expert, the name of the stack."""
    if name.endswith("feed_forward.expert_bias"):
        return f"blk.{name.split('.')[2]}.exp_probs_b.bias"
    stem, kind = name.rsplit(".", 1)
    if kind == "layer_scalar":
        return f"blk.{name.split('.')[2]}.layer_output_scale.weight"
    if stem == "model.embedding_norm":
        return "output_norm.weight" if family.architecture == "lfm3" else "token_embd_norm.weight"
    if stem in GLOBAL:
        return f"{GLOBAL[stem]}.{kind}"
    _, _, layer, rest = name.split(".", 3)
    if rest in family.gguf_names:
        return f"blk.{layer}.{family.gguf_names[rest]}"
    rest = rest.removesuffix(f".{kind}")
    if ".experts." in rest:
        return f"blk.{layer}.{EXPERTS[rest[-2:]]}.{kind}"
    return f"blk.{layer}.{(IN_LAYER | PLAIN | family.gguf_names)[rest]}.{kind}"


def is_short_norm(family, name):
    """Whether a folder's tensor is a norm that lacks one."""
    return family.lacks_one and "norm" in name and "linear_attn" not in name


def oracle_name(family, name):
    for ours, theirs in family.renamed.items():
        name = name.replace(ours, theirs)
    return name


def own_name(family, name):
    for ours, theirs in family.renamed.items():
        name = name.replace(theirs, ours)
    return name


def shapes(family, folder):
    """Returns the names and shapes of the tensors in a folder of this family, as transformers saves them."""
    write_json(folder / "config.json", family.config | family.oracle)
    AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder)).save_pretrained(folder)
    return {own_name(family, name): values.shape for name, values in sorted(load_file(folder / "model.safetensors").items())}


def random_weights(family, shapes):
    random = np.random.default_rng(family.seed)
    weights = {}
    for name, shape in shapes.items():
        noise = random.standard_normal(shape, dtype=np.float32)
        if "A_log" in name:
            values = noise - 1.5  # decays that remember some tokens, and decays that remember many
        elif "bias" in name:
            # Biases that are added to the residual stream are small: large ones would hide the effect of the tokens.
            values = (0.3 if "q_proj" in name or "k_proj" in name or "expert" in name else 0.05) * noise
        elif len(shape) == 1:
            values = 0.2 * noise if is_short_norm(family, name) else 1 + 0.2 * noise
        else:
            values = deviation(name, shape) * noise
        weights[name] = values.astype(np.float16).astype(np.float32)
    return weights


def reference_model(family, weights):
    """Returns the transformers model with these weights, in f32."""
    with tempfile.TemporaryDirectory() as folder:
        write_json(Path(folder) / "config.json", family.config | family.oracle)
        save_file({oracle_name(family, name): values for name, values in weights.items()}, Path(folder) / "model.safetensors")
        return loaded(folder)


def loaded(folder):
    model, report = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
    )
    assert not any(report.values()), report
    return model.eval()


def permuted(values, heads):
    """Permutes rows like llama.cpp's converter: in each head, the first rows of both halves, then the second rows, and so on."""
    return values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def restored(values, heads):
    return values.reshape(heads, values.shape[0] // heads // 2, 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)


def reordered(family, name, values, order):
    if family.conversion:
        return family.conversion.to_gguf(name, values) if order is permuted else family.conversion.from_gguf(name, values)
    if family.is_permuted and ".self_attn.q_proj." in name:
        return order(values, family.heads)
    if family.is_permuted and ".self_attn.k_proj." in name:
        return order(values, family.kv_heads)
    return values


def halves(name):
    """Returns the names of the two maps that one tensor of a folder stacks and a GGUF file does not."""
    return [name.replace("shared_mlp.input_linear", part) for part in ("mlp.gate_proj", "mlp.up_proj")]


def separated(weights):
    """Yields the tensors of a folder as GGUF files have them."""
    for name, values in weights.items():
        if ".shared_mlp.input_linear." in name:
            yield from zip(halves(name), np.split(values, 2))
        else:
            yield name, values


def joined(tensors):
    """Yields tensors, with queries, keys and values, in this order, as one."""
    tensors = dict(tensors)
    for name, values in tensors.items():
        if ".q_proj." in name:
            parts = [tensors[name.replace(".q_proj.", part)] for part in (".q_proj.", ".k_proj.", ".v_proj.")]
            yield name.replace(".q_proj.", ".qkv_proj."), np.concatenate(parts)
        elif ".k_proj." not in name and ".v_proj." not in name:
            yield name, values


def llama3_divisors(family):
    """Yields the divisor of each frequency by Llama 3's rule, as llama.cpp's converter writes it."""
    scaling, dims = family.config["rope_scaling"], family.config["head_dim"]
    context, low, high = (scaling[key] for key in ("original_max_position_embeddings", "low_freq_factor", "high_freq_factor"))
    for pair in range(0, dims, 2):
        rotations = context / (2 * math.pi * family.config["rope_theta"] ** (pair / dims))
        share = min(max((rotations - low) / (high - low), 0), 1)
        yield 1 / ((1 - share) / scaling["factor"] + share)


def add_metadata(writer, family, quantisation):
    config = family.config
    writer.add_name(f"tiny random {family.name}")
    writer.add_file_type(gguf_file.FILE_TYPES[quantisation])
    writer.add_quantization_version(2)
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(HIDDEN)
    writer.add_head_count(family.heads)
    listed = {method for method, _ in family.metadata}
    if "add_feed_forward_length" not in listed:
        writer.add_feed_forward_length(config["intermediate_size"])
    if "add_head_count_kv" not in listed:
        writer.add_head_count_kv(family.kv_heads)
    parameters = config.get("rope_parameters", {})
    full = parameters.get("full_attention", parameters)
    default_theta = 1e6 if family.architecture == "gemma3" else 1e4
    writer.add_rope_freq_base(full.get("rope_theta", config.get("rope_theta", default_theta)))
    writer.add_layer_norm_rms_eps(config.get("rms_norm_eps") or config["norm_eps"])
    writer.add_vocab_size(config["vocab_size"])
    if "head_dim" in config:
        head_dim = config.get("global_head_dim", config["head_dim"])
        writer.add_key_length(head_dim)
        writer.add_value_length(head_dim)
    if family.architecture == "llama":
        writer.add_rope_dimension_count(config.get("head_dim", HIDDEN // family.heads))
    scaling = config.get("rope_scaling") or {}
    kind = scaling.get("type", scaling.get("rope_type"))
    if kind in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
        writer.add_rope_scaling_factor(scaling["factor"])
    if kind == "yarn":
        writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
    for method, value in family.metadata:
        getattr(writer, method)(value)


def write_gguf(path, family, add_vocabulary, weights, quantisation, joins=False):
    writer = gguf.GGUFWriter(path, family.architecture)
    add_metadata(writer, family, quantisation)
    add_vocabulary(writer)
    stacks = {}
    tensors = ((name, reordered(family, name, values, permuted)) for name, values in separated(weights))
    for name, values in joined(tensors) if joins else tensors:
        if ".experts." in name:
            stacks.setdefault(gguf_name(family, name), []).append(values)
        elif values.ndim == 1 or "feed_forward.gate." in name:
            writer.add_tensor(gguf_name(family, name), values + 1 if is_short_norm(family, name) else values)
        elif "conv.conv" in name or "conv1d" in name:
            writer.add_tensor(gguf_name(family, name), values.squeeze(1))
        else:
            writer.add_tensor(gguf_name(family, name), gguf.quants.quantize(values, quantisation), raw_dtype=quantisation)
    for name, stack in stacks.items():
        writer.add_tensor(name, gguf.quants.quantize(np.stack(stack), quantisation), raw_dtype=quantisation)
    divisors = family.divisors
    if (family.config.get("rope_scaling") or {}).get("rope_type") == "llama3":
        divisors = list(llama3_divisors(family))
    if divisors:
        writer.add_tensor("rope_freqs.weight", np.array(divisors, np.float32))
    for name, values in family.tensors.items():
        writer.add_tensor(name, np.array(values, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_gguf(path, family, weights):
    """Returns the weights of a file in f32, with the names and shapes of `weights`."""
    tensors = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type) for tensor in gguf.GGUFReader(path).tensors}

    def value(name, shape):
        if ".shared_mlp.input_linear." in name:
            return np.concatenate([value(half, (shape[0] // 2, shape[1])) for half in halves(name)])
        found = tensors[gguf_name(family, name)]
        if is_short_norm(family, name):
            found = found - 1
        if ".experts." in name:
            found = found[int(name.split(".experts.")[1].split(".")[0])]
        return np.ascontiguousarray(reordered(family, name, found.reshape(shape), restored), np.float32)

    return {name: value(name, values.shape) for name, values in weights.items()}


def write_folder(folder, family, weights):
    """Writes the weights in f16, which represents them exactly."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    weights, config = {name: values.astype(np.float16) for name, values in weights.items()}, family.config
    if family.around:
        weights = {name.replace("model.", family.around_prefix, 1): values for name, values in weights.items()}
        weights |= {name: np.ones(8, np.float16) for name in family.other_parts}
        config = family.around | {"text_config": config}
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    write_json(folder / "config.json", config)


def write_family(family, vocabulary, template, folder, records):
    with tempfile.TemporaryDirectory() as scratch:
        weights = random_weights(family, shapes(family, Path(scratch)))
    write_folder(folder / family.name, family, weights)
    model = reference_model(family, weights) if family.oracle or family.around else loaded(folder / family.name)
    add_vocabulary = lambda writer: gguf_file.add_vocabulary(writer, vocabulary, template)
    write_gguf(folder / f"{family.name}-f32.gguf", family, add_vocabulary, weights, Type.F32)
    logits.write(records / f"{family.name}.json", logits.reference(family.name, model, logits.prompt(family.seed)))
    if family.name in JOINED:
        write_gguf(folder / f"{family.name}-joined.gguf", family, add_vocabulary, weights, Type.F32, joins=True)

    path = folder / f"{family.name}-{family.quantisation.name.lower()}.gguf"
    write_gguf(path, family, add_vocabulary, weights, family.quantisation)
    model = reference_model(family, read_gguf(path, family, weights))
    logits.write(records / f"{path.stem}.json", logits.reference(path.name, model, logits.prompt(family.seed)))


def write_families(vocabulary, template, folder, records):
    for family in FAMILIES:
        write_family(family, vocabulary, template, folder, records)
