"""A tiny Qwen3.5 with its vision part: its files, and what transformers makes of pictures, as vision.py does for LFM2-VL."""

import sys
from pathlib import Path

import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import load_file
from transformers import Qwen2VLImageProcessor, Qwen3_5ForConditionalGeneration
from transformers.models.qwen3_5.modeling_qwen3_5 import Qwen3_5VisionConfig, Qwen3_5VisionModel

import family_files
import picture_models as models
from hashed import values as hashed
from vision import SIZES, conversations, picture
from vocabulary import SIZE, tokenizer_of

MARKS = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
START, END, IMAGE, VIDEO = (SIZE + at for at in range(len(MARKS)))
# Heads of 24, whose quarters are six frequencies; a table of 8 x 8 places.
VISION = {
    "model_type": "qwen3_5", "depth": 2, "hidden_size": 96, "intermediate_size": 64, "num_heads": 4, "in_channels": 3, "patch_size": 16,
    "spatial_merge_size": 2, "temporal_patch_size": 2, "out_hidden_size": family_files.HIDDEN, "num_position_embeddings": 64,
    "hidden_act": "gelu_pytorch_tanh", "deepstack_visual_indexes": [],
}
# Small pictures have few rows.
SETTINGS = {
    "size": {"shortest_edge": 2 * 1024, "longest_edge": 24 * 1024}, "patch_size": 16, "merge_size": 2, "temporal_patch_size": 2,
    "image_mean": [0.5] * 3, "image_std": [0.5] * 3, "resample": 3,
}
# The limits of published files.
USUAL = SETTINGS | {"size": {"shortest_edge": 64 * 1024, "longest_edge": 16384 * 1024}}
PIXELS = [(256, 384), (100, 100), (640, 480), (144, 1024), (17, 23), (799, 601), (1200, 600), (33, 1000)]
OUTSIDE = {
    "patch_embed.proj": "v.patch_embd", "pos_embed": "v.position_embd", "merger.norm": "v.post_ln", "merger.linear_fc1": "mm.0",
    "merger.linear_fc2": "mm.2",
}
IN_BLOCK = {
    "norm1": "ln1", "norm2": "ln2", "attn.qkv": "attn_qkv", "attn.proj": "attn_out", "mlp.linear_fc1": "ffn_up",
    "mlp.linear_fc2": "ffn_down",
}
SEED = 3


def config_of(family):
    return {
        "model_type": "qwen3_5", "architectures": ["Qwen3_5ForConditionalGeneration"], "image_token_id": IMAGE, "video_token_id": VIDEO,
        "vision_start_token_id": START, "vision_end_token_id": END, "tie_word_embeddings": True, "text_config": family.config,
        "vision_config": VISION,
    }


def is_vision(name):
    return ".visual." in name


def random_weights(family):
    shapes = models.shapes_of(Qwen3_5ForConditionalGeneration, config_of(family))
    text = {name.replace("model.language_model.", "model."): shape for name, shape in shapes.items() if not is_vision(name)}
    weights = family_files.random_weights(family, text)
    models.quieted(weights["model.embed_tokens.weight"])
    tower = models.random_tower({name: shape for name, shape in shapes.items() if is_vision(name)}, SEED)
    return weights, tower


def whole(text, tower):
    return {name.replace("model.", "model.language_model.", 1): values for name, values in text.items()} | tower


def mmproj_name(name):
    stem, kind = name.removeprefix("model.visual.").rsplit(".", 1)
    if stem in OUTSIDE:
        return f"{OUTSIDE[stem]}.{kind}"
    _, layer, rest = stem.split(".", 2)
    return f"v.blk.{layer}.{IN_BLOCK[rest]}.{kind}"


def to_mmproj(tower):
    tensors = {}
    for name, values in tower.items():
        if values.ndim == 5:
            tensors |= {mmproj_name(name) + end: values[:, :, frame] for frame, end in enumerate(["", ".1"])}
        else:
            tensors[mmproj_name(name)] = values
    return tensors


def from_mmproj(tensors, tower):
    read = {}
    for name, values in tower.items():
        found = tensors[mmproj_name(name)]
        if values.ndim == 5:
            found = np.stack([found.reshape(-1, 3, 16, 16), tensors[mmproj_name(name) + ".1"].reshape(-1, 3, 16, 16)], 2)
        read[name] = np.ascontiguousarray(found.reshape(values.shape))
    return read


METADATA = {
    "clip.has_vision_encoder": True, "clip.projector_type": "qwen3vl_merger", "clip.use_gelu": True, "clip.vision.image_size": 128,
    "clip.vision.patch_size": 16, "clip.vision.embedding_length": VISION["hidden_size"],
    "clip.vision.feed_forward_length": VISION["intermediate_size"], "clip.vision.block_count": VISION["depth"],
    "clip.vision.attention.head_count": VISION["num_heads"], "clip.vision.attention.layer_norm_epsilon": 1e-6,
    "clip.vision.projection_dim": family_files.HIDDEN, "clip.vision.spatial_merge_size": 2, "clip.vision.image_mean": [0.5] * 3,
    "clip.vision.image_std": [0.5] * 3, "clip.vision.is_deepstack_layers": [False] * VISION["depth"],
    "clip.vision.image_min_pixels": SETTINGS["size"]["shortest_edge"], "clip.vision.image_max_pixels": SETTINGS["size"]["longest_edge"],
}


