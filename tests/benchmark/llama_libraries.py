"""Measures llama.cpp through its shared libraries, as packages for Node.js have them: no compiler and no headers are needed.

    llama_libraries.py FOLDER MODEL.gguf PROMPT REPLY REPEATS

Prints the best speeds in tokens per second as JSON. FOLDER has libllama, libggml and their backends, of which the library takes the best
that works. Structures are passed as blocks that are larger than any version's, and the few fields that are set are found by their defaults,
so that a version whose fields lie elsewhere is refused.
"""

import ctypes
import json
import pathlib
import random
import sys
import time

CHUNK, WARM_UP = 512, 16
# The words of the fields: two pointers come before the number of layers on the device.
LAYERS, CONTEXT, BATCH, CHUNKS, FIRST_AFTER = 4, 0, 1, 2, 3
CONTEXT_DEFAULTS = [512, 2048, 512]


class Block(ctypes.Structure):
    _fields_ = [("words", ctypes.c_int32 * 128)]


class Batch(ctypes.Structure):
    _fields_ = [("n_tokens", ctypes.c_int32), *((name, ctypes.c_void_p) for name in "abcdef")]


def library(folder, name):
    found = sorted(path for path in folder.glob(f"lib{name}*.so*") if path.name.removeprefix(f"lib{name}")[0] == ".")
    if not found:
        sys.exit(f"{folder} must have lib{name}, found none")
    return ctypes.CDLL(str(found[0]), mode=ctypes.RTLD_GLOBAL)


def function(of, name, result, *arguments):
    found = getattr(of, name)
    found.restype, found.argtypes = result, arguments
    return found


def main():
    folder, model_path = pathlib.Path(sys.argv[1]), sys.argv[2]
    n_prompt, n_reply, n_repeats = map(int, sys.argv[3:])
    library(folder, "ggml-base")
    ggml, llama = library(folder, "ggml"), library(folder, "llama")
    pointer, number = ctypes.c_void_p, ctypes.c_int32
    log = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, pointer)(lambda level, text, data: None)
    function(llama, "llama_log_set", None, type(log), pointer)(log, None)
    function(ggml, "ggml_backend_load_all_from_path", None, ctypes.c_char_p)(str(folder).encode())
    function(llama, "llama_backend_init", None)()

    of_model = function(llama, "llama_model_default_params", Block)()
    if of_model.words[LAYERS] != -1 and of_model.words[LAYERS] < 99:
        sys.exit("the layers on the device are not where they are looked for")
    of_model.words[LAYERS] = 999
    of_context = function(llama, "llama_context_default_params", Block)()
    if list(of_context.words[: len(CONTEXT_DEFAULTS)]) != CONTEXT_DEFAULTS:
        sys.exit("the sizes of the context are not where they are looked for")
    of_context.words[CONTEXT] = n_prompt + n_reply + 64
    model = function(llama, "llama_model_load_from_file", pointer, ctypes.c_char_p, Block)(model_path.encode(), of_model)
    if not model:
        sys.exit("the model cannot be loaded")
    context = function(llama, "llama_init_from_model", pointer, pointer, Block)(model, of_context)
    if not context:
        sys.exit("the model cannot be computed")

    one = function(llama, "llama_batch_get_one", Batch, pointer, number)
    decode = function(llama, "llama_decode", number, pointer, Batch)
    logits_of = function(llama, "llama_get_logits_ith", ctypes.POINTER(ctypes.c_float), pointer, number)
    memory = function(llama, "llama_get_memory", pointer, pointer)(context)
    clear = function(llama, "llama_memory_clear", None, pointer, ctypes.c_bool)
    vocabulary = function(llama, "llama_model_get_vocab", pointer, pointer)(model)
    n_tokens = function(llama, "llama_vocab_n_tokens", number, pointer)(vocabulary)
    draw = random.Random(1)

    def compute(ids):
        array = (number * len(ids))(*ids)
        if decode(context, one(array, len(ids))) != 0:
            sys.exit("a step failed")
        return logits_of(context, -1)

    best = [0.0, 0.0]
    for run in range(n_repeats + 1):
        clear(memory, True)
        ids = [draw.randrange(n_tokens) for _ in range(n_prompt)]
        begun = time.perf_counter()
        for first in range(0, n_prompt, CHUNK):
            compute(ids[first : first + CHUNK])
        prompted = time.perf_counter()
        # The first run compiles shaders. Random tokens take as long as the most probable ones, which Python would be slow to find.
        for _ in range(n_reply if run else min(n_reply, WARM_UP)):
            compute([draw.randrange(n_tokens)])
        ended = time.perf_counter()
        if run:
            best = [max(best[0], n_prompt / (prompted - begun)), max(best[1], n_reply / (ended - prompted))]
    print(json.dumps({"prefill_tokens_per_second": best[0], "decode_tokens_per_second": best[1]}))


if __name__ == "__main__":
    main()
