"""A tiny LFM3-VL: its files, and what transformers makes of pictures, as vision.py does for LFM2-VL."""

import dataclasses
import json
import tempfile
from pathlib import Path

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from PIL import Image
from safetensors.numpy import load_file, save_file
from transformers import (
    AutoConfig, AutoModelForImageTextToText, Lfm3VlForConditionalGeneration, PreTrainedTokenizerFast, Qwen2VLImageProcessor,
)

import family_files
import gguf_file
from checkpoint import TOKENIZER, write_json
from families import FAMILIES
from vision import N_GREEDY, SIZES, conversations, finish, is_vision, picture
from vocabulary import BOS, CONTROL, EOS, PAD, Vocabulary, tokenizer_of

MARKERS = ["<|image|>", "<|vision_start|>", "<|vision_end|>", "<|video|>"]
# Every kind of layer; two heads of queries for each of keys; four frequencies for each axis.
VISION = {
    "model_type": "lfm3_vl_vision", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "num_attention_heads": 4,
    "num_key_value_heads": 2, "patch_size": 16, "spatial_merge_size": 2, "temporal_patch_size": 2, "conv_kernel_size": 3,
    "layer_types": ["conv", "full_attention", "conv", "full_attention"],
    "rope_parameters": {"rope_type": "axial", "rope_theta": 1e6},
}
# Small pictures have few rows.
SETTINGS = {
    "image_processor_type": "Qwen2VLImageProcessor", "size": {"shortest_edge": 2 * 1024, "longest_edge": 24 * 1024}, "patch_size": 16,
    "merge_size": 2, "temporal_patch_size": 2, "image_mean": [0.48, 0.46, 0.41], "image_std": [0.27, 0.26, 0.28], "resample": 3,
}
# The limits of published files.
USUAL = SETTINGS | {"size": {"shortest_edge": 64 * 1024, "longest_edge": 16384 * 1024}, "image_mean": [0.5] * 3, "image_std": [0.5] * 3}
GLOBAL = {
    "vision_tower.patchifier": "v.patch_embd", "vision_tower.embedding_norm": "v.embedding_norm",
    "multi_modal_projector.layer_norm": "mm.input_norm", "multi_modal_projector.linear_1": "mm.0",
    "multi_modal_projector.linear_2": "mm.2",
}
IN_BLOCK = {
    "operator_norm": "ln1", "ffn_norm": "ln2", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.out_proj": "attn_out", "self_attn.q_layernorm": "attn_q_norm", "self_attn.k_layernorm": "attn_k_norm",
    "feed_forward.w1": "ffn_gate", "feed_forward.w2": "ffn_down", "feed_forward.w3": "ffn_up", "conv.in_proj": "conv2d_in_proj",
    "conv.spatial_conv": "conv2d_spatial", "conv.out_proj": "conv2d_out_proj",
}
PIXELS = [(256, 384), (100, 100), (640, 480), (144, 1024), (17, 23), (799, 601), (1200, 600), (33, 1000), (3000, 15)]
SEED = 29


def family_of(vocabulary):
    family = next(family for family in FAMILIES if family.name == "lfm3")
    config = family.config | {"vocab_size": len(vocabulary.tokens), "max_position_embeddings": 4096}
    return dataclasses.replace(family, config=config)


def config(family, text):
    return {
        "model_type": "lfm3_vl", "architectures": ["Lfm3VlForConditionalGeneration"], "image_token_id": family.config["vocab_size"] - len(MARKERS),
        "video_token_id": family.config["vocab_size"] - 1, "projector_hidden_size": 48, "projector_hidden_act": "gelu",
        "tie_word_embeddings": True, "text_config": text, "vision_config": VISION,
    }


def loaded(folder):
    model, report = AutoModelForImageTextToText.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
    )
    assert not any(report.values()), report
    return model.eval()


def model_of(family, weights):
    """Returns the transformers model with these weights, in f32."""
    with tempfile.TemporaryDirectory() as folder:
        write_json(Path(folder) / "config.json", config(family, family.config | family.oracle))
        save_file(weights, Path(folder) / "model.safetensors", {"format": "pt"})
        return loaded(folder)


def random_weights(family):
    """Returns f32 arrays with the names of published files."""
    with tempfile.TemporaryDirectory() as folder:
        write_json(Path(folder) / "config.json", config(family, family.config | family.oracle))
        Lfm3VlForConditionalGeneration(AutoConfig.from_pretrained(folder)).save_pretrained(folder)
        shapes = {name: values.shape for name, values in sorted(load_file(Path(folder) / "model.safetensors").items())}
    text = {name.replace("model.language_model.", "model."): shape for name, shape in shapes.items() if not is_vision(name)}
    weights = {
        name.replace("model.", "model.language_model.", 1): values
        for name, values in family_files.random_weights(family, text).items()
    }
    embedding = weights["model.language_model.embed_tokens.weight"]
    # Small rows have small logits, so that a reply is text.
    embedding[: len(CONTROL)] *= 0.25
    embedding[-len(MARKERS) :] *= 0.25
    random = np.random.default_rng(SEED)
    for name, shape in shapes.items():
        if not is_vision(name):
            continue
        noise = random.standard_normal(shape, dtype=np.float32)
        if name.endswith("bias"):
            values = 0.2 * noise
        elif len(shape) == 1:
            values = 1 + 0.2 * noise
        elif "spatial_conv" in name:
            values = 0.4 * noise
        else:
            values = shape[-1] ** -0.5 * noise
        weights[name] = values.astype(np.float16).astype(np.float32)
    return weights


