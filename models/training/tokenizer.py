"""The byte-level BPE of the demo model, trained on the generator's text.

Two rules make copying easy for a small model. No merge joins two digits, so a number consists of its digits. And no merge joins a
space or a sign to letters, except the last few, for frequent words. So an uncommon word has the same tokens after a space, a quote
or an underscore.
"""

import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

CONTROL = [
    "<|pad|>", "<|startoftext|>", "<|endoftext|>", "<image>", "<|image_start|>", "<|image_end|>", "<|im_start|>",
    "<|im_end|>", "<|tool_list_start|>", "<|tool_list_end|>", "<|tool_call_start|>", "<|tool_call_end|>",
    "<|tool_response_start|>", "<|tool_response_end|>",
]
BOS, END_OF_TURN = 1, 7
IMAGE, IMAGE_START, IMAGE_END = (CONTROL.index(token) for token in ("<image>", "<|image_start|>", "<|image_end|>"))
LLAMA3_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TRAINING_SPLIT = r"\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPACE = "Ġ"  # a space in byte-level spelling


def pipeline(split):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(split), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    ])


def train(texts, size=2048, spaced_words=320):
    """Trains a tokenizer on texts. The last `spaced_words` merges join a space to a frequent word."""
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pipeline(TRAINING_SPLIT)
    texts = list(texts)
    trainer = trainers.BpeTrainer(
        vocab_size=size - spaced_words, special_tokens=CONTROL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    learner.train_from_iterator(texts, trainer)
    learned = json.loads(learner.to_str())["model"]
    vocabulary, merges = learned["vocab"], [tuple(merge) for merge in learned["merges"]]
    counts = {}
    for text in texts:
        for word in text.split(" ")[1:]:
            word = word.rstrip(".,?!:;\"'").split("<")[0].split("\n")[0]
            if word in vocabulary and word.isalpha() and word.isascii():
                counts[word] = counts.get(word, 0) + 1
    for word in sorted(counts, key=lambda word: (-counts[word], word))[:spaced_words]:
        merges.append((SPACE, word))
        vocabulary[SPACE + word] = len(vocabulary)
    assert len(vocabulary) == size, f"{len(vocabulary)} tokens instead of {size}"
    return assemble(vocabulary, merges)


def assemble(vocabulary, merges):
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True))
    tokenizer.pre_tokenizer = pipeline(LLAMA3_SPLIT)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in CONTROL])
    return tokenizer


def parts(tokenizer):
    """Tokens in the order of their ids, and the merges as strings, as in GGUF files."""
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [" ".join(merge) if isinstance(merge, list) else merge for merge in model["merges"]]
    return tokens, merges
