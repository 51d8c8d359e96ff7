"""A tiny LFM2-Audio with its audio part: its files, and what liquid-audio and transformers make of recordings.

    pip install --no-deps --ignore-requires-python liquid-audio==1.3.0
    pip install librosa==0.11.0
    python tests/golden/hearing.py

It is not a part of `scripts/golden`, because liquid-audio asks for Python 3.12 and for packages that this does not need.
"""

import importlib.util
import json
import math
import pathlib
import shutil
import sys
import types
import wave

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import save_file

import gguf_file
import vocabulary as words
from checkpoint import GENERATION, TOKENIZER, new_config, write_json
from shapes import Shape
from vocabulary import CONTROL, tokenizer_of
from weights import gguf_name, model_of, random_weights


def package_without_its_start(name):
    """Lets modules of a package be imported without what its `__init__` imports."""
    package = types.ModuleType(name)
    package.__path__ = importlib.util.find_spec(name).submodule_search_locations
    sys.modules[name] = package


package_without_its_start("liquid_audio")
package_without_its_start("liquid_audio.model")

from liquid_audio.model.conformer.encoder import ConformerEncoder
from liquid_audio.model.conformer.processor import AudioToMelSpectrogramPreprocessor
from liquid_audio.model.mlp import MLP

GOLDEN = pathlib.Path(__file__).resolve().parent
FIXTURES = GOLDEN.parent / "fixtures"
TEXT = Shape(32, 64, 2, 1, ("conv", "full_attention"), 1e6, True, seed=3)
# Heads of 8, which are not whole vectors.
HIDDEN, HEADS, CHANNELS, KERNEL, LAYERS, INNER = 32, 4, 16, 9, 2, 64
RATE = 16_000
# A few frames; recordings of one second with other lengths than whole rows.
SAMPLES = {"short": 1280, "tones": 8000, "long": 16111}
N_GREEDY = 8
PREPROCESSOR = {
    "sample_rate": RATE, "normalize": "per_feature", "window_size": 0.025, "window_stride": 0.01, "window": "hann", "features": 128,
    "n_fft": 512, "log": True, "frame_splicing": 1, "dither": 1e-5, "pad_to": 0, "pad_value": 0.0,
}
ENCODER = {
    "feat_in": 128, "feat_out": -1, "n_layers": LAYERS, "d_model": HIDDEN, "subsampling": "dw_striding", "subsampling_factor": 8,
    "subsampling_conv_channels": CHANNELS, "causal_downsampling": False, "reduction": None, "reduction_position": None,
    "reduction_factor": 1, "ff_expansion_factor": 4, "self_attention_model": "rel_pos", "n_heads": HEADS,
    "att_context_size": [-1, -1], "xscaling": False, "untie_biases": True, "pos_emb_max_len": 5000, "conv_kernel_size": KERNEL,
    "conv_norm_type": "batch_norm", "conv_context_size": None, "dropout": 0.1, "dropout_pre_encoder": 0.1, "dropout_emb": 0.0,
    "dropout_att": 0.1,
}
IN_LAYER = {
    "norm_feed_forward1": "ffn_norm", "feed_forward1.linear1": "ffn_up", "feed_forward1.linear2": "ffn_down",
    "norm_self_att": "ln1", "self_attn.linear_q": "attn_q", "self_attn.linear_k": "attn_k", "self_attn.linear_v": "attn_v",
    "self_attn.linear_out": "attn_out", "self_attn.linear_pos": "linear_pos", "norm_conv": "norm_conv",
    "conv.pointwise_conv1": "conv_pw1", "conv.depthwise_conv": "conv_dw", "conv.pointwise_conv2": "conv_pw2",
    "norm_feed_forward2": "ffn_norm_1", "feed_forward2.linear1": "ffn_up_1", "feed_forward2.linear2": "ffn_down_1",
    "norm_out": "ln2",
}


def samples(n):
    """Three tones that swell, and noise, in 16 bits."""
    time = np.arange(n) / RATE
    swell = 0.55 + 0.45 * np.sin(2 * np.pi * 3 * time)
    tones = sum(level * np.sin(2 * np.pi * pitch * time) for level, pitch in ((0.3, 220), (0.2, 1330), (0.1, 5100)))
    noise = np.random.default_rng(n).uniform(-0.02, 0.02, n)
    return np.round((swell * tones + noise) * 32767).astype("<i2")


