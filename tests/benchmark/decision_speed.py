"""Measures decisions and embeddings beside llama.cpp 0.8.0 and sentence-transformers, in alternation, and prints tables.

    scripts/bench --files models/demo.gguf --rounds 1    # builds llama.cpp 0.8.0 and its measurements
    cargo build --release
    scripts/test-real embeddings                         # fetches the models
    real=~/.cache/causerie/real
    $real/venv/bin/python tests/benchmark/decision_speed.py --causerie target/release/causerie --rounds 3 \
        --decider $real/Qwen2.5-Coder-0.5B-Instruct-Q4_K_M.gguf --embedder $real/all-MiniLM-L6-v2

Decisions: questions to be answered by yes or no, about a state of about 2,000 tokens. causerie is asked over HTTP for 1, 8 and 64 at
once. llama.cpp computes the same prompts one by one through its library, and chooses one token after each; as its server does, it keeps
what a prompt has in common with the one before. Nothing else of its server is counted: no HTTP, no template, no text. A fresh state is
one that the engine has not seen; then the same state is asked other questions.

Embeddings: 256 texts of 5 to 80 words. sentence-transformers is measured if --transformers names a Python that has it; its texts are
ordered by length and computed 32 at a time, its default. llama.cpp gets the same weights in F32, written by this script, and computes
up to 2,048 tokens together. Run nothing else meanwhile.
"""

import argparse
import itertools
import json
import pathlib
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
N_QUESTIONS = [1, 8, 64]
N_TEXTS = 256
STATE_BYTES = 8600  # about 2,000 tokens
SEPARATOR = "\n\n\nQUESTION:\n"
FRAME = (
    "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n<|im_start|>user\n",
    "<|im_end|>\n<|im_start|>assistant\n",
)
TRANSFORMERS = """
import json, sys, time, torch
from sentence_transformers import SentenceTransformer
torch.set_num_threads(int(sys.argv[2]))
model, texts = SentenceTransformer(sys.argv[1], device="cpu"), json.load(sys.stdin)
model.encode(texts[:32])
start = time.perf_counter()
vectors = model.encode(texts, normalize_embeddings=True)
print(json.dumps({"seconds": time.perf_counter() - start, "first": [float(x) for x in vectors[0]]}))
"""


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--causerie", required=True, help="the built command")
    parser.add_argument("--decider", type=pathlib.Path, help="a chat model of Qwen 2.5")
    parser.add_argument("--embedder", type=pathlib.Path, help="the folder of all-MiniLM-L6-v2")
    parser.add_argument("--transformers", help="a Python with sentence-transformers")
    parser.add_argument("--llama", type=pathlib.Path, default=pathlib.Path.home() / ".cache/causerie/bench/llama.cpp/bin/llama-texts")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-r", "--rounds", type=int, default=3)
    return parser.parse_args()


class Server:
    def __init__(self, options, *model):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        command = [options.causerie, "serve", *map(str, model), "--port", str(port), "--threads", str(options.threads), "--offline"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        while True:
            try:
                urllib.request.urlopen(f"{self.url}/v1/models")
                return self
            except OSError:
                if self.process.poll() is not None:
                    sys.exit("causerie did not start")
                time.sleep(0.1)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def post(self, path, body):
        """Returns the answer and the seconds that it took."""
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {"content-type": "application/json"})
        start = time.perf_counter()
        with urllib.request.urlopen(request) as reply:
            answer = json.load(reply)
        return answer, time.perf_counter() - start


def llama(options, kind, model, texts):
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(text.encode() + b"\0" for text in texts))
        file.flush()
        command = [options.llama, kind, model, file.name, str(options.threads)]
        return json.loads(subprocess.run(list(map(str, command)), check=True, capture_output=True).stdout)


def questions():
    lines = (HERE / "decisions.jsonl").read_text().splitlines()
    asked = [json.loads(line)["question"] for line in lines]
    return sorted({question["instructions"] for question in asked if question["type"] == "noul"})


def state(number):
    return f"Copy {number}. " + (HERE.parents[1] / "ARCHITECTURE.md").read_text()[:STATE_BYTES]


def decisions(options):
    """Returns the seconds of each engine by the number of questions and the freshness of the state, a value for each round."""
    asked, numbers, found = questions(), itertools.count(), {}
    with Server(options, "--model", options.decider) as server:
        ask = lambda about, asked: server.post("/v1/systemone", {
            "state": about,
            "questions": {str(at): {"type": "noul", "instructions": question} for at, question in enumerate(asked)},
            "min_label_probability": 0,
        })
        for _ in range(options.rounds):
            for n in N_QUESTIONS:
                about = state(next(numbers))
                answer, fresh = ask(about, asked[:n])
                _, known = ask(about, asked[64 : 64 + n])
                found.setdefault(("causerie", n, "fresh"), []).append(fresh)
                found.setdefault(("causerie", n, "known"), []).append(known)
                print(f"causerie, {n}: {answer['usage']['input_tokens']} tokens, {fresh:.2f} s, known {known:.2f} s", file=sys.stderr)
            about = state(next(numbers))
            prompt = lambda question: f"{FRAME[0]}{about}{SEPARATOR}{question}\n\nAnswer with yes or no only.{FRAME[1]}"
            seconds = llama(options, "questions", options.decider, map(prompt, asked[:128]))["seconds"]
            for n in N_QUESTIONS:
                found.setdefault(("llama.cpp", n, "fresh"), []).append(sum(seconds[:n]))
                found.setdefault(("llama.cpp", n, "known"), []).append(sum(seconds[64 : 64 + n]))
            print(f"llama.cpp, 64: {sum(seconds[:64]):.2f} s, known {sum(seconds[64:]):.2f} s", file=sys.stderr)
    print("| state | questions | causerie, per second | llama.cpp, per second | ratio |\n|---|---:|---:|---:|---:|")
    for freshness in ("fresh", "known"):
        for n in N_QUESTIONS:
            ours, theirs = found["causerie", n, freshness], found["llama.cpp", n, freshness]
            ratio = statistics.median(their / our for our, their in zip(ours, theirs))
            print(f"| {freshness} | {n} | {n / statistics.median(ours):.2f} | {n / statistics.median(theirs):.2f} | {ratio:.2f} |")


