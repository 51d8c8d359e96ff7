"""A tiny LFM2-VL: its files, and what transformers makes of pictures: sizes, pixels, rows, prompts and replies."""

import json
import shutil

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from PIL import Image
from safetensors.numpy import save_file
from transformers import (
    Lfm2VlConfig, Lfm2VlForConditionalGeneration, Lfm2VlImageProcessor, Lfm2VlProcessor, PreTrainedTokenizerFast,
)

import gguf_file
from checkpoint import TOKENIZER, write_json
from pictures import pixels
from shapes import Shape
from vocabulary import BOS, CONTROL, EOS, PAD, Vocabulary, tokenizer_of
from weights import IN_LAYER, deviation
from weights import gguf_name as text_name

TEXT = Shape(32, 64, 2, 1, ("conv", "full_attention"), 1e6, True, seed=1)
MARKERS = ["<image>", "<|image_start|>", "<|image_end|>", "<|img_thumbnail|>"] + [
    f"<|img_row_{row}_col_{column}|>" for row in range(1, 11) for column in range(1, 11)
]
# Heads of 24, which are not whole vectors.
VISION = {
    "model_type": "siglip2_vision_model", "hidden_size": 96, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_patches": 256, "patch_size": 16, "vision_use_head": False,
}
# Limits of the folder, so that small pictures have several tiles. The GGUF file has no limits: there, the usual ones apply.
LIMITS = {"tile_size": 64, "min_image_tokens": 2, "max_image_tokens": 4, "max_tiles": 6}
GLOBAL = {
    "vision_tower.embeddings.patch_embedding": "v.patch_embd", "vision_tower.embeddings.position_embedding": "v.position_embd",
    "vision_tower.post_layernorm": "v.post_ln", "multi_modal_projector.linear_1": "mm.1", "multi_modal_projector.linear_2": "mm.2",
    "multi_modal_projector.layer_norm": "mm.input_norm",
}
IN_BLOCK = {
    "layer_norm1": "ln1", "layer_norm2": "ln2", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.out_proj": "attn_out", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down",
}
N_GREEDY = 8
# Sizes in the order width, height: one tile, ties between grids, sides that round to even, long strips, many tiles.
SIZES = [
    (256, 384), (512, 512), (700, 700), (100, 100), (144, 1024), (640, 480), (1920, 1080), (1000, 3000), (1280, 1024), (1, 1),
    (16, 16), (48, 48), (80, 112), (33, 1000), (1000, 33), (724, 724), (725, 724), (1024, 512), (2000, 1000), (4000, 2000),
    (1280, 720), (720, 1280), (4032, 3024), (3024, 4032), (240, 720), (799, 601), (512, 1040), (1040, 512), (100, 20000),
    (20000, 100), (8192, 8192), (656, 400), (1023, 513), (511, 1025), (5, 700), (1600, 1200), (2500, 2000),
]
PIXELS = [(256, 384), (100, 100), (640, 480), (144, 1024), (17, 23), (799, 601), (1200, 600), (700, 1500), (33, 1000)]


def picture(width, height, seed=0):
    return Image.fromarray(pixels(width, height, seed))


def vocabulary_with_markers(vocabulary):
    return Vocabulary(vocabulary.tokens + MARKERS, vocabulary.merges, len(MARKERS))


def config():
    text = TEXT.config()
    text.vocab_size += len(MARKERS)
    return Lfm2VlConfig(
        text_config=text.to_dict(), vision_config=VISION, projector_hidden_size=64, projector_use_layernorm=False,
        image_token_id=text.vocab_size - len(MARKERS),
    )


def random_weights():
    random = np.random.default_rng(TEXT.seed)
    weights = {}
    for name, parameter in Lfm2VlForConditionalGeneration(config()).named_parameters():
        noise = random.standard_normal(tuple(parameter.shape), dtype=np.float32)
        if name.endswith("bias"):
            values = 0.2 * noise
        elif noise.ndim == 1:
            values = 1 + 0.2 * noise
        elif "position_embedding" in name:
            values = 0.7 * noise
        else:
            values = deviation(name, noise.shape) * noise
        if "embed_tokens" in name:
            # Small rows have small logits, so that a reply is text.
            values[: len(CONTROL)] *= 0.3
            values[-len(MARKERS) :] *= 0.3
        weights[name] = values.astype(np.float16).astype(np.float32)
    return weights


@torch.no_grad()
def model_of(weights):
    model = Lfm2VlForConditionalGeneration._from_config(config(), attn_implementation="eager", dtype=torch.float32).eval()
    parameters = dict(model.named_parameters())
    assert parameters.keys() == weights.keys()
    for name, parameter in parameters.items():
        parameter.copy_(torch.from_numpy(weights[name].copy()))
    return model


def is_vision(name):
    return ".vision_tower." in name or ".multi_modal_projector." in name


