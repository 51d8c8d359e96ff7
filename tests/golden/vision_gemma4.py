"""What transformers makes of pictures with the tiny Gemma 4, and with one whose vision part is that of the larger models.

    python tests/golden/vision_gemma4.py [FOLDER]

gemma4_media.py writes the first model; this program reads it, and writes the second one. With the folder of the check values, their
rows and logits are compared, too.
"""

import json
import math
import sys
from pathlib import Path

import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from safetensors.numpy import load_file
from transformers import Gemma4ImageProcessor
from transformers.models.gemma4 import modeling_gemma4 as gemma4
from transformers.models.gemma4.configuration_gemma4 import Gemma4VisionConfig

import gemma4_media as media
import picture_models as models
from hashed import values as hashed
from vision import SIZES, conversations, picture, said, shown
from vocabulary import tokenizer_of

FEW, USUAL = {"max_soft_tokens": 70}, {"max_soft_tokens": 280}
LARGE = media.VISION | {"standardize": True, "use_clipped_linears": False}
PIXELS = [(256, 384), (100, 100), (768, 768), (144, 1024), (17, 23), (799, 601), (1200, 600), (33, 1000), (5, 700)]
PROJECTOR = "model.embed_vision.embedding_projection.weight"


def is_vision(name):
    return "vision_tower." in name or "embed_vision." in name


def size_record(processor, width, height):
    outputs = processor(models.blank(width, height), return_tensors="pt")
    columns, rows = (int(side) + 1 for side in outputs["image_position_ids"][0].amax(0))
    return [width, height, 16 * columns, 16 * rows, int(outputs["num_soft_tokens_per_image"][0])]


def pixel_record(processor, width, height):
    outputs = processor(picture(width, height), return_tensors="pt")
    columns, rows = (int(side) + 1 for side in outputs["image_position_ids"][0].amax(0))
    patches = outputs["pixel_values"][0][: rows * columns].reshape(rows, columns, 16, 16, 3)
    pixels = patches.permute(0, 2, 1, 3, 4).reshape(16 * rows, 16 * columns, 3)
    return models.pixel_record((pixels * 255).round().to(torch.int64), width, height)


@torch.no_grad()
def reply_record(name, model, tokenizer, processor, messages):
    parts = [part for message in messages for part in message["content"]]
    images = [part["image"] for part in parts if part["type"] == "image"]
    outputs = processor(images, return_tensors="pt")
    pixels, places = outputs["pixel_values"], outputs["image_position_ids"]
    counts, sounds, text = iter(outputs["num_soft_tokens_per_image"]), [], "<|startoftext|>"
    for message in messages:
        text += f"<|turn>{'model' if message['role'] == 'assistant' else message['role']}\n"
        for part in message["content"]:
            if part["type"] == "image":
                text += "<|image>" + int(next(counts)) * "<|image|>" + "<image|>"
            elif part["type"] == "audio":
                sounds.append(media.features_of(media.recording(part["recording"])))
                text += "<|audio>" + int(sounds[-1][1][0][::2][::2].sum()) * "<|audio|>" + "<audio|>"
            else:
                text += part["text"].strip()
        text += "<turn|>\n"
    ids = tokenizer.encode(text + "<|turn>model\n", add_special_tokens=False).ids
    heard = {}
    if sounds:
        [(features, mask)] = sounds
        heard = {"input_features": features, "input_features_mask": mask}
    image, audio = media.ID["<|image|>"], media.ID["<|audio|>"]
    features = torch.cat([rows_of(model, *one) for one in zip(pixels, places)])

    def logits_of(ids):
        kinds = torch.tensor([[(token == image) + 3 * (token == audio) for token in ids]])
        output = model(
            input_ids=torch.tensor([ids]), pixel_values=pixels, image_position_ids=places, mm_token_type_ids=kinds, use_cache=False, **heard
        )
        return output.logits[0, -1]

    sizes = [tuple(16 * (int(side) + 1) for side in one.amax(0)) for one in places]
    return models.reply_record(name, messages, ids, features, logits_of, sizes != [image.size for image in images])


def rows_of(model, pixels, places):
    """Returns the rows of one picture."""
    found = model.model.get_image_features(pixels[None], places[None], return_dict=True).pooler_output
    return found[0] if isinstance(found, (tuple, list)) or found.dim() == 3 else found


def asked_of(single, wide, tall):
    mixed = [{"role": "user", "content": [{"type": "audio", "recording": "tones"}, said("and"), shown(*single, 4)]}]
    return conversations(single, wide, tall) + [mixed]


