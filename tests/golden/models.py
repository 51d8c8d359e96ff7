"""Writes all tiny models, and the logits that transformers computes for each."""

import torch
from gguf import GGMLQuantizationType as Type
from transformers import Lfm2ForCausalLM

import checkpoint
import family_files
import gguf_file
import llama2
import logits
from shapes import SHARDED, SMALL, WIDE_Q2_K, WIDE_Q4_K, WIDE_Q5_K, WIDE_Q6_K
from vocabulary import train
from weights import model_of, random_weights

GGUF = [
    ("lfm2-f32", SMALL, Type.F32, "token_embd_norm"),
    ("lfm2-f16", SMALL, Type.F16, "token_embd_norm"),
    ("lfm2-bf16", SMALL, Type.BF16, "token_embd_norm"),
    ("lfm2-q8_0", SMALL, Type.Q8_0, "token_embd_norm"),
    ("lfm2-q4_0", SMALL, Type.Q4_0, "token_embd_norm"),
    ("lfm2-q2_k", WIDE_Q2_K, Type.Q2_K, "token_embd_norm"),  # contains Q3_K as well
    ("lfm2-q4_k", WIDE_Q4_K, Type.Q4_K, "token_embd_norm"),
    ("lfm2-q5_k", WIDE_Q5_K, Type.Q5_K, "output_norm"),  # the name in older files
    ("lfm2-q6_k", WIDE_Q6_K, Type.Q6_K, "token_embd_norm"),
]


def write_models(fixtures, golden):
    vocabulary = train()
    template = (fixtures / "templates" / "lfm2-a.jinja").read_text()
    folder = fixtures / "models"
    records = golden / "logits"
    for name, shape, quantisation, output_norm in GGUF:
        weights = random_weights(shape)
        path = folder / f"{name}.gguf"
        gguf_file.write(path, shape, vocabulary, template, weights, quantisation, output_norm)
        model = model_of(shape, gguf_file.read(path, weights))
        logits.write(records / f"{name}.json", logits.reference(path.name, model, logits.prompt(shape.seed)))
    weights = random_weights(SMALL)
    gguf_file.write(folder / "lfm2-split.gguf", SMALL, vocabulary, template, weights, Type.Q4_0, max_tensors=20)
    for name, shape, write in [
        ("lfm2-hf", SMALL, checkpoint.write_single),
        ("lfm2-hf-sharded", SHARDED, checkpoint.write_sharded),
    ]:
        write(folder / name, shape, vocabulary, template, random_weights(shape))
        model = Lfm2ForCausalLM.from_pretrained(folder / name, dtype=torch.float32, attn_implementation="eager").eval()
        logits.write(records / f"{name}.json", logits.reference(name, model, logits.prompt(shape.seed)))
    family_files.write_families(vocabulary, template, folder, records)
    llama2.write(fixtures, records)