def mmproj_name(name):
    stem, kind = name.removeprefix("model.").rsplit(".", 1)
    if stem in GLOBAL:
        return f"{GLOBAL[stem]}.{kind}"
    _, _, _, layer, rest = stem.split(".", 4)
    return f"v.blk.{layer}.{IN_BLOCK[rest]}.{kind}"


def write_folder(folder, vocabulary, template, weights):
    """Writes the folder as published ones are: the tower's tensors are one level deeper than transformers has them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    names = {name: name.replace("vision_tower.", "vision_tower.vision_model.") for name in weights}
    save_file({names[name]: values.astype(np.float16) for name, values in weights.items()}, folder / "model.safetensors")
    settings = config().to_dict()
    settings["text_config"] |= {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    write_json(folder / "config.json", settings)
    write_json(folder / "preprocessor_config.json", {"image_processor_type": "Lfm2VlImageProcessor", **LIMITS})
    write_json(folder / "tokenizer_config.json", TOKENIZER)
    tokenizer_of(vocabulary).save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(template)


def write_text(path, vocabulary, template, weights):
    writer = gguf.GGUFWriter(path, "lfm2")
    gguf_file.add_metadata(writer, TEXT, vocabulary, template, Type.F16)
    for name, values in weights.items():
        name = name.replace("model.language_model.", "model.")
        if "conv.conv" in name:
            writer.add_tensor(text_name(name), values.squeeze(1))
        else:
            writer.add_tensor(text_name(name), values if values.ndim == 1 else values.astype(np.float16))
    finish(writer)


def write_mmproj(path, weights, quantisation):
    """Writes the tower and the projector as llama.cpp's converter does."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_string("general.type", "mmproj")
    writer.add_bool("clip.has_vision_encoder", True)
    writer.add_string("clip.projector_type", "lfm2")
    writer.add_bool("clip.use_gelu", True)
    for key, value in {
        "image_size": 256, "patch_size": 16, "embedding_length": VISION["hidden_size"],
        "feed_forward_length": VISION["intermediate_size"], "block_count": VISION["num_hidden_layers"],
        "projection_dim": TEXT.hidden, "attention.head_count": VISION["num_attention_heads"], "projector.scale_factor": 2,
    }.items():
        writer.add_uint32(f"clip.vision.{key}", value)
    writer.add_float32("clip.vision.attention.layer_norm_epsilon", 1e-6)
    writer.add_array("clip.vision.image_mean", [0.5] * 3)
    writer.add_array("clip.vision.image_std", [0.5] * 3)
    for name, values in weights.items():
        if "patch_embedding.weight" in name:
            kernels = values.reshape(-1, 16, 16, 3).transpose(0, 3, 1, 2)
            writer.add_tensor(mmproj_name(name), np.ascontiguousarray(kernels, np.float16))
        elif "position_embedding" in name or values.ndim == 1:
            writer.add_tensor(mmproj_name(name), values)
        else:
            writer.add_tensor(mmproj_name(name), gguf.quants.quantize(values, quantisation), raw_dtype=quantisation)
    finish(writer)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_mmproj(path, weights):
    """Returns the weights, replaced by the weights of a file, in f32."""
    tensors = {tensor.name: gguf.quants.dequantize(tensor.data, tensor.tensor_type) for tensor in gguf.GGUFReader(path).tensors}
    read = {}
    for name, values in weights.items():
        if not is_vision(name):
            read[name] = values
        elif "patch_embedding.weight" in name:
            read[name] = tensors[mmproj_name(name)].reshape(-1, 3, 16, 16).transpose(0, 2, 3, 1).reshape(values.shape).copy()
        else:
            read[name] = np.ascontiguousarray(tensors[mmproj_name(name)].reshape(values.shape), np.float32)
    return read


