"""Writes a tiny Llama 2 with a text prompt and reply: its tokenizer is SentencePiece's BPE with byte fallback."""

from gguf import GGMLQuantizationType as Type

import family_files
import logits
import schemes
from checkpoint import write_json
from families import Family, config
from vocabulary import BOS, CONTROL, EOS

PROMPT = "What is the weather in Größe today? 東京 \U0001f642, and  two spaces."
TOKENIZER = {
    "add_bos_token": True, "add_eos_token": False, "bos_token": CONTROL[BOS], "eos_token": CONTROL[EOS],
    "unk_token": "<unk>", "tokenizer_class": "LlamaTokenizerFast", "legacy": False,
}
SEED = 6


def without_stray_bytes(weights, tokens):
    """Zeroes the output rows of bytes that are not characters by themselves, so that replies are valid text."""
    stray = [id for id, token in enumerate(tokens) if token.startswith("<0x") and "80" <= token[3:5]]
    weights["lm_head.weight"][stray] = 0
    return weights


def add_vocabulary(writer, metadata, template):
    schemes.add_metadata(writer, metadata)
    writer.add_chat_template(template)


def write(fixtures, records):
    (_, tokenizer, metadata) = next(schemes.sentence_piece_tokenizers())
    size = len(metadata["tokens"])
    keys = config("llama", 2, 2, 2, False, rms_norm_eps=1e-5, rope_theta=1e4, vocab_size=size)
    family = Family("llama2", "llama", keys, Type.F32, SEED)
    template = (fixtures / "templates" / "llama-2.jinja").read_text()
    folder = fixtures / "models" / family.name

    folder.mkdir(exist_ok=True)
    weights = without_stray_bytes(
        family_files.random_weights(family, family_files.shapes(family, folder)), metadata["tokens"]
    )
    family_files.write_folder(folder, family, weights)
    tokenizer.save(str(folder / "tokenizer.json"))
    write_json(folder / "tokenizer_config.json", TOKENIZER)
    (folder / "chat_template.jinja").write_text(template)
    vocabulary = lambda writer: add_vocabulary(writer, metadata, template)
    family_files.write_gguf(folder.parent / f"{family.name}-f32.gguf", family, vocabulary, weights, Type.F32)

    tokenizer.encode_special_tokens = True
    ids = tokenizer.encode(PROMPT, add_special_tokens=True).ids
    record = logits.reference(family.name, family_files.loaded(folder), ids)
    record |= {"text": PROMPT, "reply": tokenizer.decode(record["greedy"], skip_special_tokens=False)}
    assert "\ufffd" not in record["reply"], "choose another seed"
    logits.write(records / f"{family.name}.json", record)
