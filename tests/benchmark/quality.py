"""Measures the deviation of causerie and llama.cpp from f32 arithmetic on the same quantised file: the mean Kullback-Leibler
divergence of the next token's distribution. scripts/bench --quality calls it.

    quality.py CAUSERIE HELD_OUT MODEL.gguf …

The reference is the file with its weights converted to F32, computed by llama.cpp with 32-bit keys and values; both engines
run with their defaults, which are 16-bit keys and values. The texts are conversations of the held-out set in the model's
template, including function lists; distributions are compared at every seventh token. causerie's server reports the 20 most
probable tokens; for both engines, all others count as one token, so the figures are lower bounds. Positions where the most
probable token ends the reply are left out, since the server reports nothing there.
"""

import ctypes
import itertools
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

import gguf
import jinja2.sandbox
import llama_cpp
import numpy as np

from exact import write_exact

N_CONVERSATIONS, EVERY, N_REPORTED = 40, 7, 20


class LlamaCpp:
    def __init__(self, path, exact=False):
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
        self.vocabulary = llama_cpp.llama_model_get_vocab(self.model)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = 2048
        if exact:
            params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
            params.flash_attn_type = 0
        self.context = llama_cpp.llama_init_from_model(self.model, params)

    def tokens(self, text):
        buffer = (llama_cpp.llama_token * (len(text.encode()) + 8))()
        n = llama_cpp.llama_tokenize(self.vocabulary, text.encode(), len(text.encode()), buffer, len(buffer), False, True)
        return list(buffer[:n])

    def pieces(self):
        """Returns the token of each piece of text that belongs to only one token."""
        ids = {}
        for token in range(llama_cpp.llama_vocab_n_tokens(self.vocabulary)):
            buffer = ctypes.create_string_buffer(256)
            n = llama_cpp.llama_token_to_piece(self.vocabulary, token, buffer, 256, 0, True)
            ids.setdefault(buffer.raw[:n], []).append(token)
        return {piece: tokens[0] for piece, tokens in ids.items() if len(tokens) == 1}

    def log_probabilities(self, tokens):
        """Returns the log-probabilities of all tokens after each token, (tokens, vocabulary)."""
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self.context), True)
        batch = llama_cpp.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for at, token in enumerate(tokens):
            batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.seq_id[at][0], batch.logits[at] = token, at, 1, 0, 1
        assert llama_cpp.llama_decode(self.context, batch) == 0
        n_vocabulary = llama_cpp.llama_vocab_n_tokens(self.vocabulary)
        logits = np.ctypeslib.as_array(llama_cpp.llama_get_logits(self.context), shape=(len(tokens), n_vocabulary))
        llama_cpp.llama_batch_free(batch)
        logits = logits.astype(np.float64)
        logits -= logits.max(1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(1, keepdims=True))


class Causerie:
    def __init__(self, program, path):
        command = [program, "serve", "--model", path, "--port", "0"]
        self.server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.server.stdout:
            if found := re.search(r"http://[\d.]+:\d+", line):
                self.url = found.group()
                self.name = json.load(urllib.request.urlopen(f"{self.url}/v1/models"))["data"][0]["id"]
                return
        sys.exit(f"{program} does not serve {path}")

    def most_probable(self, tokens):
        """Returns the most probable tokens after `tokens` as text with log-probabilities; empty if the reply ends here."""
        body = {"model": self.name, "prompt": tokens, "max_tokens": 1, "temperature": 0, "logprobs": N_REPORTED}
        headers = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self.url}/v1/completions", json.dumps(body).encode(), headers)
        logprobs = json.load(urllib.request.urlopen(request))["choices"][0]["logprobs"]
        return logprobs["top_logprobs"][0] if logprobs["top_logprobs"] else {}


def divergence(exact, other):
    """Returns the divergence of `other` from `exact` over the same tokens; all other tokens count as one."""
    with_rest = [np.append(np.exp(part), max(1 - np.exp(part).sum(), 1e-12)) for part in (exact, other)]
    return float((with_rest[0] * np.log(with_rest[0] / with_rest[1])).sum())


def conversations(path, template):
    """Yields texts of conversations with the expected calls."""
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    render, functions = environment.from_string(template).render, []
    for line in pathlib.Path(path).read_text().splitlines():
        case = json.loads(line)
        functions = case["functions"] if isinstance(case["functions"], list) else functions
        if "calls" in case["expect"] and case["functions"] != "chat":
            calls = [{"function": call} for call in case["expect"]["calls"]]
            messages = [*case["messages"], {"role": "assistant", "content": "", "tool_calls": calls}]
            yield render(messages=messages, tools=functions, bos_token="<|startoftext|>")


def compare(program, held_out, path):
    template = gguf.GGUFReader(path).fields["tokenizer.chat_template"].contents()
    texts = list(conversations(held_out, template))
    with tempfile.TemporaryDirectory() as folder:
        write_exact(path, f"{folder}/exact.gguf")
        exact = LlamaCpp(f"{folder}/exact.gguf", exact=True)
    theirs, ours, pieces, of_ours, of_theirs = LlamaCpp(path), Causerie(program, path), exact.pieces(), [], []
    try:
        for text in itertools.islice(texts, 0, None, max(1, len(texts) // N_CONVERSATIONS)):
            tokens = exact.tokens(text)
            right, of_llama_cpp = exact.log_probabilities(tokens), theirs.log_probabilities(tokens)
            for at in range(EVERY, len(tokens), EVERY):
                reported = ours.most_probable(tokens[: at + 1])
                reported = {pieces[piece.encode()]: value for piece, value in reported.items() if piece.encode() in pieces and "\ufffd" not in piece}
                if not reported:
                    continue
                tokens_reported = list(reported)
                of_ours.append(divergence(right[at][tokens_reported], np.array(list(reported.values()))))
                of_theirs.append(divergence(right[at][tokens_reported], of_llama_cpp[at][tokens_reported]))
    finally:
        ours.server.terminate()
    return len(of_ours), np.array(of_ours), np.array(of_theirs)


def main(program, held_out, *paths):
    quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p())
    llama_cpp.llama_backend_init()
    print("| file | positions | causerie, mean | llama.cpp, mean | causerie, 99th percentile | llama.cpp, 99th percentile |\n|---|---:|---:|---:|---:|---:|")
    for path in paths:
        n, ours, theirs = compare(program, held_out, path)
        high = [np.quantile(each, 0.99) for each in (ours, theirs)]
        print(f"| {pathlib.Path(path).name} | {n} | {ours.mean():.1e} | {theirs.mean():.1e} | {high[0]:.1e} | {high[1]:.1e} |")


main(*sys.argv[1:])