def write_recordings(folder):
    folder.mkdir(exist_ok=True)
    for name, n in SAMPLES.items():
        with wave.open(str(folder / f"{name}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(RATE)
            file.writeframes(samples(n).tobytes())


def encoder_of():
    names = set(ConformerEncoder.__init__.__code__.co_varnames)
    return ConformerEncoder(**{key: value for key, value in ENCODER.items() if key in names}).eval()


def adapter_of():
    return MLP(HIDDEN, TEXT.hidden, [INNER]).eval()


def sound_weights():
    """Random weights by their names in folders, every value exact in f16."""
    random = np.random.default_rng(11)
    weights = {}
    for prefix, module in (("conformer.", encoder_of()), ("audio_adapter.", adapter_of())):
        for name, value in module.state_dict().items():
            if "pos_enc" in name or not value.dtype.is_floating_point:
                continue
            noise = random.standard_normal(tuple(value.shape), dtype=np.float32)
            is_norm = "norm" in name or name.startswith("model.0.")
            if name.endswith("running_var"):
                noise = 1 + 0.4 * np.tanh(noise)
            elif noise.ndim == 1:
                noise = 1 + 0.2 * noise if is_norm and name.endswith("weight") else 0.2 * noise
            elif "pos_bias" in name:
                noise *= 0.5
            else:
                noise *= 1.2 / math.sqrt(noise[0].size)
            weights[prefix + name] = noise.astype(np.float16).astype(np.float32)
    return weights


@torch.no_grad()
def modules_of(weights):
    encoder, adapter = encoder_of(), adapter_of()
    for prefix, module in (("conformer.", encoder), ("audio_adapter.", adapter)):
        for name, value in module.state_dict().items():
            if prefix + name in weights:
                value.copy_(torch.from_numpy(weights[prefix + name].copy()))
    return encoder, adapter


def mmproj_tensors(weights):
    """The tensors of the encoder and the adapter, as llama.cpp's converter writes them."""
    tensors = {}
    for name, values in weights.items():
        stem, kind = name.rsplit(".", 1)
        if stem.startswith("audio_adapter.model."):
            tensors[f"mm.a.mlp.{stem.rsplit('.', 1)[1]}.{kind}"] = values
        elif stem.startswith("conformer.pre_encode.conv."):
            values = values[:, None, None] if kind == "bias" else values
            tensors[f"a.conv1d.{stem.rsplit('.', 1)[1]}.{kind}"] = values
        elif stem == "conformer.pre_encode.out":
            tensors[f"a.pre_encode.out.{kind}"] = values
        else:
            _, _, layer, part = stem.split(".", 3)
            block = f"a.blk.{layer}"
            if kind.startswith("pos_bias"):
                tensors[f"{block}.{kind}"] = values
            elif part != "conv.batch_norm":
                if kind == "weight" and "conv." in part:
                    values = values[:, 0] if "depthwise" in part else values[:, :, 0]
                tensors[f"{block}.{IN_LAYER[part]}.{kind}"] = values
            elif kind == "weight":
                norm = {key: weights[f"{stem}.{key}"] for key in ("weight", "bias", "running_mean", "running_var")}
                factor = norm["weight"] / np.sqrt(norm["running_var"] + 1e-5)
                tensors[f"{block}.conv_norm.weight"] = factor
                tensors[f"{block}.conv_norm.bias"] = norm["bias"] - norm["running_mean"] * factor
    return tensors


def write_mmproj(path, weights, quantisation):
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_string("general.type", "mmproj")
    writer.add_bool("clip.has_audio_encoder", True)
    writer.add_string("clip.projector_type", "lfm2a")
    for key, value in {
        "embedding_length": HIDDEN, "feed_forward_length": HIDDEN, "block_count": LAYERS, "attention.head_count": HEADS,
        "num_mel_bins": 128, "projection_dim": TEXT.hidden,
    }.items():
        writer.add_uint32(f"clip.audio.{key}", value)
    writer.add_float32("clip.audio.attention.layer_norm_epsilon", 1e-5)
    for name, values in mmproj_tensors(weights).items():
        values = np.ascontiguousarray(values, np.float32)
        if values.ndim == 2 and values.shape[-1] % 32 == 0:
            writer.add_tensor(name, gguf.quants.quantize(values, quantisation), raw_dtype=quantisation)
        else:
            writer.add_tensor(name, values)
    # Tables of the speech part, which an audio model does not read.
    table = np.random.default_rng(5).standard_normal((64, TEXT.hidden), dtype=np.float32)
    writer.add_tensor("a.position_embd.weight", table.astype(np.float16))
    writer.add_tensor("a.position_embd_norm.weight", table[0])
    finish(writer)


def read_mmproj(path, weights):
    """Returns the weights, replaced by the weights of a file, in f32."""
    tensors = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type) for tensor in gguf.GGUFReader(path).tensors}
    names = {}
    for name in weights:
        if "batch_norm" not in name:
            [in_file] = mmproj_tensors({name: weights[name]})
            names[name] = in_file
    return weights | {
        name: np.ascontiguousarray(tensors[in_file].reshape(weights[name].shape), np.float32) for name, in_file in names.items()
    }


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_text(path, vocabulary, template, weights):
    writer = gguf.GGUFWriter(path, "lfm2")
    gguf_file.add_metadata(writer, TEXT, vocabulary, template, Type.F16)
    for name, values in weights.items():
        if "conv.conv" in name:
            writer.add_tensor(gguf_name(name), values.squeeze(1))
        else:
            writer.add_tensor(gguf_name(name), values if values.ndim == 1 else values.astype(np.float16))
    finish(writer)


