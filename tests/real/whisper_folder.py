"""A Whisper model of CTranslate2 as a Hugging Face folder with the same values.

    python tests/real/whisper_folder.py FOLDER_OF_MODEL_BIN FOLDER
"""

import json
import shutil
import struct
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

LANGUAGES = "en zh de es ru ko fr ja pt tr pl ca nl ar sv it id hi fi vi he uk el ms cs ro da hu ta no th ur hr bg lt la mi ml cy sk te fa lv bn sr az sl kn et mk br eu is hy ne mn bs kk sq sw gl mr pa si km sn yo so af oc ka be tg sd gu am yi lo uz fo ht ps tk nn mt sa lb my bo tl mg as tt haw ln ha ba jw su yue".split()
HEAD = 64  # of all published models
TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}


def read(file):
    """The variables of a model.bin of version 6: each with its name, rank, sizes, type, bytes."""
    data = memoryview(file.read_bytes())
    at = 0

    def number(form):
        nonlocal at
        value = struct.unpack_from(form, data, at)[0]
        at += struct.calcsize(form)
        return value

    def text():
        nonlocal at
        length = number("<H")
        value = bytes(data[at:at + length]).rstrip(b"\0").decode()
        at += length
        return value

    version, kind, _, n_variables = number("<I"), text(), number("<I"), number("<I")
    assert (version, kind) == (6, "WhisperSpec"), f"expected version 6 of WhisperSpec, found {version} of {kind}"
    variables = {}
    for _ in range(n_variables):
        name, rank = text(), number("<B")
        shape = [number("<I") for _ in range(rank)]
        dtype, n_bytes = TYPES[number("<B")], number("<I")
        variables[name] = np.frombuffer(data[at:at + n_bytes], dtype).reshape(shape)
        at += n_bytes
    return variables


def norm(variables, place, name):
    return {f"{name}.weight": variables[f"{place}/gamma"], f"{name}.bias": variables[f"{place}/beta"]}


def linear(variables, place, names):
    """A product, or several whose rows are stacked. Keys have no bias."""
    weight, bias = variables[f"{place}/weight"], variables[f"{place}/bias"]
    tensors = {}
    for name, rows, values in zip(names, np.split(weight, len(names)), np.split(bias, len(names))):
        tensors[f"{name}.weight"] = rows
        if not name.endswith("k_proj"):
            tensors[f"{name}.bias"] = values
    return tensors


def tensors(variables):
    found = {
        "model.decoder.embed_tokens.weight": variables["decoder/embeddings/weight"],
        "model.decoder.embed_positions.weight": variables["decoder/position_encodings/encodings"],
        "model.encoder.embed_positions.weight": variables["encoder/position_encodings/encodings"],
    }
    for side in ("encoder", "decoder"):
        found |= norm(variables, f"{side}/layer_norm", f"model.{side}.layer_norm")
    for conv in ("conv1", "conv2"):
        for part in ("weight", "bias"):
            found[f"model.encoder.{conv}.{part}"] = variables[f"encoder/{conv}/{part}"]
    for side in ("encoder", "decoder"):
        layer = 0
        while f"{side}/layer_{layer}/ffn/linear_0/weight" in variables:
            place, name = f"{side}/layer_{layer}", f"model.{side}.layers.{layer}"
            parts = [f"{name}.self_attn.{part}" for part in ("q_proj", "k_proj", "v_proj")]
            found |= norm(variables, f"{place}/self_attention/layer_norm", f"{name}.self_attn_layer_norm")
            found |= linear(variables, f"{place}/self_attention/linear_0", parts)
            found |= linear(variables, f"{place}/self_attention/linear_1", [f"{name}.self_attn.out_proj"])
            if side == "decoder":
                found |= norm(variables, f"{place}/attention/layer_norm", f"{name}.encoder_attn_layer_norm")
                found |= linear(variables, f"{place}/attention/linear_0", [f"{name}.encoder_attn.q_proj"])
                parts = [f"{name}.encoder_attn.k_proj", f"{name}.encoder_attn.v_proj"]
                found |= linear(variables, f"{place}/attention/linear_1", parts)
                found |= linear(variables, f"{place}/attention/linear_2", [f"{name}.encoder_attn.out_proj"])
            found |= norm(variables, f"{place}/ffn/layer_norm", f"{name}.final_layer_norm")
            found |= linear(variables, f"{place}/ffn/linear_0", [f"{name}.fc1"])
            found |= linear(variables, f"{place}/ffn/linear_1", [f"{name}.fc2"])
            layer += 1
    return {name: np.ascontiguousarray(tensor) for name, tensor in found.items()}


def configs(weights, settings):
    n_layers = lambda side: sum(name.startswith(f"model.{side}.layers.") and name.endswith(".fc1.weight") for name in weights)
    n_vocabulary, hidden = weights["model.decoder.embed_tokens.weight"].shape
    _, n_bins, _ = weights["model.encoder.conv1.weight"].shape
    width, _ = weights["model.encoder.layers.0.fc1.weight"].shape
    is_multilingual = 51865 <= n_vocabulary
    start = 50257 + is_multilingual
    n_languages = n_vocabulary - 51766 if is_multilingual else 99
    no_times = start + n_languages + 6
    config = {
        "model_type": "whisper", "architectures": ["WhisperForConditionalGeneration"], "num_mel_bins": n_bins, "d_model": hidden,
        "encoder_layers": n_layers("encoder"), "encoder_attention_heads": hidden // HEAD, "encoder_ffn_dim": width,
        "decoder_layers": n_layers("decoder"), "decoder_attention_heads": hidden // HEAD, "decoder_ffn_dim": width,
        "max_source_positions": weights["model.encoder.embed_positions.weight"].shape[0],
        "max_target_positions": weights["model.decoder.embed_positions.weight"].shape[0], "vocab_size": n_vocabulary,
        "activation_function": "gelu", "scale_embedding": False, "bos_token_id": start - 1, "eos_token_id": start - 1,
        "pad_token_id": start - 1, "decoder_start_token_id": start,
    }
    generation = {
        "eos_token_id": start - 1, "pad_token_id": start - 1, "decoder_start_token_id": start, "no_timestamps_token_id": no_times,
        "prev_sot_token_id": no_times - 2, "is_multilingual": is_multilingual, "return_timestamps": False, "max_length": 448,
        "suppress_tokens": settings["suppress_ids"], "begin_suppress_tokens": settings["suppress_ids_begin"],
        "alignment_heads": settings["alignment_heads"], "max_initial_timestamp_index": 50,
    }
    if is_multilingual:
        generation["lang_to_id"] = {f"<|{code}|>": start + 1 + at for at, code in enumerate(LANGUAGES[:n_languages])}
        generation["task_to_id"] = {"transcribe": no_times - 4, "translate": no_times - 5}
    return config, generation


def convert(source, folder):
    """Converts the model in a folder with model.bin, config.json and tokenizer.json."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = tensors(read(source / "model.bin"))
    config, generation = configs(weights, json.loads((source / "config.json").read_text()))
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    (folder / "generation_config.json").write_text(json.dumps(generation))
    shutil.copy(source / "tokenizer.json", folder / "tokenizer.json")


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
