"""Writes the tiny BERT in its forms, and what the tokenizers library and NumPy make of texts with it.

    python tests/golden/embeddings.py

The other parts of embeddings.json are given values: of the models that `core/src/embedding/tests.rs` makes from the names of their
tensors, computed by transformers 5.24 (BERT, Qwen3, EmbeddingGemma) and, for LFM2, by two implementations in double precision that
agree with llama.cpp 0.8 within 2e-6. The BERT of this file is checked against them before it is used.
"""

import json
import math
import pathlib

import gguf
import numpy as np
import safetensors.numpy
import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

GOLDEN = pathlib.Path(__file__).resolve().parent
MODELS = GOLDEN.parent / "fixtures" / "models"
HIDDEN, WIDTH, HEADS, LAYERS, POSITIONS = 32, 64, 4, 2, 64
MAX_TOKENS = 32
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "the man woman who eats eat bread food rocket orbit reach read noon query passage is in of and not one two".split()
ENDINGS = ["##ing", "##ed", "##er", "##est"]
TEXTS = ["a man eats bread", "The ROCKET reached orbit at noon.", "reading ÉTÉ!", "", "zzz 12 [SEP] x", "日本 ok", "naïve\tcafé\n\n a\u0000b",
         "x" * 120, "don't [unk]", "query: who eats?"]
PAIRS = [("who eats", "a man eats bread"), ("who eats", "the rocket"), ("", "reading"), ("the man", "")]


def vocabulary():
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    continued = ["##" + letter for letter in letters if letter.isalnum()]
    return SPECIAL + letters + continued + WORDS + ENDINGS


def tokenizer(vocab):
    model = models.WordPiece({token: at for at, token in enumerate(vocab)}, unk_token="[UNK]", max_input_chars_per_word=100)
    result = tokenizers.Tokenizer(model)
    result.normalizer = normalizers.BertNormalizer(lowercase=True)
    result.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    result.decoder = decoders.WordPiece()
    result.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    result.add_special_tokens(SPECIAL)
    return result