def mmproj_name(name):
    stem, kind = name.removeprefix("model.").rsplit(".", 1)
    if stem in GLOBAL:
        return f"{GLOBAL[stem]}.{kind}"
    _, _, layer, rest = stem.split(".", 3)
    return f"v.blk.{layer}.{IN_BLOCK[rest]}.{kind}"


def write_folder(folder, vocabulary, template, family, weights):
    folder.mkdir(exist_ok=True)
    save_file({name: values.astype(np.float16) for name, values in weights.items()}, folder / "model.safetensors", {"format": "pt"})
    write_json(folder / "config.json", config(family, family.config))
    write_json(folder / "preprocessor_config.json", SETTINGS)
    write_json(folder / "tokenizer_config.json", TOKENIZER)
    tokenizer_of(vocabulary).save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(template)


def write_mmproj(path, family, weights, quantisation):
    """Writes the tower and the projector as llama.cpp's converter does."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_string("general.type", "mmproj")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "lfm3vl")
    for key, value in {
        "image_size": 256, "patch_size": 16, "embedding_length": VISION["hidden_size"], "spatial_merge_size": 2,
        "feed_forward_length": VISION["intermediate_size"], "block_count": VISION["num_hidden_layers"],
        "projection_dim": family_files.HIDDEN, "attention.head_count": VISION["num_attention_heads"],
        "attention.head_count_kv": VISION["num_key_value_heads"], "image_min_pixels": SETTINGS["size"]["shortest_edge"],
        "image_max_pixels": SETTINGS["size"]["longest_edge"],
    }.items():
        writer.add_uint32(f"clip.vision.{key}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-5)
    writer.add_string("clip.vision.image_resize_algo", "bicubic")
    writer.add_array("clip.vision.image_mean", SETTINGS["image_mean"])
    writer.add_array("clip.vision.image_std", SETTINGS["image_std"])
    for name, values in weights.items():
        if "patchifier" in name:
            frames = values.reshape(-1, 3, 2, 16, 16)
            for frame, suffix in enumerate(["", ".1"]):
                writer.add_tensor(mmproj_name(name) + suffix, np.ascontiguousarray(frames[:, :, frame], np.float16))
        elif values.ndim == 1 or "spatial_conv" in name:
            writer.add_tensor(mmproj_name(name), values)
        else:
            kind = quantisation if values.shape[-1] % 32 == 0 else Type.F16
            writer.add_tensor(mmproj_name(name), gguf.quants.quantize(values, kind), raw_dtype=kind)
    finish(writer)


def read_mmproj(path, weights):
    """Returns the weights, replaced by the weights of a file, in f32."""
    tensors = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type) for tensor in gguf.GGUFReader(path).tensors}
    read = {}
    for name, values in weights.items():
        if not is_vision(name):
            read[name] = values
        elif "patchifier" in name:
            frames = [tensors[mmproj_name(name) + suffix].reshape(-1, 3, 16, 16) for suffix in ("", ".1")]
            read[name] = np.ascontiguousarray(np.stack(frames, 2).reshape(values.shape), np.float32)
        else:
            read[name] = np.ascontiguousarray(tensors[mmproj_name(name)].reshape(values.shape), np.float32)
    return read


def processor_of(settings):
    return Qwen2VLImageProcessor(**{key: value for key, value in settings.items() if key != "image_processor_type"})


def size_record(processor, width, height):
    """Returns the size of the resized picture and the number of image tokens; none if it is refused."""
    try:
        outputs = processor(Image.new("RGB", (width, height)), return_tensors="pt")
    except ValueError:
        return None
    _, rows, columns = outputs["image_grid_thw"][0].tolist()
    return [width, height, 16 * columns, 16 * rows, rows * columns // 4]


def pixel_record(processor, width, height):
    outputs = processor(picture(width, height), return_tensors="pt")
    _, rows, columns = outputs["image_grid_thw"][0].tolist()
    # Patches come in blocks of 2 x 2, with both frames; the frames are the same.
    patches = outputs["pixel_values"].reshape(rows // 2, columns // 2, 2, 2, 3, 2, 16, 16)[:, :, :, :, :, 0]
    pixels = patches.permute(0, 2, 5, 1, 3, 6, 4).reshape(-1)
    pixels = ((pixels * 0.5 + 0.5) * 255).round().to(torch.int64)
    samples = pixels[:: max(1, len(pixels) // 150) | 1]
    return {"width": width, "height": height, "tiles": [
        {"width": 16 * columns, "height": 16 * rows, "sum": int(pixels.sum()), "samples": samples.tolist()}
    ]}


@torch.no_grad()
def reply_record(name, model, tokenizer, processor, messages):
    """Returns the prompt of a conversation, its image rows, and the greedy reply with log-probabilities."""
    shown = [part["image"] for message in messages for part in message["content"] if part["type"] == "image"]
    outputs = processor(shown, return_tensors="pt")
    pixels, grids = outputs["pixel_values"], outputs["image_grid_thw"]
    prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    for grid in grids:
        prompt = prompt.replace(MARKERS[0], "\0" * int(grid.prod() // 4), 1)
    ids = torch.tensor([tokenizer(prompt.replace("\0", MARKERS[0]), add_special_tokens=False)["input_ids"]])
    features = torch.cat(model.get_image_features(pixels, grids, return_dict=True).pooler_output).double()
    prompt, greedy, logprobs, margins = ids[0].tolist(), [], [], []
    for _ in range(N_GREEDY):
        logits = model(input_ids=ids, pixel_values=pixels, image_grid_thw=grids).logits[0, -1].double()
        best, second = logits.topk(2).values
        margins.append(float(best - second))
        greedy.append(int(logits.argmax()))
        logprobs.append(round(float(logits.log_softmax(0).max()), 6))
        ids = torch.cat([ids, torch.tensor([[greedy[-1]]])], 1)
    print(f"{name:16} {len(prompt)} positions, smallest margin {min(margins):.4f}, distinct {len(set(greedy))}")
    control = set(range(len(CONTROL))) | set(range(model.config.image_token_id, model.config.image_token_id + len(MARKERS)))
    assert min(margins) > 0.04 and not set(greedy) & control, f"{name}: choose another seed"
    said = [
        {"role": message["role"], "content": [
            {"type": "text", "text": part["text"]} if part["type"] == "text" else {"type": "image", "picture": part["picture"]}
            for part in message["content"]
        ]} for message in messages
    ]
    kept = sorted({0, 1, len(features) // 2, len(features) - 1})
    return {
        "model": name, "messages": said, "prompt": prompt, "n_rows": len(features),
        "row_sums": [round(value, 4) for value in features.sum(1).tolist()],
        "rows": [{"row": row, "values": [round(value, 6) for value in features[row].tolist()]} for row in kept],
        "greedy": greedy, "logprobs": logprobs,
    }


def write_vision(vocabulary, fixtures, golden):
    folder, template = fixtures / "models", (golden / "lfm3_vl.jinja").read_text()
    vocabulary = Vocabulary(vocabulary.tokens + MARKERS, vocabulary.merges, len(MARKERS))
    family = family_of(vocabulary)
    weights = random_weights(family)
    write_folder(folder / "lfm3vl-hf", vocabulary, template, family, weights)
    (folder / "lfm3vl").mkdir(exist_ok=True)
    text = {name.replace("model.language_model.", "model."): values for name, values in weights.items() if not is_vision(name)}
    add_vocabulary = lambda writer: gguf_file.add_vocabulary(writer, vocabulary, template)
    family_files.write_gguf(folder / "lfm3vl" / "lfm3vl-f16.gguf", family, add_vocabulary, text, Type.F16)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer_of(vocabulary), bos_token=CONTROL[BOS], eos_token=CONTROL[EOS], pad_token=CONTROL[PAD])
    tokenizer.chat_template = template
    tower = {name: values for name, values in weights.items() if is_vision(name)}
    processor, records = processor_of(SETTINGS), []
    for name, quantisation in [("lfm3vl-hf", None), ("mmproj-lfm3vl-f16.gguf", Type.F16), ("mmproj-lfm3vl-q8_0.gguf", Type.Q8_0)]:
        read = weights
        if quantisation:
            path = folder / "lfm3vl" / name
            write_mmproj(path, family, tower, quantisation)
            read = read_mmproj(path, weights)
        model = model_of(family, read)
        # The first picture is shown as it is.
        for messages in conversations((64, 32), (150, 110), (45, 530)):
            records.append(reply_record(name, model, tokenizer, processor, messages))
    usual = processor_of(USUAL)
    sections = {
        "sizes": [record for record in (size_record(usual, *size) for size in SIZES + [(3000, 15), (3100, 16)]) if record],
        "pixels": [pixel_record(usual, *size) for size in PIXELS],
        "conversations": records,
    }
    lines = [
        f'  "{name}": [\n    ' + ",\n    ".join(json.dumps(record) for record in records) + "\n  ]" for name, records in sections.items()
    ]
    (golden / "vision_lfm3.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
