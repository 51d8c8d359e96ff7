"""A tiny Gemma 4 with its parts for pictures and sound: its files, and what transformers makes of recordings.

    pip install transformers==5.23.0 torch gguf
    python tests/golden/gemma4_media.py

With the folder of the check values as an argument, the rows of both towers are also compared with these.
"""

import json
import math
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import load_file, save_file
from transformers import Gemma4Config
from transformers.models.gemma4 import modeling_gemma4 as gemma4
from transformers.models.gemma4.feature_extraction_gemma4 import Gemma4AudioFeatureExtractor

import family_files
import gguf_file
import vocabulary as words
from checkpoint import GENERATION, TOKENIZER, write_json
from families import FAMILIES, HIDDEN
from hashed import uniform, values
from vocabulary import CONTROL, SIZE, tokenizer_of

GOLDEN = Path(__file__).resolve().parent
FIXTURES = GOLDEN.parent / "fixtures"
MODELS = FIXTURES / "models"
RATE, N_GREEDY = 16_000, 8
RECORDINGS = ("short", "tones", "long")
MARKS = ["<|audio>", "<|audio|>", "<audio|>", "<|image>", "<|image|>", "<image|>", "<|turn>", "<turn|>"]
ID = {mark: SIZE + at for at, mark in enumerate(MARKS)}
[BASE] = [family for family in FAMILIES if family.name == "gemma4"]
FAMILY = replace(BASE, config=BASE.config | {
    "vocab_size": SIZE + len(MARKS), "vocab_size_per_layer_input": SIZE + len(MARKS), "use_bidirectional_attention": None,
    "max_position_embeddings": 4096,
})
AUDIO = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "subsampling_conv_channels": [16, 8],
    "output_proj_dims": 40, "use_clipped_linears": True, "rms_norm_eps": 1e-6, "hidden_act": "silu", "attention_chunk_size": 12,
    "attention_context_left": 13, "attention_context_right": 0, "attention_logit_cap": 50.0, "residual_weight": 0.5,
    "conv_kernel_size": 5,
}
VISION = {
    "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2,
    "head_dim": 16, "position_embedding_size": 64, "standardize": False, "use_clipped_linears": True, "patch_size": 16,
    "pooling_kernel_size": 3, "rms_norm_eps": 1e-6,
}
CONFIG = {
    "architectures": ["Gemma4ForConditionalGeneration"], "model_type": "gemma4", "image_token_id": ID["<|image|>"],
    "audio_token_id": ID["<|audio|>"], "video_token_id": 13, "boi_token_id": ID["<|image>"], "eoi_token_id": ID["<image|>"],
    "boa_token_id": ID["<|audio>"], "eoa_token_index": ID["<audio|>"], "tie_word_embeddings": True,
    "text_config": FAMILY.config, "audio_config": AUDIO, "vision_config": VISION,
}
# Both bite.
CLIPS = {"min": -1.25, "max": 1.5}
EXTRACTOR = Gemma4AudioFeatureExtractor()


def whole_model():
    config = Gemma4Config(**CONFIG)
    config.audio_config.subsampling_conv_channels = list(AUDIO["subsampling_conv_channels"])
    config._attn_implementation = "eager"
    model = gemma4.Gemma4ForConditionalGeneration(config).eval().float()
    # The class takes the number of bins for the number of channels, which are equal in published models.
    channels = AUDIO["subsampling_conv_channels"][1]
    model.model.audio_tower.subsample_conv_projection.input_proj_linear = torch.nn.Linear(32 * channels, AUDIO["hidden_size"], bias=False)
    return model


def tower_weights(model):
    """Returns the weights of both towers by their names in folders. Most are the hashes of their names."""
    weights = {}
    for prefix, hash_prefix, module in (
        ("model.audio_tower.", "gemma4a.", model.model.audio_tower), ("model.vision_tower.", "gemma4v.", model.model.vision_tower),
    ):
        kept = module.state_dict()
        for name, value in kept.items():
            shape, last = tuple(value.shape), name.rsplit(".", 1)[-1]
            if last in ("input_min", "input_max", "output_min", "output_max"):
                weights[prefix + name] = np.full(shape, CLIPS[last[-3:]], np.float32)
                continue
            columns = max(1, math.prod(shape[1:]))
            if "position_embedding" in name:
                scale = 0.3
            elif "per_dim_scale" in name:
                scale = 0.8
            elif len(shape) > 1:
                scale = 1.5 / math.sqrt(columns)
            else:
                scale = 0.2 if prefix == "model.audio_tower." else 0.5
            is_norm = "norm" in name and last == "weight"
            weights[prefix + name] = values(hash_prefix + name, shape, *((0.2, 1.0) if is_norm else (scale,)))
    for part, width in (("audio", AUDIO["output_proj_dims"]), ("vision", VISION["hidden_size"])):
        weights[f"model.embed_{part}.embedding_projection.weight"] = values(f"embed_{part}", (HIDDEN, width), 0.4)
    return weights