def size_record(processor, width, height):
    """Returns the grid, the size of the picture or its thumbnail, and the number of image tokens."""
    outputs = processor(Image.new("RGB", (width, height)), return_tensors="pt", return_row_col_info=True)
    tokens = sum(int(rows) * int(columns) // 4 for rows, columns in outputs["spatial_shapes"])
    thumbnail_height, thumbnail_width = (16 * int(side) for side in outputs["spatial_shapes"][-1])
    return [width, height, int(outputs["image_rows"][0]), int(outputs["image_cols"][0]), thumbnail_width, thumbnail_height, tokens]


def pixel_record(processor, width, height):
    outputs = processor(picture(width, height), return_tensors="pt")
    tiles = []
    for patches, (rows, columns) in zip(outputs["pixel_values"], outputs["spatial_shapes"].tolist()):
        pixels = patches[: rows * columns].reshape(rows, columns, 16, 16, 3).permute(0, 2, 1, 3, 4).reshape(-1)
        pixels = ((pixels * 0.5 + 0.5) * 255).round().to(torch.int64)
        samples = pixels[:: max(1, len(pixels) // 150) | 1]
        tiles.append({"width": 16 * columns, "height": 16 * rows, "sum": int(pixels.sum()), "samples": samples.tolist()})
    return {"width": width, "height": height, "tiles": tiles}


@torch.no_grad()
def reply_record(name, model, processor, messages):
    """Returns the prompt of a conversation, its image rows, and the greedy reply with log-probabilities."""
    inputs = processor.apply_chat_template(
        messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    features = torch.cat(model.get_image_features(
        inputs["pixel_values"], inputs["spatial_shapes"], inputs["pixel_attention_mask"], return_dict=True
    ).pooler_output).double()
    ids, greedy, logprobs, margins = inputs["input_ids"], [], [], []
    pictures = {key: inputs[key] for key in ("pixel_values", "spatial_shapes", "pixel_attention_mask")}
    for _ in range(N_GREEDY):
        logits = model(input_ids=ids, **pictures).logits[0, -1].double()
        best, second = logits.topk(2).values
        margins.append(float(best - second))
        greedy.append(int(logits.argmax()))
        logprobs.append(round(float(logits.log_softmax(0).max()), 6))
        ids = torch.cat([ids, torch.tensor([[greedy[-1]]])], 1)
    print(f"{name:16} {len(inputs['input_ids'][0])} positions, smallest margin {min(margins):.4f}, distinct {len(set(greedy))}")
    assert min(margins) > 2e-3 and not set(greedy) & set(range(len(CONTROL))), f"{name}: choose another seed"
    shown = [
        {"role": message["role"], "content": [
            {"type": "text", "text": part["text"]} if part["type"] == "text" else {"type": "image", "picture": part["picture"]}
            for part in message["content"]
        ]} for message in messages
    ]
    kept = sorted({0, 1, len(features) // 2, len(features) - 1})
    return {
        "model": name, "messages": shown, "prompt": inputs["input_ids"][0].tolist(), "n_rows": len(features),
        "row_sums": [round(value, 4) for value in features.sum(1).tolist()],
        "rows": [{"row": row, "values": [round(value, 6) for value in features[row].tolist()]} for row in kept],
        "greedy": greedy, "logprobs": logprobs,
    }


def shown(*size):
    return {"type": "image", "image": picture(*size), "picture": list(size)}


def said(text):
    return {"type": "text", "text": text}


def conversations(single, wide, tall):
    """Returns conversations about pictures of these sizes: one tile; several tiles with a thumbnail, beside a small picture; a
    picture in a later question."""
    return [
        [{"role": "user", "content": [shown(*single), said("What is this?")]}],
        [{"role": "user", "content": [said("Compare "), shown(*wide, 1), said(" and "), shown(*single, 2), said("!")]}],
        [
            {"role": "user", "content": [shown(*single, 3), said("Hello")]},
            {"role": "assistant", "content": [said("It is sunny.")]},
            {"role": "user", "content": [said("And here?"), shown(*tall)]},
        ],
    ]


def processor_of(vocabulary, template, limits):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=tokenizer_of(vocabulary), bos_token=CONTROL[BOS], eos_token=CONTROL[EOS])
    return Lfm2VlProcessor(Lfm2VlImageProcessor(**limits), tokenizer, chat_template=template)


def write_vision(vocabulary, fixtures, golden):
    folder, template = fixtures / "models", (fixtures / "templates" / "lfm2-vl.jinja").read_text()
    vocabulary, weights = vocabulary_with_markers(vocabulary), random_weights()
    write_folder(folder / "lfm2vl-hf", vocabulary, template, weights)
    (folder / "lfm2vl").mkdir(exist_ok=True)
    write_text(folder / "lfm2vl" / "lfm2vl-f16.gguf", vocabulary, template, {n: v for n, v in weights.items() if not is_vision(n)})
    tower = {name: values for name, values in weights.items() if is_vision(name)}
    records = []
    for name, quantisation, limits, asked in [
        ("lfm2vl-hf", None, LIMITS, conversations((50, 38), (150, 110), (45, 130))),
        ("mmproj-lfm2vl-f16.gguf", Type.F16, {}, conversations((400, 300), (1200, 600), (300, 500))),
        ("mmproj-lfm2vl-q8_0.gguf", Type.Q8_0, {}, conversations((400, 300), (1200, 600), (300, 500))),
    ]:
        read = weights
        if quantisation:
            path = folder / "lfm2vl" / name
            write_mmproj(path, tower, quantisation)
            read = read_mmproj(path, weights)
        model, processor = model_of(read), processor_of(vocabulary, template, limits)
        records += [reply_record(name, model, processor, messages) for messages in asked]
    processor = Lfm2VlImageProcessor()
    sections = {
        "sizes": [size_record(processor, *size) for size in SIZES],
        "pixels": [pixel_record(processor, *size) for size in PIXELS],
        "conversations": records,
    }
    lines = [
        f'  "{name}": [\n    ' + ",\n    ".join(json.dumps(record) for record in records) + "\n  ]" for name, records in sections.items()
    ]
    (golden / "vision.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
