"""Pictures in llama.cpp's own vision library. The declarations of one package are used with the library in another, which runs on older
systems.

    pip install llama-cpp-py-sync==0.11548 xllamacpp==2026.10.11549 numpy
"""

import pathlib
import time

import xllamacpp
from llama_cpp_py_sync._cffi_bindings import get_ffi

ffi = get_ffi()
llama = mtmd = ffi.dlopen(str(next(pathlib.Path(xllamacpp.__file__).parent.glob("xllamacpp.*so"))))


@ffi.callback("void(enum ggml_log_level, const char *, void *)")
def quiet(level, text, data):
    pass


class Vision:
    """A model with its projector."""

    def __init__(self, model, projector, n_threads, context=4096):
        llama.llama_log_set(quiet, ffi.NULL)
        mtmd.mtmd_log_set(quiet, ffi.NULL)
        llama.llama_backend_init()
        self.model = llama.llama_model_load_from_file(str(model).encode(), llama.llama_model_default_params())
        assert self.model, f"llama.cpp cannot load {model}"
        params = mtmd.mtmd_context_params_default()
        params.use_gpu, params.n_threads, params.print_timings, params.warmup = False, n_threads, False, False
        self.vision = mtmd.mtmd_init_from_file(str(projector).encode(), self.model, params)
        assert self.vision, f"llama.cpp cannot load {projector}"
        params = llama.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = context, 512, 512
        params.n_threads = params.n_threads_batch = n_threads
        self.context = llama.llama_init_from_model(self.model, params)
        self.width = llama.llama_model_n_embd(self.model)

    def chunks(self, prompt, pictures):
        """Returns the parts of a prompt, in which each marker stands for a picture: (width, height, bytes of RGB)."""
        bitmaps = [mtmd.mtmd_bitmap_init(width, height, pixels) for width, height, pixels in pictures]
        marker = ffi.string(mtmd.mtmd_default_marker()).decode()
        text = prompt.replace("<image>", marker).encode()
        kept = ffi.new("char[]", text)
        given = ffi.new("mtmd_input_text *", {"text": kept, "text_len": len(text), "add_special": False, "parse_special": True})
        chunks = ffi.gc(mtmd.mtmd_input_chunks_init(), mtmd.mtmd_input_chunks_free)
        status = mtmd.mtmd_tokenize(self.vision, chunks, given, ffi.new("mtmd_bitmap *[]", bitmaps), len(bitmaps))
        assert status == 0, f"llama.cpp cannot read the prompt: {status}"
        for bitmap in bitmaps:
            mtmd.mtmd_bitmap_free(bitmap)
        self.kept = chunks
        return [mtmd.mtmd_input_chunks_get(chunks, index) for index in range(mtmd.mtmd_input_chunks_size(chunks))]

    def is_image(self, chunk):
        return mtmd.mtmd_input_chunk_get_type(chunk) == mtmd.MTMD_INPUT_CHUNK_TYPE_IMAGE

    def tokens(self, chunk):
        n_tokens = ffi.new("size_t *")
        tokens = mtmd.mtmd_input_chunk_get_tokens_text(chunk, n_tokens)
        return [tokens[at] for at in range(n_tokens[0])]

    def rows(self, chunk):
        """Returns the rows of an image as one buffer of floats, and how many there are."""
        assert mtmd.mtmd_encode_chunk(self.vision, chunk) == 0
        n_rows = mtmd.mtmd_input_chunk_get_n_tokens(chunk)
        return mtmd.mtmd_get_output_embd(self.vision), n_rows

    def first_token(self, prompt, pictures):
        """Computes a prompt. Returns the seconds for its images, and those for all until the logits are there."""
        llama.llama_memory_clear(llama.llama_get_memory(self.context), True)
        start, encoding, position = time.perf_counter(), 0.0, 0
        chunks = self.chunks(prompt, pictures)
        encoding = time.perf_counter() - start  # tiles are cut and resized here
        for chunk in chunks:
            if self.is_image(chunk):
                begun = time.perf_counter()
                rows, n_rows = self.rows(chunk)
                encoding += time.perf_counter() - begun
            else:
                tokens = self.tokens(chunk)
                n_rows = len(tokens)
            for first in range(0, n_rows, 512):
                n = min(512, n_rows - first)
                is_last = chunk == chunks[-1] and first + n == n_rows
                batch = llama.llama_batch_init(n, self.width if self.is_image(chunk) else 0, 1)
                batch.n_tokens = n
                for at in range(n):
                    if self.is_image(chunk):
                        continue
                    batch.token[at] = tokens[first + at]
                if self.is_image(chunk):
                    ffi.memmove(batch.embd, rows + first * self.width, 4 * n * self.width)
                for at in range(n):
                    batch.pos[at], batch.n_seq_id[at], batch.seq_id[at][0] = position + at, 1, 0
                    batch.logits[at] = is_last and at + 1 == n
                assert llama.llama_decode(self.context, batch) == 0
                llama.llama_batch_free(batch)
                position += n
        llama.llama_synchronize(self.context)
        return encoding, time.perf_counter() - start