def text_weights(model):
    """Returns the weights of the decoder by their names in a folder of the decoder alone, every value exact in f16."""
    prefix = "model.language_model."
    shapes = {"model." + name: tuple(value.shape) for name, value in sorted(model.model.language_model.named_parameters())}
    shapes |= {"model." + name: tuple(value.shape) for name, value in model.model.language_model.named_buffers() if name.endswith("layer_scalar")}
    assert prefix + "norm.weight" in model.state_dict()
    weights = family_files.random_weights(FAMILY, shapes)
    n_first = len(CONTROL)
    # Small rows have small logits, so that a reply is text.
    for rows in (slice(0, n_first), slice(SIZE, None)):
        table = weights["model.embed_tokens.weight"]
        table[rows] = (table[rows] * 0.3).astype(np.float16).astype(np.float32)
    return weights


@torch.no_grad()
def load(model, text, towers):
    state = model.state_dict()
    known = {name.replace("model.", "model.language_model.", 1): value for name, value in text.items()} | towers
    for name, value in state.items():
        if name in known:
            value.copy_(torch.from_numpy(known.pop(name).reshape(value.shape).copy()))
        else:
            assert name == "lm_head.weight", name
    assert not known, known.keys()
    return model


def vocabulary_of():
    vocabulary = words.train()
    return words.Vocabulary(vocabulary.tokens + MARKS, vocabulary.merges, len(MARKS))


def write_folder(folder, vocabulary, template, text, towers):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    tensors = {name.replace("model.", "model.language_model.", 1): value.astype(np.float16) for name, value in text.items()}
    save_file(tensors | towers, folder / "model.safetensors", {"format": "pt"})
    write_json(folder / "config.json", CONFIG)
    write_json(folder / "generation_config.json", GENERATION | {"eos_token_id": [7, ID["<turn|>"]]})
    write_json(folder / "tokenizer_config.json", TOKENIZER)
    write_json(folder / "processor_config.json", {"image_processor": {
        "do_convert_rgb": True, "do_normalize": False, "do_rescale": True, "do_resize": True, "image_mean": [0.0] * 3,
        "image_std": [1.0] * 3, "max_soft_tokens": 70, "patch_size": 16, "pooling_kernel_size": 3, "resample": 3,
        "rescale_factor": 1 / 255,
    }})
    tokenizer_of(vocabulary).save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(template)


def mmproj_name(name):
    """Returns the name of a tower's tensor in a projector file."""
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.MMPROJ, 2)
    source = name.replace(".linear.", ".")
    if name.startswith("model.vision_tower."):
        source = source.replace("model.vision_tower.encoder.", "vision_model.model.").replace("model.vision_tower.", "model.vision_tower.")
    else:
        source = source.replace("model.audio_tower.", "conformer.")
    if source.endswith(("per_dim_scale", "position_embedding_table")):
        source += ".weight"
    found = names.get_name(source, try_suffixes=(".weight", ".bias", ".input_max", ".input_min", ".output_max", ".output_min"))
    assert found, name
    return found


def mmproj_value(name, value):
    if name.endswith("per_dim_scale"):
        return np.log1p(np.exp(value))
    if "depthwise_conv1d" in name:
        return value[:, 0]
    if name.endswith("patch_embedder.input_proj.weight"):
        return value.reshape(len(value), 16, 16, 3).transpose(0, 3, 1, 2)
    return value[None] if value.ndim == 0 else value


def own_value(name, value, shape):
    """Returns a value of a projector file as folders have it."""
    if name.endswith("per_dim_scale"):
        value = np.log(np.expm1(value))
    if name.endswith("patch_embedder.input_proj.weight"):
        value = value.reshape(len(value), 3, 16, 16).transpose(0, 2, 3, 1)
    return np.ascontiguousarray(value.reshape(shape), np.float32)