def size_record(processor, width, height):
    """Returns the size of the resized picture and the number of image tokens; none if it is refused."""
    try:
        _, rows, columns = processor(models.blank(width, height), return_tensors="pt")["image_grid_thw"][0].tolist()
    except ValueError:
        return None
    return [width, height, 16 * columns, 16 * rows, rows * columns // 4]


def pixel_record(processor, width, height):
    outputs = processor(picture(width, height), return_tensors="pt")
    _, rows, columns = outputs["image_grid_thw"][0].tolist()
    # Patches come in blocks of 2 x 2, with both frames; the frames are the same.
    patches = outputs["pixel_values"].reshape(rows // 2, columns // 2, 2, 2, 3, 2, 16, 16)[:, :, :, :, :, 0]
    pixels = patches.permute(0, 2, 5, 1, 3, 6, 4).reshape(16 * rows, 16 * columns, 3)
    return models.pixel_record(((pixels * 0.5 + 0.5) * 255).round().to(torch.int64), width, height)


@torch.no_grad()
def reply_record(name, model, tokenizer, processor, messages):
    shown = [part["image"] for message in messages for part in message["content"] if part["type"] == "image"]
    outputs = processor(shown, return_tensors="pt")
    pixels, grids = outputs["pixel_values"], outputs["image_grid_thw"]
    counts = iter((grids.prod(1) // 4).tolist())
    text = "<|startoftext|>"
    for message in messages:
        text += f"<|im_start|>{message['role']}\n"
        for part in message["content"]:
            text += part["text"] if part["type"] == "text" else MARKS[0] + next(counts) * MARKS[2] + MARKS[1]
        text += "<|im_end|>\n"
    ids = tokenizer.encode(text + "<|im_start|>assistant\n", add_special_tokens=False).ids
    features = torch.cat(model.get_image_features(pixels, grids, return_dict=True).pooler_output)

    def logits_of(ids):
        kinds = torch.tensor([[int(token == IMAGE) for token in ids]])
        output = model(input_ids=torch.tensor([ids]), pixel_values=pixels, image_grid_thw=grids, mm_token_type_ids=kinds, use_cache=False)
        return output.logits[0, -1]

    sizes = [image.size for image in shown]
    resized = [(16 * int(columns), 16 * int(rows)) for _, rows, columns in grids]
    return models.reply_record(name, messages, ids, features, logits_of, sizes != resized)


@torch.no_grad()
def check(known):
    """Compares the reference with the check values."""
    config = Qwen3_5VisionConfig(depth=2, hidden_size=32, intermediate_size=48, num_heads=4, out_hidden_size=40, num_position_embeddings=64)
    config._attn_implementation = "eager"
    model = Qwen3_5VisionModel(config).eval()
    for name, value in model.named_parameters():
        scale = 1.5 / np.sqrt(max(1, value[0].numel())) if value.dim() > 1 else 0.2
        is_norm = "norm" in name and name.endswith("weight")
        value.copy_(torch.from_numpy(hashed("qwen35v." + name, tuple(value.shape), *((0.2, 1.0) if is_norm else (scale,)))))
    for rows, columns in ((4, 6), (2, 2), (10, 4)):
        image = hashed(f"img{rows}x{columns}", (3, 16 * rows, 16 * columns), 1.0)
        blocks = image.reshape(3, rows // 2, 2, 16, columns // 2, 2, 16).transpose(1, 4, 2, 5, 0, 3, 6)
        patches = np.repeat(blocks.reshape(rows * columns, 3, 1, 16, 16), 2, 2).reshape(rows * columns, -1)
        found = model(torch.from_numpy(np.ascontiguousarray(patches)), torch.tensor([[1, rows, columns]])).pooler_output.numpy()
        print(f"check value tower_{rows}x{columns}: difference {np.abs(found - known[f'tower_{rows}x{columns}']).max():.1e}")


def write_vision(vocabulary, fixtures, golden):
    folder, vocabulary = fixtures / "models", models.vocabulary_with(vocabulary, MARKS)
    template = (golden / "lfm3_vl.jinja").read_text().replace("<|image|>", MARKS[2])
    family = models.family_of("qwen35", vocabulary)
    text, tower = random_weights(family)
    tensors = {name: values.astype(np.float16) for name, values in whole(text, tower).items()}
    processor_file = ("preprocessor_config.json", SETTINGS | {"image_processor_type": "Qwen2VLImageProcessor"})
    models.write_folder(folder / "qwen35vl-hf", vocabulary, template, config_of(family), processor_file, tensors)
    beside = folder / "qwen35vl"
    beside.mkdir(exist_ok=True)
    family_files.write_gguf(beside / "qwen35vl-f16.gguf", family, models.add_vocabulary_of(vocabulary, template), text, Type.F16)
    tokenizer, processor, records = tokenizer_of(vocabulary), Qwen2VLImageProcessor(**SETTINGS), []
    for name, quantisation in [("qwen35vl-hf", None), ("mmproj-qwen35vl-f16.gguf", Type.F16), ("mmproj-qwen35vl-q8_0.gguf", Type.Q8_0)]:
        read = tower
        if quantisation:
            models.write_mmproj(beside / name, METADATA, to_mmproj(tower), quantisation)
            read = from_mmproj(models.read_mmproj(beside / name), tower)
        model = models.loaded(Qwen3_5ForConditionalGeneration, config_of(family), whole(text, read))
        for messages in conversations((128, 96), (150, 110), (45, 530)):
            records.append(reply_record(name, model, tokenizer, processor, messages))
    usual = Qwen2VLImageProcessor(**USUAL)
    models.write_sections(golden / "vision_qwen35.json", {
        "sizes": [record for record in (size_record(usual, *size) for size in SIZES) if record],
        "pixels": [pixel_record(usual, *size) for size in PIXELS],
        "conversations": records,
    })


if __name__ == "__main__":
    check(load_file(Path(sys.argv[1]) / "qwen35_vision.safetensors"))
