// Measures llama.cpp on texts: questions that share a long beginning, one by one, and embeddings.
//
//     llama-texts questions|embeddings MODEL TEXTS THREADS
//
// TEXTS is a file of texts that end with a zero byte. For questions, what a text has in common with the one before it is not computed
// again, as llama.cpp's server does, and the most probable token after it is chosen. For embeddings, texts are computed together, as
// many as fit a batch. Prints a JSON object: the seconds of each question, or of all embeddings, and the tokens.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "llama.h"

using Clock = std::chrono::steady_clock;
using Tokens = std::vector<llama_token>;

static const int N_BATCH = 2048, N_SEQUENCES = 64;

static void check(bool is_right, const std::string & what) {
    if (!is_right) {
        std::fprintf(stderr, "llama.cpp cannot %s\n", what.c_str());
        std::exit(1);
    }
}

static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

static std::vector<std::string> read_texts(const char * path) {
    std::ifstream file(path, std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), {});
    std::vector<std::string> texts;
    for (size_t at = 0, end; (end = all.find('\0', at)) != std::string::npos; at = end + 1) {
        texts.push_back(all.substr(at, end - at));
    }
    check(!texts.empty(), std::string("read texts of ") + path);
    return texts;
}

static Tokens tokenize(const llama_vocab * vocabulary, const std::string & text) {
    Tokens tokens(text.size() + 8);
    const int n = llama_tokenize(vocabulary, text.data(), text.size(), tokens.data(), tokens.size(), true, true);
    check(n > 0, "tokenize a text");
    tokens.resize(n);
    return tokens;
}

static void add(llama_batch & batch, llama_token token, int position, int sequence, bool is_read) {
    const int at = batch.n_tokens++;
    batch.token[at] = token;
    batch.pos[at] = position;
    batch.n_seq_id[at] = 1;
    batch.seq_id[at][0] = sequence;
    batch.logits[at] = is_read;
}

static void questions(llama_context * context, const llama_vocab * vocabulary, const std::vector<std::string> & texts) {
    llama_batch batch = llama_batch_init(N_BATCH, 0, 1);
    Tokens known;
    size_t n_tokens = 0;
    std::printf("{\"seconds\": [");
    for (const std::string & text : texts) {
        const auto start = Clock::now();
        const Tokens tokens = tokenize(vocabulary, text);
        size_t n_shared = std::mismatch(known.begin(), known.end(), tokens.begin(), tokens.end()).first - known.begin();
        n_shared = std::min(n_shared, tokens.size() - 1);
        llama_memory_seq_rm(llama_get_memory(context), 0, n_shared, -1);
        for (size_t at = n_shared; at < tokens.size();) {
            for (batch.n_tokens = 0; at < tokens.size() && batch.n_tokens < N_BATCH; at++) {
                add(batch, tokens[at], at, 0, at + 1 == tokens.size());
            }
            check(llama_decode(context, batch) == 0, "compute a prompt");
        }
        const float * logits = llama_get_logits_ith(context, -1);
        const auto best = std::max_element(logits, logits + llama_vocab_n_tokens(vocabulary)) - logits;
        check(best >= 0, "choose a token");
        std::printf("%s%.6f", &text == &texts[0] ? "" : ", ", seconds_since(start));
        n_tokens += tokens.size() - n_shared;
        known = tokens;
    }
    std::printf("], \"tokens\": %zu}\n", n_tokens);
    llama_batch_free(batch);
}

static void embeddings(llama_context * context, const llama_vocab * vocabulary, const std::vector<std::string> & texts) {
    const auto start = Clock::now();
    llama_batch batch = llama_batch_init(N_BATCH, 0, 1);
    size_t n_tokens = 0;
    double sum = 0;
    int n_sequences = 0;
    auto compute = [&] {
        if (n_sequences == 0) return;
        check(llama_encode(context, batch) == 0, "compute texts");
        for (int sequence = 0; sequence < n_sequences; sequence++) {
            sum += llama_get_embeddings_seq(context, sequence)[0];
        }
        n_tokens += batch.n_tokens;
        batch.n_tokens = n_sequences = 0;
    };
    for (const std::string & text : texts) {
        Tokens tokens = tokenize(vocabulary, text);
        if (tokens.size() > 256) {
            tokens.erase(tokens.begin() + 255, tokens.end() - 1);
        }
        if (batch.n_tokens + int(tokens.size()) > N_BATCH || n_sequences == N_SEQUENCES) {
            compute();
        }
        for (size_t at = 0; at < tokens.size(); at++) {
            add(batch, tokens[at], at, n_sequences, true);
        }
        n_sequences++;
    }
    compute();
    std::printf("{\"seconds\": %.6f, \"tokens\": %zu, \"sum\": %.6f}\n", seconds_since(start), n_tokens, sum);
    llama_batch_free(batch);
}

int main(int n_arguments, char ** arguments) {
    check(n_arguments == 5, "go on without questions|embeddings MODEL TEXTS THREADS");
    const bool embeds = arguments[1] == std::string("embeddings");
    const std::vector<std::string> texts = read_texts(arguments[3]);
    llama_log_set([](ggml_log_level, const char *, void *) {}, nullptr);
    llama_backend_init();
    llama_model * model = llama_model_load_from_file(arguments[2], llama_model_default_params());
    check(model, std::string("load ") + arguments[2]);
    llama_context_params params = llama_context_default_params();
    params.n_threads = params.n_threads_batch = std::atoi(arguments[4]);
    params.n_batch = N_BATCH;
    params.n_ctx = embeds ? N_BATCH : 4096;
    if (embeds) {
        // Models that read both ways need whole texts in one step.
        params.n_ubatch = N_BATCH;
        params.n_seq_max = N_SEQUENCES;
        params.embeddings = true;
        params.pooling_type = LLAMA_POOLING_TYPE_MEAN;
    }
    llama_context * context = llama_init_from_model(model, params);
    check(context, "begin");
    (embeds ? embeddings : questions)(context, llama_model_get_vocab(model), texts);
    llama_free(context);
    llama_model_free(model);
}