def write_mmproj(path, towers, quantisation):
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_string("general.type", "mmproj")
    for part, kind, config, width, projected in (
        ("audio", "gemma4a", AUDIO, 4 * AUDIO["hidden_size"], HIDDEN),
        ("vision", "gemma4v", VISION, VISION["intermediate_size"], HIDDEN),
    ):
        writer.add_bool(f"clip.has_{part}_encoder", True)
        writer.add_string(f"clip.{part}.projector_type", kind)
        for key, value in {
            "embedding_length": config["hidden_size"], "feed_forward_length": width, "block_count": config["num_hidden_layers"],
            "attention.head_count": config["num_attention_heads"], "projection_dim": projected,
        }.items():
            writer.add_uint32(f"clip.{part}.{key}", value)
        # As early files have it, which is wrong.
        writer.add_float32(f"clip.{part}.attention.layer_norm_epsilon", 1e-5 if part == "audio" else 1e-6)
    writer.add_uint32("clip.audio.num_mel_bins", 128)
    writer.add_uint32("clip.vision.image_size", 224)
    writer.add_uint32("clip.vision.patch_size", 16)
    writer.add_array("clip.vision.image_mean", [0.0] * 3)
    writer.add_array("clip.vision.image_std", [1.0] * 3)
    for name, value in towers.items():
        value = np.ascontiguousarray(mmproj_value(name, value), np.float32)
        if value.ndim == 2 and value.shape[-1] % 32 == 0 and "conv_dw" not in mmproj_name(name):
            writer.add_tensor(mmproj_name(name), gguf.quants.quantize(value, quantisation), raw_dtype=quantisation)
        else:
            writer.add_tensor(mmproj_name(name), value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_mmproj(path, towers):
    tensors = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type) for tensor in gguf.GGUFReader(path).tensors}
    return {name: own_value(name, tensors[mmproj_name(name)], value.shape) for name, value in towers.items()}


def write_text(path, vocabulary, template, text):
    def add_vocabulary(writer):
        gguf_file.add_vocabulary(writer, vocabulary, template)

    family_files.write_gguf(path, FAMILY, add_vocabulary, text, Type.F16)


def recording(name):
    data = (FIXTURES / "sounds" / f"{name}.wav").read_bytes()
    return np.frombuffer(data[44:], "<i2").astype(np.float32) / 32768


def features_of(samples):
    found = EXTRACTOR([samples], return_tensors="pt")
    return found["input_features"], found["input_features_mask"].bool()


@torch.no_grad()
def encoded(model, samples):
    """Returns the rows of each stage of a recording, without padding."""
    features, mask = features_of(samples)
    tower, stages = model.model.audio_tower, {}
    hooks = [tower.subsample_conv_projection.register_forward_hook(lambda _, __, out: stages.__setitem__("beginning", out[0][0]))]
    for at, layer in enumerate(tower.layers):
        def keep(_, __, out, at=at):
            stages[f"layer {at}"] = (out[0] if isinstance(out, tuple) else out)[0]
        hooks.append(layer.register_forward_hook(keep))
    found = model.model.get_audio_features(features, mask, return_dict=True)
    [hook.remove() for hook in hooks]
    valid = found.attention_mask[0]
    stages["outputs"], stages["rows"] = found.last_hidden_state[0], found.pooler_output[0]
    return {name: rows[valid].double() for name, rows in stages.items()}


