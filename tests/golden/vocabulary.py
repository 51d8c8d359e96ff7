"""The vocabulary of all tiny models: a real byte-level BPE of 512 tokens, trained on the text below."""

import json
from dataclasses import dataclass

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors, trainers

CONTROL = [
    "<|pad|>", "<|startoftext|>", "<|endoftext|>", "<|fim_pre|>", "<|fim_mid|>", "<|fim_suf|>", "<|im_start|>",
    "<|im_end|>", "<|tool_list_start|>", "<|tool_list_end|>", "<|tool_call_start|>", "<|tool_call_end|>",
    "<|tool_response_start|>", "<|tool_response_end|>",
]
BOS, EOS, PAD = 1, 7, 0
SIZE = 512
# Words that no merge produces: an engine finds them only if it looks up whole words first (ignore_merges).
WHOLE_WORDS = ["Ġcauserie", "thermometer"]
SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEXT = """\
What is the weather in Lisbon today? It is sunny and 21 degrees, with a light wind from the west.
Set a timer for 12 minutes for the pasta, please. The timer is set: I will tell you when it ends.
Call me when the train leaves the station at 18:45. I'll remind you ten minutes before that.
The function takes a name and a list of values, and returns the sum of the values as a number.
def area(width, height):\n    return width * height\n
for value in values:\n        total += value\n    return total\n
{"name": "get_weather", "description": "The weather in a city", "parameters": {"type": "object", "properties": {}}}
[get_weather(city="Paris", unit="celsius"), set_timer(minutes=5, label="tea")]
List of tools: system user assistant tool; required string number integer boolean array object items enum.
Größe, façade, naïve, señor, ça va, où, déjà vu: Привет, как дела? 今天天气很好。東京の天気はどうですか。
It was 1024, then 2048, then 4096; 3.14159 and 2.71828 are not the same; 100, 200, 300, 2026-11-20.
"""


@dataclass
class Vocabulary:
    tokens: list[str]
    merges: list[list[str]]
    # Control tokens at the end, besides those at the beginning.
    n_added: int = 0

    def is_control(self, id):
        return id < len(CONTROL) or len(self.tokens) - self.n_added <= id


def with_pipeline(model):
    """Returns a tokenizer like the ones of published LFM2 files: no normaliser, the split regex of Llama 3, byte level."""
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(SPLIT), behavior="isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def train():
    """Returns the 512 tokens in order of id, and the merges in order of rank."""
    tokenizer = with_pipeline(models.BPE(ignore_merges=True))
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE - len(WHOLE_WORDS), special_tokens=CONTROL, show_progress=False,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
    )
    tokenizer.train_from_iterator(TEXT.splitlines(keepends=True), trainer)
    model = json.loads(tokenizer.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get) + WHOLE_WORDS
    assert len(tokens) == len(set(tokens)) == SIZE and tokens[: len(CONTROL)] == CONTROL
    return Vocabulary(tokens, model["merges"])


def tokenizer_of(vocabulary):
    """Returns the tokenizer of a vocabulary; `to_str(pretty=True)` is its tokenizer.json."""
    ids = {token: id for id, token in enumerate(vocabulary.tokens)}
    tokenizer = with_pipeline(models.BPE(ids, [tuple(pair) for pair in vocabulary.merges], ignore_merges=True))
    control = [token for id, token in enumerate(vocabulary.tokens) if vocabulary.is_control(id)]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{CONTROL[BOS]} $A", pair=f"{CONTROL[BOS]} $A {CONTROL[BOS]} $B", special_tokens=[(CONTROL[BOS], BOS)]
    )
    return tokenizer