def write_folder(folder, vocabulary, template, text, sound):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    # A table of the speech part, which an audio model does not read.
    others = {"audio_embedding.embedding.weight": np.zeros((16, TEXT.hidden), np.float32)}
    counts = {f"conformer.layers.{layer}.conv.batch_norm.num_batches_tracked": np.zeros((), np.int64) for layer in range(LAYERS)}
    text = {name.replace("model.", "lfm.", 1): values for name, values in text.items()}
    floats = {name: values.astype(np.float16) for name, values in (text | sound | others).items()}
    save_file(floats | counts, folder / "model.safetensors")
    write_json(folder / "config.json", {
        "architectures": ["Lfm2AudioForConditionalGeneration"], "codebooks": 8, "tie_audio_embeddings": False,
        "semantic_codebook_factor": 100, "codebook_weight": "log", "interleaved_n_text": 6, "interleaved_n_audio": 12,
        "preprocessor": PREPROCESSOR, "encoder": ENCODER, "lfm": new_config(TEXT),
        "depthformer": {"layers": 6, "dim": 1024, "tie": True},
    })
    write_json(folder / "generation_config.json", GENERATION)
    write_json(folder / "tokenizer_config.json", TOKENIZER)
    tokenizer_of(vocabulary).save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(template)


@torch.no_grad()
def encoded(encoder, adapter, features):
    """Returns the rows of each stage for features, (bins, frames)."""
    stages = {}
    hooks = [encoder.pre_encode.register_forward_hook(lambda _, __, out: stages.__setitem__("beginning", out[0][0]))]
    for at, layer in enumerate(encoder.layers):
        hooks.append(layer.register_forward_hook(lambda _, __, out, at=at: stages.__setitem__(f"layer {at}", out[0])))
    rows, length = encoder(features[None], torch.tensor([features.shape[1]]))
    [hook.remove() for hook in hooks]
    stages["rows"] = adapter(rows[0].T[: int(length)])
    return {name: values.double() for name, values in stages.items()}


