// Measures llama.cpp's vision library like tests/benchmark/images.rs measures causerie.
//
//     llama-pictures MODEL PROJECTOR WIDTH HEIGHT PIXELS THREADS PROMPT [ROWS]
//
// PIXELS is a file of RGB bytes. PROMPT contains <image> once. Prints one JSON object: the seconds for the picture's rows, those
// until the logits after the prompt are there, and how many rows there are. ROWS is a file that the rows are written to, as floats.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <vector>

#include "llama.h"
#include "mtmd-helper.h"
#include "mtmd.h"

using Clock = std::chrono::steady_clock;

static void check(bool is_right, const std::string & what) {
    if (!is_right) {
        std::fprintf(stderr, "llama.cpp cannot %s\n", what.c_str());
        std::exit(1);
    }
}

static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

int main(int n_arguments, char ** arguments) {
    check(n_arguments >= 8, "go on without MODEL PROJECTOR WIDTH HEIGHT PIXELS THREADS PROMPT");
    const std::string model_path = arguments[1], projector_path = arguments[2];
    const uint32_t width = std::atoi(arguments[3]), height = std::atoi(arguments[4]);
    std::ifstream file(arguments[5], std::ios::binary);
    const std::vector<unsigned char> pixels((std::istreambuf_iterator<char>(file)), {});
    check(pixels.size() == size_t(3) * width * height, "read the pixels");
    const int n_threads = std::atoi(arguments[6]);
    std::string prompt = arguments[7];

    auto quiet = [](ggml_log_level, const char *, void *) {};
    llama_log_set(quiet, nullptr);
    mtmd_helper_log_set(quiet, nullptr);
    llama_backend_init();
    llama_model * model = llama_model_load_from_file(model_path.c_str(), llama_model_default_params());
    check(model, "load " + model_path);
    mtmd_context_params vision_params = mtmd_context_params_default();
    vision_params.use_gpu = false;
    vision_params.n_threads = n_threads;
    vision_params.print_timings = false;
    vision_params.warmup = false;
    mtmd_context * vision = mtmd_init_from_file(projector_path.c_str(), model, vision_params);
    check(vision, "load " + projector_path);
    llama_context_params params = llama_context_default_params();
    params.n_ctx = 4096;
    params.n_batch = 2048;
    params.n_ubatch = 512;
    params.n_threads = params.n_threads_batch = n_threads;
    // Gemma computes all rows of a picture at once, each with the others in view.
    if (mtmd_decode_use_non_causal(vision, nullptr)) {
        params.n_ubatch = params.n_batch;
    }
    llama_context * context = llama_init_from_model(model, params);
    check(context, "make a context");

    const std::string marker = mtmd_default_marker();
    prompt.replace(prompt.find("<image>"), 7, marker);
    double encoding = 0, total = 0;
    size_t n_rows = 0;
    // The first pass warms up.
    for (int pass = 0; pass < 2; pass++) {
        llama_memory_clear(llama_get_memory(context), true);
        encoding = 0;
        const Clock::time_point start = Clock::now();
        mtmd_bitmap * bitmap = mtmd_bitmap_init(width, height, pixels.data());
        const mtmd_bitmap * bitmaps[] = {bitmap};
        mtmd_input_text text = {};
        text.text = prompt.c_str();
        text.text_len = prompt.size();
        text.add_special = false;
        text.parse_special = true;
        mtmd_input_chunks * chunks = mtmd_input_chunks_init();
        check(mtmd_tokenize(vision, chunks, &text, bitmaps, 1) == 0, "read the prompt");
        encoding = seconds_since(start); // tiles are cut and resized here
        llama_pos position = 0;
        const size_t n_chunks = mtmd_input_chunks_size(chunks);
        n_rows = 0;
        std::vector<float> rows;
        for (size_t at = 0; at < n_chunks; at++) {
            const mtmd_input_chunk * chunk = mtmd_input_chunks_get(chunks, at);
            if (mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT) {
                check(mtmd_helper_eval_chunk_single(vision, context, chunk, position, 0, 2048, at + 1 == n_chunks, &position) == 0, "compute text");
                continue;
            }
            const Clock::time_point begun = Clock::now();
            check(mtmd_encode_chunk(vision, chunk) == 0, "encode the picture");
            encoding += seconds_since(begun);
            const size_t n = mtmd_input_chunk_get_n_tokens(chunk);
            float * encoded = mtmd_get_output_embd(vision);
            rows.insert(rows.end(), encoded, encoded + n * llama_model_n_embd_inp(model));
            n_rows += n;
            check(mtmd_helper_decode_image_chunk(vision, context, chunk, encoded, position, 0, 2048, &position, nullptr, nullptr) == 0, "compute rows");
        }
        llama_synchronize(context);
        total = seconds_since(start);
        if (n_arguments > 8) {
            std::ofstream(arguments[8], std::ios::binary).write(reinterpret_cast<const char *>(rows.data()), std::streamsize(4 * rows.size()));
        }
        mtmd_input_chunks_free(chunks);
        mtmd_bitmap_free(bitmap);
    }
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    std::printf("{\"encode_seconds\": %g, \"first_token_seconds\": %g, \"n_rows\": %zu, \"peak_memory_bytes\": %lld}\n", encoding, total, n_rows,
                1024LL * usage.ru_maxrss);
}