def texts():
    """Texts of 5 to 80 words from this project's documents, without code and numbers, so that all have less than 256 tokens."""
    words = " ".join(path.read_text() for path in sorted((HERE.parents[1] / "docs").glob("*.md"))).split()
    words = [word for word in words if word.strip(".,:;()").isalpha()]
    lengths = itertools.cycle([5, 12, 20, 35, 50, 65, 80, 15])
    return [" ".join(itertools.islice(iterator, next(lengths))) for iterator in [iter(words)] for _ in range(N_TEXTS)]


def gguf_of(folder, file):
    """Writes the weights of a BERT folder to a GGUF file in F32, as llama.cpp reads them."""
    import gguf
    from safetensors.numpy import load_file

    config, tokenizer = (json.loads((folder / name).read_text()) for name in ("config.json", "tokenizer.json"))
    writer = gguf.GGUFWriter(file, "bert")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    # llama.cpp marks the beginnings of words instead of their continuations.
    vocabulary = sorted(tokenizer["model"]["vocab"], key=tokenizer["model"]["vocab"].get)
    is_control = lambda token: token.startswith("[") and token.endswith("]")
    mark = lambda token: token if is_control(token) else token[2:] if token.startswith("##") else "\u2581" + token
    writer.add_tokenizer_model("bert")
    writer.add_token_list([mark(token) for token in vocabulary])
    writer.add_token_types([3 if is_control(token) else 1 for token in vocabulary])
    writer.add_token_type_count(config["type_vocab_size"])
    ids = tokenizer["model"]["vocab"]
    writer.add_bos_token_id(ids["[CLS]"])
    writer.add_sep_token_id(ids["[SEP]"])
    writer.add_unk_token_id(ids["[UNK]"])
    writer.add_pad_token_id(ids["[PAD]"])
    writer.add_mask_token_id(ids["[MASK]"])
    names = {
        "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
        "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
    }
    parts = {
        "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
        "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
        "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
    }
    for layer in range(config["num_hidden_layers"]):
        names |= {f"encoder.layer.{layer}.{theirs}": f"blk.{layer}.{ours}" for theirs, ours in parts.items()}
    for name, tensor in load_file(folder / "model.safetensors").items():
        base, kind = name.removeprefix("bert.").rsplit(".", 1)
        if base in names:
            writer.add_tensor(f"{names[base]}.{kind}", tensor.astype("float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def embeddings(options):
    embedded, found = texts(), {}
    with Server(options, "--embedding-model", options.embedder) as server, tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "model.gguf"
        gguf_of(options.embedder, file)
        server.post("/v1/embeddings", {"model": "m", "input": embedded[:32]})
        for _ in range(options.rounds):
            answer, seconds = server.post("/v1/embeddings", {"model": "m", "input": embedded})
            found.setdefault("causerie", []).append(seconds)
            theirs = llama(options, "embeddings", file, embedded)
            found.setdefault("llama.cpp", []).append(theirs["seconds"])
            print(f"{answer['usage']['prompt_tokens']} tokens: {seconds:.2f} s; llama.cpp: {theirs['tokens']} in {theirs['seconds']:.2f} s", file=sys.stderr)
            if options.transformers:
                command = [options.transformers, "-c", TRANSFORMERS, str(options.embedder), str(options.threads)]
                output = subprocess.run(command, input=json.dumps(embedded), check=True, capture_output=True, text=True).stdout
                theirs = json.loads(output.splitlines()[-1])
                found.setdefault("sentence-transformers", []).append(theirs["seconds"])
                difference = max(abs(a - b) for a, b in zip(theirs["first"], answer["data"][0]["embedding"]))
                print(f"sentence-transformers: {theirs['seconds']:.2f} s, first vector differs by {difference:.1e}", file=sys.stderr)
    print("| engine | texts per second | causerie against it |\n|---|---:|---:|")
    for engine, seconds in found.items():
        ratio = statistics.median(their / our for our, their in zip(found["causerie"], seconds))
        print(f"| {engine} | {N_TEXTS / statistics.median(seconds):.1f} | {ratio:.2f} |")


def main():
    options = arguments()
    if options.decider:
        decisions(options)
    if options.embedder:
        embeddings(options)


main()
