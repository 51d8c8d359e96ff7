"""Reads weights and tokenizer from the GGUF file of a demo model, to continue training without its checkpoint. Adds layers, and mixes
weights."""

from dataclasses import replace

import gguf
import torch

from .model import Model, Shape
from .names import our_name
from .tokenizer import CONTROL, assemble


def read(path):
    """The shape, the weights in f32, and the tokenizer."""
    reader = gguf.GGUFReader(path)
    field = lambda name: reader.fields[name].contents()
    weights = {our_name(tensor.name): torch.from_numpy(gguf.quants.dequantize(tensor.data, tensor.tensor_type).copy()) for tensor in reader.tensors}
    shape = Shape(
        vocabulary=field("lfm2.vocab_size"), hidden=field("lfm2.embedding_length"), feed_forward=field("lfm2.feed_forward_length"),
        heads=field("lfm2.attention.head_count"), kv_heads=max(field("lfm2.attention.head_count_kv")),
        layers="".join("a" if heads else "c" for heads in field("lfm2.attention.head_count_kv")), window=field("lfm2.shortconv.l_cache"),
        theta=field("lfm2.rope.freq_base"), epsilon=field("lfm2.attention.layer_norm_rms_epsilon"),
    )
    tokens, merges = field("tokenizer.ggml.tokens"), field("tokenizer.ggml.merges")
    assert tokens[: len(CONTROL)] == CONTROL, f"{path}: the control tokens must be {CONTROL}"
    vocabulary = {token: index for index, token in enumerate(tokens)}
    return shape, weights, assemble(vocabulary, [tuple(merge.split(" ")) for merge in merges])


@torch.no_grad()
def grow(shape, weights, layers):
    """Adds layers. `layers` lists all layers in order; a capital is a new one, which changes nothing at first."""
    assert "".join(filter(str.islower, layers)) == shape.layers, f"the small letters of --layers must be the layers of the model, {shape.layers}, found {layers}"
    grown = Model(replace(shape, layers=layers.lower()))
    made, old = grown.state_dict(), 0
    made.update({name: weight for name, weight in weights.items() if not name.startswith("layers.")})
    for new, kind in enumerate(layers):
        for name in [name for name in made if name.startswith(f"layers.{new}.")]:
            if kind.islower():
                made[name] = weights[name.replace(f"layers.{new}.", f"layers.{old}.", 1)]
            elif name.endswith(("out_proj.weight", "w2.weight")):
                made[name] = torch.zeros_like(made[name])
        old += kind.islower()
    return grown.shape, made


def mix(before, layers, learned, share):
    """Interpolates between the initial and the learned weights, with `share` of the learned ones: the mixture keeps what both know
    (Wortsman and others, 2022). In added layers, the initial output matrices are zero, and all other weights are the learned ones."""
    shape, weights, _ = read(before)
    _, begun = grow(shape, weights, layers)
    is_added = lambda name: name.startswith("layers.") and layers[int(name.split(".")[1])].isupper()
    closes = lambda name: name.endswith(("out_proj.weight", "w2.weight"))
    return {name: weight if is_added(name) and not closes(name) else (1 - share) * begun[name] + share * weight for name, weight in learned.items()}
