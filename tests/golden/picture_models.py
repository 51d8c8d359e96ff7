"""What the tiny vision models share whose decoders are in families.py: their files, and what transformers makes of pictures."""

import dataclasses
import json
import shutil
import tempfile
from pathlib import Path

import gguf
import numpy as np
import torch
from PIL import Image
from safetensors.numpy import load_file, save_file
from transformers import AutoConfig

import gguf_file
from checkpoint import GENERATION, TOKENIZER, write_json
from families import FAMILIES
from vision import N_GREEDY, finish
from vocabulary import CONTROL, SIZE, Vocabulary, tokenizer_of

CONTEXT = 4096


def vocabulary_with(vocabulary, marks):
    return Vocabulary(vocabulary.tokens + marks, vocabulary.merges, len(marks))


def family_of(name, vocabulary, **changes):
    """Returns a family of families.py as the decoder of a vision model."""
    family = next(family for family in FAMILIES if family.name == name)
    config = family.config | {"vocab_size": len(vocabulary.tokens), "max_position_embeddings": CONTEXT} | changes
    return dataclasses.replace(family, config=config)


def quieted(embedding):
    """Makes the rows of control tokens small, which then have small logits, so that a reply is text."""
    for rows in (slice(0, len(CONTROL)), slice(SIZE, None)):
        embedding[rows] = (embedding[rows] * 0.25).astype(np.float16).astype(np.float32)


def random_tower(shapes, seed):
    """Returns weights for the tensors of a tower, every value exact in f16. Norms that lack one are around 0."""
    random, weights = np.random.default_rng(seed), {}
    for name, shape in shapes.items():
        noise = random.standard_normal(shape, dtype=np.float32)
        if name.endswith(("bias", "soft_emb_norm.weight")):
            values = 0.2 * noise
        elif len(shape) == 1:
            values = 1 + 0.2 * noise
        elif "pos" in name:
            values = 0.7 * noise
        else:
            values = np.prod(shape[1:]) ** -0.5 * noise
        weights[name] = values.astype(np.float16).astype(np.float32)
    return weights


def write_folder(folder, vocabulary, template, config, processor, tensors):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    write_json(folder / "config.json", config)
    write_json(folder / "generation_config.json", GENERATION)
    write_json(folder / "tokenizer_config.json", TOKENIZER)
    write_json(folder / processor[0], processor[1])
    tokenizer_of(vocabulary).save(str(folder / "tokenizer.json"))
    (folder / "chat_template.jinja").write_text(template)


def write_mmproj(path, metadata, tensors, quantisation):
    """Writes a projector file. Vectors are F32, and so are tensors whose rows are not whole blocks."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_string("general.type", "mmproj")
    for key, value in metadata.items():
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_array(key, value)
    for name, values in tensors.items():
        values = np.ascontiguousarray(values, np.float32)
        if values.ndim == 2 and values.shape[-1] % 32 == 0 and "position_embd" not in name:
            writer.add_tensor(name, gguf.quants.quantize(values, quantisation), raw_dtype=quantisation)
        elif values.ndim == 4:
            writer.add_tensor(name, values.astype(np.float16))
        else:
            writer.add_tensor(name, values)
    finish(writer)


def read_mmproj(path):
    return {
        tensor.name: np.array(gguf.quants.dequantize(tensor.data, tensor.tensor_type), np.float32)
        for tensor in gguf.GGUFReader(path).tensors
    }


def loaded(model_class, config, weights):
    """Returns a model of transformers with these weights, in f32."""
    with tempfile.TemporaryDirectory() as folder:
        write_json(Path(folder) / "config.json", config)
        save_file(weights, Path(folder) / "model.safetensors", {"format": "pt"})
        model, report = model_class.from_pretrained(
            folder, config=AutoConfig.from_pretrained(folder), dtype=torch.float32, attn_implementation="eager", output_loading_info=True
        )
    assert not any(report.values()), report
    return model.eval()


def shapes_of(model_class, config):
    """Returns the names and shapes of a model's tensors."""
    with tempfile.TemporaryDirectory() as folder:
        write_json(Path(folder) / "config.json", config)
        model_class(AutoConfig.from_pretrained(folder)).save_pretrained(folder)
        return {name: values.shape for name, values in sorted(load_file(Path(folder) / "model.safetensors").items())}


def pixel_record(pixels, width, height):
    """Returns the record of a resized picture, whose levels are (height, width, 3)."""
    rows, columns, _ = pixels.shape
    levels = pixels.reshape(-1)
    samples = levels[:: max(1, len(levels) // 150) | 1]
    return {"width": width, "height": height, "tiles": [
        {"width": columns, "height": rows, "sum": int(levels.sum()), "samples": samples.tolist()}
    ]}


def blank(width, height):
    return Image.new("RGB", (width, height))


@torch.no_grad()
def reply_record(name, messages, ids, features, logits_of, is_resized, least_margin=4e-3):
    """Returns the ids of a prompt, its image rows, and the greedy reply with log-probabilities. `logits_of` gives the logits after
    some ids."""
    features, prompt = features.double(), list(ids)
    ids, greedy, logprobs, margins = list(ids), [], [], []
    for _ in range(N_GREEDY):
        logits = logits_of(ids).double()
        best, second = logits.topk(2).values
        margins.append(float(best - second))
        greedy.append(int(logits.argmax()))
        logprobs.append(round(float(logits.log_softmax(0).max()), 6))
        ids.append(greedy[-1])
    print(f"{name:32} {len(prompt)} positions, smallest margin {min(margins):.4f}, distinct {len(set(greedy))}")
    assert min(margins) > least_margin, f"{name}: choose another seed"
    assert all(len(CONTROL) <= token < SIZE for token in greedy), f"{name}: choose another seed"
    said = [
        {"role": message["role"], "content": [
            {key: value for key, value in part.items() if key in ("type", "text", "picture", "recording")} for part in message["content"]
        ]} for message in messages
    ]
    kept = sorted({0, 1, len(features) // 2, len(features) - 1})
    return {
        "model": name, "is_resized": is_resized, "messages": said, "prompt": prompt, "n_rows": len(features),
        "row_sums": [round(value, 4) for value in features.sum(1).tolist()],
        "rows": [{"row": row, "values": [round(value, 6) for value in features[row].tolist()]} for row in kept],
        "greedy": greedy, "logprobs": logprobs,
    }


def write_sections(path, sections):
    lines = [
        f'  "{name}": [\n    ' + ",\n    ".join(json.dumps(record) for record in records) + "\n  ]" for name, records in sections.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def add_vocabulary_of(vocabulary, template):
    return lambda writer: gguf_file.add_vocabulary(writer, vocabulary, template)