def stage_record(values):
    """Returns the sums of all rows, and the values of the first, a middle and the last one."""
    kept = sorted({0, len(values) // 2, len(values) - 1})
    return {
        "n_rows": len(values), "sums": [round(value, 5) for value in values.sum(1).tolist()],
        "rows": [{"row": row, "values": [round(value, 6) for value in values[row].tolist()]} for row in kept],
    }


@torch.no_grad()
def features_of(n):
    preprocessor = AudioToMelSpectrogramPreprocessor(**{k: v for k, v in PREPROCESSOR.items()}).eval()
    signal = torch.from_numpy(samples(n).astype(np.float32) / 32768)
    features, _ = preprocessor(signal[None], torch.tensor([n]))
    return features[0]


def conversations():
    """Returns conversations: of each message the role and its parts, which are texts or the names of recordings in brackets."""
    return [
        [("user", ["[tones]"])],
        [("system", ["Perform ASR."]), ("user", ["Compare ", "[short]", " and ", "[long]", "!"])],
        [("user", ["[long]", "Hello"]), ("assistant", ["It is sunny."]), ("user", ["And here? ", "[tones]"])],
    ]


@torch.no_grad()
def reply_record(name, model, modules, tokenizer, conversation):
    """Returns the prompt of a conversation, with the number of a recording's rows in their place, and the greedy reply."""
    text, embedding = "<|startoftext|>", model.model.embed_tokens
    pieces, prompt = [], []

    def flush():
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        if ids:
            prompt.append(ids)
            pieces.append(embedding(torch.tensor(ids)))

    for role, parts in conversation:
        text += f"<|im_start|>{role}\n"
        for part in parts:
            if part.startswith("["):
                flush()
                text = ""
                rows = encoded(*modules, features_of(SAMPLES[part[1:-1]]))["rows"].float()
                prompt.append(len(rows))
                pieces.append(rows)
            else:
                # Texts on both sides of a recording are tokenised on their own.
                text += part
        text += "<|im_end|>\n"
    text += "<|im_start|>assistant\n"
    flush()
    inputs, greedy, logprobs, margins = torch.cat(pieces), [], [], []
    for _ in range(N_GREEDY):
        logits = model(inputs_embeds=inputs[None], use_cache=False).logits[0, -1].double()
        best, second = logits.topk(2).values
        margins.append(float(best - second))
        greedy.append(int(logits.argmax()))
        logprobs.append(round(float(logits.log_softmax(0).max()), 6))
        inputs = torch.cat([inputs, embedding(torch.tensor(greedy[-1:]))])
    print(f"{name:24} {len(inputs)} positions, smallest margin {min(margins):.4f}, distinct {len(set(greedy))}")
    assert min(margins) > 2e-3 and not set(greedy) & set(range(len(CONTROL))), f"{name}: choose another seed"
    return {
        "model": name, "messages": [{"role": role, "content": parts} for role, parts in conversation], "prompt": prompt,
        "greedy": greedy, "logprobs": logprobs,
    }


def main():
    torch.set_num_threads(1)
    vocabulary, template = words.train(), (FIXTURES / "templates" / "lfm2-a.jinja").read_text()
    tokenizer, text, sound = tokenizer_of(vocabulary), random_weights(TEXT), sound_weights()
    text["model.embed_tokens.weight"][: len(CONTROL)] *= 0.3  # small rows have small logits, so that a reply is text
    text["model.embed_tokens.weight"] = text["model.embed_tokens.weight"].astype(np.float16).astype(np.float32)
    write_recordings(FIXTURES / "sounds")
    write_folder(FIXTURES / "models" / "lfm2a-hf", vocabulary, template, text, sound)
    folder = FIXTURES / "models" / "lfm2a"
    folder.mkdir(exist_ok=True)
    write_text(folder / "lfm2a-f16.gguf", vocabulary, template, text)
    model, encodings, replies = model_of(TEXT, text), [], []
    for name, quantisation in [("lfm2a-hf", None), ("mmproj-lfm2a-f16.gguf", Type.F16), ("mmproj-lfm2a-q8_0.gguf", Type.Q8_0)]:
        read = sound
        if quantisation:
            write_mmproj(folder / name, sound, quantisation)
            read = read_mmproj(folder / name, sound)
        modules = modules_of(read)
        for recording, n in SAMPLES.items():
            stages = encoded(*modules, features_of(n))
            stages = {stage: stage_record(values) for stage, values in stages.items()}
            encodings.append({"model": name, "recording": recording, "stages": stages})
        replies += [reply_record(name, model, modules, tokenizer, conversation) for conversation in conversations()]
    sections = {"encodings": encodings, "conversations": replies}
    lines = [f'  "{name}": [\n    ' + ",\n    ".join(json.dumps(record) for record in records) + "\n  ]" for name, records in sections.items()]
    (GOLDEN / "hearing.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
