"""llama.cpp, as the reference: token ids, logits of all positions, and greedy choices. Only its low-level calls are used."""

import pathlib

import numpy as np
import xllamacpp
from llama_cpp_py_sync._cffi_bindings import get_ffi

F32 = 0
ffi = get_ffi()
lib = ffi.dlopen(str(next(pathlib.Path(xllamacpp.__file__).parent.glob("xllamacpp.*so"))))


@ffi.callback("void(enum ggml_log_level, const char *, void *)")
def quiet(level, text, data):
    pass


lib.llama_log_set(quiet, ffi.NULL)
lib.llama_backend_init()


class LlamaCpp:
    """A model of llama.cpp. With `exact`, keys and values are F32."""

    def __init__(self, path, vocabulary_only=False, exact=False, context=1024, threads=None):
        params = lib.llama_model_default_params()
        params.vocab_only = vocabulary_only
        self.model = lib.llama_model_load_from_file(str(path).encode(), params)
        assert self.model != ffi.NULL, f"llama.cpp does not load {path}"
        self.vocabulary = lib.llama_model_get_vocab(self.model)
        self.n_vocabulary = lib.llama_vocab_n_tokens(self.vocabulary)
        self.context = None
        if not vocabulary_only:
            params = lib.llama_context_default_params()
            params.n_ctx = params.n_batch = params.n_ubatch = context
            if threads is not None:  # measured as an app runs it: the usual pieces of a prompt
                params.n_threads = params.n_threads_batch = threads
                params.n_ubatch = lib.llama_context_default_params().n_ubatch
            if exact:
                params.type_k = params.type_v = F32
                params.flash_attn_type = 0
            self.context = lib.llama_init_from_model(self.model, params)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.context is not None:
            lib.llama_free(self.context)
        lib.llama_model_free(self.model)

    def tokens(self, text, adds_bos=True):
        """Returns the ids of a text, in which spellings of control tokens are control tokens."""
        text = text.encode()
        room = ffi.new("llama_token[]", len(text) + 8)
        n = lib.llama_tokenize(self.vocabulary, text, len(text), room, len(room), adds_bos, True)
        return list(room[0:n])

    def is_end(self, token):
        return lib.llama_vocab_is_eog(self.vocabulary, token)

    def logits(self, tokens):
        """Returns the logits after each token, (tokens, vocabulary)."""
        lib.llama_memory_clear(lib.llama_get_memory(self.context), True)
        batch = lib.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for at, token in enumerate(tokens):
            batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.seq_id[at][0], batch.logits[at] = token, at, 1, 0, 1
        assert lib.llama_decode(self.context, batch) == 0
        n_bytes = 4 * len(tokens) * self.n_vocabulary
        logits = np.frombuffer(ffi.buffer(lib.llama_get_logits(self.context), n_bytes), np.float32).copy()
        lib.llama_batch_free(batch)
        return logits.reshape(len(tokens), self.n_vocabulary)

    def next(self, tokens, position):
        """Returns the most probable token after these, which begin at a position."""
        batch = lib.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for at, token in enumerate(tokens):
            batch.token[at], batch.pos[at], batch.n_seq_id[at], batch.seq_id[at][0], batch.logits[at] = token, position + at, 1, 0, at + 1 == len(tokens)
        assert lib.llama_decode(self.context, batch) == 0
        logits = np.frombuffer(ffi.buffer(lib.llama_get_logits_ith(self.context, len(tokens) - 1), 4 * self.n_vocabulary), np.float32)
        best = int(logits.argmax())
        lib.llama_batch_free(batch)
        return best

    def log_probabilities(self, tokens):
        logits = self.logits(tokens).astype(np.float64)
        logits -= logits.max(1, keepdims=True)
        return logits - np.log(np.exp(logits).sum(1, keepdims=True))