def fnv1a64(text):
    hashed = 0xCBF29CE484222325
    for byte in text.encode():
        hashed = ((hashed ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return hashed


def values(name, shape):
    """The values of a tensor follow from its name: SplitMix64 of the name's hash."""
    with np.errstate(over="ignore"):
        z = np.uint64(fnv1a64(name)) + np.arange(1, math.prod(shape) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    v = 2 * ((z >> np.uint64(40)).astype(np.float64) / 16777216) - 1
    if len(shape) == 1:
        v = v / 4 if name.endswith("bias") else 1 + v / 4
    elif "embed" not in name.lower():
        v = v * math.sqrt(3 / shape[-1])
    return v.astype(np.float32).reshape(shape)


def tensors(n_vocabulary, hidden, width, n_layers, n_positions, has_head=False):
    shapes = {
        "embeddings.word_embeddings.weight": (n_vocabulary, hidden),
        "embeddings.position_embeddings.weight": (n_positions, hidden),
        "embeddings.token_type_embeddings.weight": (2, hidden),
    }
    pairs = {"embeddings.LayerNorm": (hidden,)}
    for layer in range(n_layers):
        for part, shape in [("attention.self.query", (hidden, hidden)), ("attention.self.key", (hidden, hidden)),
                            ("attention.self.value", (hidden, hidden)), ("attention.output.dense", (hidden, hidden)),
                            ("attention.output.LayerNorm", (hidden,)), ("intermediate.dense", (width, hidden)),
                            ("output.dense", (hidden, width)), ("output.LayerNorm", (hidden,))]:
            pairs[f"encoder.layer.{layer}.{part}"] = shape
    if has_head:
        pairs |= {"pooler.dense": (hidden, hidden), "classifier": (1, hidden)}
    for name, shape in pairs.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return {name: values(name, shape) for name, shape in shapes.items()}


def norm(x, weights, name):
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
    return x * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def bert(weights, n_layers, n_heads, ids, types):
    """The rows of a text, in double precision."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    linear = lambda x, name: x @ w[f"{name}.weight"].T + w[f"{name}.bias"]
    x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.token_type_embeddings.weight"][types]
    x = norm(x + w["embeddings.position_embeddings.weight"][: len(ids)], w, "embeddings.LayerNorm")
    size = x.shape[-1] // n_heads
    for layer in range(n_layers):
        at = f"encoder.layer.{layer}"
        q, k, v = (linear(x, f"{at}.attention.self.{part}").reshape(len(ids), n_heads, size).transpose(1, 0, 2)
                   for part in ("query", "key", "value"))
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(size)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (shares / shares.sum(-1, keepdims=True) @ v).transpose(1, 0, 2).reshape(len(ids), -1)
        x = norm(x + linear(mixed, f"{at}.attention.output.dense"), w, f"{at}.attention.output.LayerNorm")
        inner = linear(x, f"{at}.intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        x = norm(x + linear(inner, f"{at}.output.dense"), w, f"{at}.output.LayerNorm")
    return x


def check(golden):
    """Compares the BERT above with the values of transformers."""
    weights = tensors(384, 64, 128, 3, 64)
    for ids, mean, cls in zip(golden["ids"]["others"], golden["bert"]["mean"], golden["bert"]["cls"]):
        rows = bert(weights, 3, 4, np.array(ids), np.zeros(len(ids), dtype=int))
        assert np.abs(rows.mean(0) - mean).max() < 1e-5 and np.abs(rows[0] - cls).max() < 1e-5


NAMES = {
    "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
    "pooler.dense": "cls", "classifier": "cls.output",
}
IN_LAYER = {
    "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
}


def gguf_name(name):
    part, kind = name.rsplit(".", 1)
    if part in NAMES:
        return f"{NAMES[part]}.{kind}"
    layer, part = part.removeprefix("encoder.layer.").split(".", 1)
    return f"blk.{layer}.{IN_LAYER[part]}.{kind}"


def write_gguf(path, vocab, weights, pooling):
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_block_count(LAYERS)
    writer.add_context_length(POSITIONS)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(WIDTH)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(pooling)
    writer.add_tokenizer_model("bert")
    # As llama.cpp's converter spells them: words begin with a mark, and the rest of a word has none.
    spelled = lambda token: token if token in SPECIAL else token[2:] if token.startswith("##") else "\u2581" + token
    writer.add_token_list([spelled(token) for token in vocab])
    writer.add_token_types([3 if token in SPECIAL else 1 for token in vocab])
    writer.add_token_type_count(2)
    writer.add_bos_token_id(2)
    writer.add_sep_token_id(3)
    for name, value in weights.items():
        writer.add_tensor(gguf_name(name), value.astype(np.float16 if value.ndim == 2 else np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_json(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


def write_folder(folder, encoder, weights):
    folder.mkdir(parents=True, exist_ok=True)
    half = {name: value.astype(np.float16 if value.ndim == 2 else np.float32) for name, value in weights.items()}
    safetensors.numpy.save_file(half, folder / "model.safetensors")
    write_json(folder / "config.json", {
        "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": HIDDEN,
        "intermediate_size": WIDTH, "layer_norm_eps": 1e-12, "max_position_embeddings": POSITIONS,
        "num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "position_embedding_type": "absolute",
        "type_vocab_size": 2, "vocab_size": len(vocabulary())})
    kinds = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    write_json(folder / "modules.json", [
        {"idx": at, "name": str(at), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for at, (path, kind) in enumerate(kinds)])
    write_json(folder / "1_Pooling" / "config.json", {
        "word_embedding_dimension": HIDDEN, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": MAX_TOKENS, "do_lower_case": False})
    write_json(folder / "config_sentence_transformers.json", {
        "prompts": {"query": "query: ", "passage": "passage: "}, "default_prompt_name": None})
    write_json(folder / "tokenizer_config.json", {"cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"})
    # Published files truncate and pad, which is meant for batches of texts that are trained on.
    encoder.enable_truncation(16)
    encoder.enable_padding(length=16, pad_id=0, pad_token="[PAD]")
    encoder.save(str(folder / "tokenizer.json"))
    encoder.no_truncation()
    encoder.no_padding()


def main():
    path = GOLDEN / "embeddings.json"
    golden = json.loads(path.read_text())
    check(golden)
    vocab = vocabulary()
    encoder = tokenizer(vocab)
    # A special token that a text spells is text.
    encoder.encode_special_tokens = True
    weights = tensors(len(vocab), HIDDEN, WIDTH, LAYERS, POSITIONS)
    write_folder(MODELS / "bert", encoder, weights)
    write_gguf(MODELS / "bert-f16.gguf", vocab, weights, gguf.PoolingType.MEAN)
    ranker = tensors(len(vocab), HIDDEN, WIDTH, LAYERS, POSITIONS, has_head=True)
    write_gguf(MODELS / "bert-rank-f16.gguf", vocab, ranker, gguf.PoolingType.RANK)

    single = [{"text": text, "ids": encoder.encode(text).ids} for text in TEXTS]
    pairs = []
    rounded = lambda kept: {name: value.astype(np.float16).astype(np.float32) if value.ndim == 2 else value
                            for name, value in kept.items()}
    for first, second in PAIRS:
        encoded = encoder.encode(first, second)
        rows = bert(rounded(ranker), LAYERS, HEADS, np.array(encoded.ids), np.array(encoded.type_ids))
        head = {name: value.astype(np.float64) for name, value in rounded(ranker).items()}
        pooled = np.tanh(rows[0] @ head["pooler.dense.weight"].T + head["pooler.dense.bias"])
        logit = (pooled @ head["classifier.weight"].T + head["classifier.bias"])[0]
        pairs.append({"first": first, "second": second, "ids": encoded.ids, "types": encoded.type_ids,
                      "relevance": round(float(1 / (1 + np.exp(-logit))), 8)})
    half = rounded(weights)
    mean = []
    for text in TEXTS[:2]:
        ids = encoder.encode(text).ids
        vector = bert(half, LAYERS, HEADS, np.array(ids), np.zeros(len(ids), dtype=int)).mean(0)
        mean.append([round(float(x), 8) for x in vector / np.linalg.norm(vector)])
    golden["tokens"] = {"man": vocab.index("man"), "single": single, "pairs": pairs, "unit_means": mean}
    text = json.dumps(golden, ensure_ascii=False)
    path.write_text(text.replace("], \"", "],\n \"").replace("}, \"", "},\n\"").replace("}, {", "},\n  {") + "\n")


if __name__ == "__main__":
    main()