@torch.no_grad()
def check_towers(known):
    """Compares the reference with the check values."""
    for kind in ("plain", "std", "clipped"):
        config = Gemma4VisionConfig(**media.VISION | {"standardize": kind == "std", "use_clipped_linears": kind == "clipped"})
        config._attn_implementation = "eager"
        model = gemma4.Gemma4VisionModel(config).eval()
        for name, value in [*model.named_parameters(), *model.named_buffers()]:
            last = name.rsplit(".", 1)[-1]
            if last in ("input_min", "input_max", "output_min", "output_max"):
                value.fill_(media.CLIPS[last[-3:]])
            elif "inv_freq" not in name:
                value.copy_(torch.from_numpy(tower_value(name, tuple(value.shape))))
        pixels = torch.from_numpy(hashed("pixels", (54, 768), 0.5, 0.5))
        places = torch.tensor([(at % 6, at // 6) for at in range(54)])
        pixels, places = (torch.cat([values, torch.full((27, *values.shape[1:]), fill, dtype=values.dtype)]) for values, fill in ((pixels, 0), (places, -1)))
        found = model(pixels[None], places[None]).last_hidden_state.numpy()
        print(f"check value vision_{kind}: difference {np.abs(found - known[f'vision_{kind}']).max():.1e}")


def tower_value(name, shape):
    if "position_embedding" in name:
        scale = 0.3
    else:
        scale = 1.5 / math.sqrt(max(1, math.prod(shape[1:]))) if len(shape) > 1 else 0.5
    is_norm = "norm" in name and name.endswith("weight")
    return hashed("gemma4v." + name, shape, *((0.2, 1.0) if is_norm else (scale,)))


def large_model():
    """Returns a model like media.whole_model with the vision part of the larger models, and its configuration."""
    text = media.FAMILY.config | {"use_bidirectional_attention": "vision"}
    config = {key: value for key, value in media.CONFIG.items() if key != "audio_config"} | {"text_config": text, "vision_config": LARGE}
    described = gemma4.Gemma4Config(**config, audio_config=None)
    described._attn_implementation = "eager"
    return gemma4.Gemma4ForConditionalGeneration(described).eval().float(), config


def large_weights(model, towers):
    weights = {
        "model.vision_tower." + name: tower_value(name, tuple(value.shape)) for name, value in model.model.vision_tower.state_dict().items()
    }
    weights["model.vision_tower.std_scale"] += 1
    return weights | {PROJECTOR: towers[PROJECTOR]}


def write_large_mmproj(path, towers):
    metadata = {
        "clip.has_vision_encoder": True, "clip.vision.projector_type": "gemma4v", "clip.vision.embedding_length": LARGE["hidden_size"],
        "clip.vision.feed_forward_length": LARGE["intermediate_size"], "clip.vision.block_count": LARGE["num_hidden_layers"],
        "clip.vision.attention.head_count": LARGE["num_attention_heads"], "clip.vision.projection_dim": media.HIDDEN,
        "clip.vision.attention.layer_norm_epsilon": 1e-6, "clip.vision.image_size": 224, "clip.vision.patch_size": 16,
        "clip.vision.image_mean": [0.0] * 3, "clip.vision.image_std": [1.0] * 3, "clip.vision.image_max_pixels": 70 * 48 * 48,
    }
    models.write_mmproj(path, metadata, {media.mmproj_name(name): media.mmproj_value(name, value) for name, value in towers.items()}, Type.F16)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if 1 < len(sys.argv):
        check_towers(load_file(Path(sys.argv[1]) / "gemma4_media.safetensors"))
    vocabulary, template = media.vocabulary_of(), (media.FIXTURES / "templates" / "gemma-4.jinja").read_text()
    tokenizer, model = tokenizer_of(vocabulary), media.whole_model()
    text, towers = media.text_weights(model), media.tower_weights(model)
    in_folder = load_file(media.MODELS / "gemma4-media-hf" / "model.safetensors")
    assert all(np.array_equal(in_folder[name], value) for name, value in towers.items()), "run gemma4_media.py first"
    beside, records = media.MODELS / "gemma4-media", []
    few, usual = Gemma4ImageProcessor(**FEW), Gemma4ImageProcessor(**USUAL)
    for name, processor, asked in [
        ("gemma4-media-hf", few, asked_of((384, 384), (150, 110), (45, 130))),
        # The projectors state no limit: pictures have hundreds of rows.
        ("mmproj-gemma4-media-f16.gguf", usual, asked_of((768, 768), (400, 300), (300, 400))[:1]),
        ("mmproj-gemma4-media-q8_0.gguf", usual, asked_of((768, 768), (400, 300), (300, 400))[:1]),
    ]:
        media.load(model, text, towers if name.endswith("-hf") else media.read_mmproj(beside / name, towers))
        records += [reply_record(name, model, tokenizer, processor, messages) for messages in asked]
    model, config = large_model()
    large = large_weights(model, towers)
    folder = media.MODELS / "gemma4-large-hf"
    tensors = {name.replace("model.", "model.language_model.", 1): value.astype(np.float16) for name, value in text.items()} | large
    settings = json.loads((media.MODELS / "gemma4-media-hf" / "processor_config.json").read_text())
    models.write_folder(folder, vocabulary, template, config, ("processor_config.json", settings), tensors)
    path = media.MODELS / "gemma4-large" / "mmproj-gemma4-large-f16.gguf"
    path.parent.mkdir(exist_ok=True)
    write_large_mmproj(path, large)
    for name, processor, asked in [
        ("gemma4-large-hf", few, conversations((384, 384), (150, 110), (45, 130))),
        (path.name, few, conversations((384, 384), (150, 110), (45, 130))),
    ]:
        read = large
        if not name.endswith("-hf"):
            tensors = models.read_mmproj(path)
            read = {name: media.own_value(name, tensors[media.mmproj_name(name)], value.shape) for name, value in large.items()}
        media.load(model, text, read)
        records += [reply_record(name, model, tokenizer, processor, messages) for messages in asked]
    models.write_sections(media.GOLDEN / "vision_gemma4.json", {
        "sizes": [size_record(usual, *size) for size in SIZES],
        "narrow": [size_record(few, *size) for size in [(5, 700), (700, 5), (3000, 15), (15, 3000), (100, 20000)]],
        "pixels": [pixel_record(usual, *size) for size in PIXELS],
        "conversations": records,
    })


if __name__ == "__main__":
    main()