def stage_record(values):
    """Returns the sums of all rows, and the values of the first, a middle and the last one."""
    kept = sorted({0, len(values) // 2, len(values) - 1})
    return {
        "n_rows": len(values), "sums": [round(value, 5) for value in values.sum(1).tolist()],
        "rows": [{"row": row, "values": [round(value, 6) for value in values[row].tolist()]} for row in kept],
    }


def conversations():
    """Returns conversations: of each message the role and its parts, which are texts or the names of recordings in brackets."""
    return [
        [("user", ["[tones]"])],
        [("system", ["Write what is said."]), ("user", [" Compare ", "[short]", " and ", "[long]", "!"])],
        [("user", ["[long]", "Hello"]), ("assistant", ["It is sunny."]), ("user", ["And here? ", "[tones]"])],
    ]


@torch.no_grad()
def reply_record(name, model, tokenizer, conversation):
    """Returns the prompt of a conversation, with the number of a recording's rows in their place, and the greedy reply."""
    text, features, masks, counts = "<|startoftext|>", [], [], []
    for role, parts in conversation:
        text += f"<|turn>{'model' if role == 'assistant' else role}\n"
        for part in parts:
            if part.startswith("["):
                found, mask = features_of(recording(part[1:-1]))
                features.append(found[0])
                masks.append(mask[0])
                counts.append(int(mask[0][::2][::2].sum()))
                text += "<|audio>" + counts[-1] * "<|audio|>" + "<audio|>"
            else:
                text += part.strip()
        text += "<turn|>\n"
    ids = tokenizer.encode(text + "<|turn>model\n", add_special_tokens=False).ids
    prompt = []
    for at, token in enumerate(ids):
        is_sound = token == ID["<|audio|>"]
        if not is_sound:
            if not prompt or isinstance(prompt[-1], int):
                prompt.append([])
            prompt[-1].append(token)
        elif ids[at - 1] != token:
            prompt.append(counts[sum(isinstance(part, int) for part in prompt)])
    longest = max(len(found) for found in features)
    features = torch.stack([torch.nn.functional.pad(found, (0, 0, 0, longest - len(found))) for found in features])
    masks = torch.stack([torch.nn.functional.pad(mask, (0, longest - len(mask))) for mask in masks])
    greedy, logprobs, margins = [], [], []
    for _ in range(N_GREEDY):
        kinds = torch.tensor([[3 * (token == ID["<|audio|>"]) for token in ids]])
        output = model(input_ids=torch.tensor([ids]), input_features=features, input_features_mask=masks, mm_token_type_ids=kinds, use_cache=False)
        logits = output.logits[0, -1].double()
        best, second = logits.topk(2).values
        margins.append(float(best - second))
        greedy.append(int(logits.argmax()))
        logprobs.append(round(float(logits.log_softmax(0).max()), 6))
        ids.append(greedy[-1])
    print(f"{name:26} {len(ids)} positions, smallest margin {min(margins):.4f}, distinct {len(set(greedy))}")
    assert min(margins) > 2e-3 and not any(token < len(CONTROL) or SIZE <= token for token in greedy), f"{name}: choose another seed"
    return {
        "model": name, "messages": [{"role": role, "content": parts} for role, parts in conversation], "prompt": prompt,
        "greedy": greedy, "logprobs": logprobs,
    }


def check_sound(model, known):
    """Compares with the check values."""
    for n in (1600, 4001, 11000):
        time = np.arange(n) / RATE
        swell = 0.55 + 0.45 * np.sin(2 * np.pi * 3 * time)
        tones = sum(level * np.sin(2 * np.pi * pitch * time) for level, pitch in ((0.3, 220), (0.2, 1330), (0.1, 5100)))
        samples = (swell * tones + 0.02 * (2 * uniform("noise", n) - 1)).astype(np.float32)
        found = encoded(model, samples)["outputs"].numpy()
        difference = np.abs(found - known[f"conformer_{n}"]).max()
        print(f"check value conformer_{n}: difference {difference:.1e}")
        assert difference < 1e-5


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    vocabulary, template = vocabulary_of(), (FIXTURES / "templates" / "gemma-4.jinja").read_text()
    tokenizer, model = tokenizer_of(vocabulary), whole_model()
    text, towers = text_weights(model), tower_weights(model)
    write_folder(MODELS / "gemma4-media-hf", vocabulary, template, text, towers)
    folder = MODELS / "gemma4-media"
    folder.mkdir(exist_ok=True)
    write_text(folder / "gemma4-media-f16.gguf", vocabulary, template, text)
    encodings, replies = [], []
    for name, quantisation in [
        ("gemma4-media-hf", None), ("mmproj-gemma4-media-f16.gguf", Type.F16), ("mmproj-gemma4-media-q8_0.gguf", Type.Q8_0),
    ]:
        read = towers
        if quantisation:
            write_mmproj(folder / name, towers, quantisation)
            read = read_mmproj(folder / name, towers)
        load(model, text, read)
        if not quantisation and 1 < len(sys.argv):
            check_sound(model, load_file(Path(sys.argv[1]) / "gemma4_media.safetensors"))
        for sound in RECORDINGS:
            stages = encoded(model, recording(sound))
            del stages["outputs"]
            encodings.append({"model": name, "recording": sound, "stages": {stage: stage_record(rows) for stage, rows in stages.items()}})
        replies += [reply_record(name, model, tokenizer, conversation) for conversation in conversations()]
    sections = {"encodings": encodings, "conversations": replies}
    lines = [f'  "{name}": [\n    ' + ",\n    ".join(json.dumps(record) for record in records) + "\n  ]" for name, records in sections.items()]
    (GOLDEN / "gemma4_hearing.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
