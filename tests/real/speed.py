"""Speed and memory of one engine on one model, in a process of its own: `speed.py causerie|llama.cpp FILE`. Prints JSON:
tokens of the prompt and of the reply per second, and the peak of resident memory in MiB."""

import json
import pathlib
import re
import sys
import time

N_PROMPT, N_REPLY, CONTEXT, THREADS = 512, 64, 1024, 2
TEXT = (pathlib.Path(__file__).resolve().parents[2] / "ARCHITECTURE.md").read_text()


def causerie(file):
    import causerie

    with causerie.ModelRunner.load(file, context_size=CONTEXT, threads=THREADS) as runner:
        prompt = runner.tokenize(TEXT)[:N_PROMPT]
        reply = runner.complete(prompt, temperature=0.0, repetition_penalty=1.0, max_tokens=N_REPLY)
        stats = next(event.stats for event in reply if isinstance(event, causerie.Complete))
    return stats.prompt_tokens / stats.prefill_time, (stats.completion_tokens - 1) / stats.decode_time


def llama_cpp(file):
    from llama import LlamaCpp

    model = LlamaCpp(file, context=CONTEXT, threads=THREADS)
    prompt = model.tokens(TEXT)[:N_PROMPT]
    begun = time.perf_counter()
    token = model.next(prompt, 0)
    read = time.perf_counter()
    n_reply = 0
    while n_reply < N_REPLY - 1 and not model.is_end(token):
        token = model.next([token], len(prompt) + n_reply)
        n_reply += 1
    return len(prompt) / (read - begun), n_reply / (time.perf_counter() - read)


prefill, decode = {"causerie": causerie, "llama.cpp": llama_cpp}[sys.argv[1]](sys.argv[2])
# Not ru_maxrss, which counts the memory of the calling program before this one begins.
memory = int(re.search(r"VmHWM:\s*(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024
print(json.dumps({"prefill": prefill, "decode": decode, "memory": memory}))
