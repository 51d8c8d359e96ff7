"""Measures llama.cpp like `causerie bench` measures causerie: a prompt of random tokens, then a greedy reply.

    llama_cpp_bench.py MODEL THREADS PROMPT_TOKENS REPLY_TOKENS REPEATS

Prints one line of JSON. The library is that of llama-cpp-python; only its low-level calls are used.
"""

import ctypes
import json
import random
import resource
import sys
import time

import llama_cpp
import numpy as np

WARM_UP = 16, 4


def main(path, n_threads, n_prompt, n_reply, n_repeats):
    quiet = llama_cpp.llama_log_callback(lambda level, text, data: None)
    llama_cpp.llama_log_set(quiet, ctypes.c_void_p())
    start = time.perf_counter()
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
    params = llama_cpp.llama_context_default_params()
    params.n_ctx = n_prompt + n_reply
    params.n_batch = 512
    params.n_ubatch = 512
    params.n_threads = params.n_threads_batch = n_threads
    context = llama_cpp.llama_init_from_model(model, params)
    load_seconds = time.perf_counter() - start
    memory = llama_cpp.llama_get_memory(context)
    n_vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))
    draw = random.Random(0)

    def decode(tokens):
        array = (llama_cpp.llama_token * len(tokens))(*tokens)
        assert llama_cpp.llama_decode(context, llama_cpp.llama_batch_get_one(array, len(tokens))) == 0

    def best():
        logits = llama_cpp.llama_get_logits_ith(context, -1)
        return int(np.ctypeslib.as_array(logits, shape=(n_vocabulary,)).argmax())

    def reply(n_prompt, n_reply):
        llama_cpp.llama_memory_clear(memory, True)
        prompt = [draw.randrange(n_vocabulary) for _ in range(n_prompt)]
        start = time.perf_counter()
        for first in range(0, n_prompt, 512):
            decode(prompt[first : first + 512])
        token = best()
        first = time.perf_counter()
        for _ in range(n_reply - 1):
            decode([token])
            token = best()
        end = time.perf_counter()
        return n_prompt / (first - start), (n_reply - 1) / (end - first) if n_reply > 1 else 0.0

    reply(min(WARM_UP[0], n_prompt), min(WARM_UP[1], n_reply))
    replies = [reply(n_prompt, n_reply) for _ in range(n_repeats)]
    names = "prefill_tokens_per_second", "decode_tokens_per_second"
    result = {name: float(np.median(values)) for name, values in zip(names, zip(*replies))}
    result["load_seconds"] = load_seconds
    result["peak_memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps(result))


main(sys.argv[1], *map(int, sys.argv[2:]))
