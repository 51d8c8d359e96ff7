"""Measures the parts of liquid-audio 1.3.0, the reference of LFM2.5-Audio, on the CPU: the shapes of the 1.5B model with random weights.

    python3.12 -m venv liquid-venv && liquid-venv/bin/pip install liquid-audio==1.3.0     (4 GB, since PyTorch brings CUDA along)
    liquid-venv/bin/python tests/benchmark/liquid_audio_parts.py bfloat16 2

Prints one line of JSON with medians: `hear` turns four seconds of samples into rows of the prompt, `text` is a token of the text model,
`codes` the eight codes of a frame, and `sound` the samples of a frame. Its detokenizer has no stream, so `sound` is the whole of 50 frames
divided by their number; called for each frame again, as a stream needs, it would take up to fifty times as long.
`tests/benchmark/speech.py --liquid liquid-venv/bin/python` measures it beside causerie.
"""

import json
import statistics
import sys
import time
from dataclasses import asdict

import torch
from liquid_audio.detokenizer import LFM2AudioDetokenizer
from liquid_audio.model.conformer.encoder import ConformerEncoderConfig
from liquid_audio.model.conformer.processor import AudioToMelSpectrogramPreprocessor
from liquid_audio.model.lfm2_audio import DepthformerConfig, LFM2AudioConfig, LFM2AudioModel
from liquid_audio.processor import PreprocessorConfig
from transformers import Lfm2Config

SECONDS, RATE, FRAMES, REPEATS = 4, 16_000, 50, 3
ATTENTION = (2, 5, 8, 10, 12, 14)


def layer_kinds(n_layers, attention):
    return ["full_attention" if layer in attention else "conv" for layer in range(n_layers)]


def configuration():
    text = Lfm2Config(
        vocab_size=65_536, hidden_size=2048, intermediate_size=8192, block_auto_adjust_ff_dim=False, num_hidden_layers=16,
        num_attention_heads=32, num_key_value_heads=8, layer_types=layer_kinds(16, ATTENTION),
    )
    encoder = ConformerEncoderConfig(
        feat_in=128, feat_out=-1, n_layers=17, d_model=512, subsampling="dw_striding", subsampling_factor=8,
        subsampling_conv_channels=256, causal_downsampling=False, reduction=None, reduction_position=None, reduction_factor=1,
        ff_expansion_factor=4, self_attention_model="rel_pos", n_heads=8, att_context_size=[-1, -1], xscaling=False,
        untie_biases=True, pos_emb_max_len=5000, conv_kernel_size=9, conv_norm_type="batch_norm", conv_context_size=None,
        dropout=0.1, dropout_pre_encoder=0.1, dropout_emb=0.0, dropout_att=0.1,
    )
    features = PreprocessorConfig(
        sample_rate=RATE, normalize="per_feature", window_size=0.025, window_stride=0.01, window="hann", features=128, n_fft=512,
        log=True, frame_splicing=1, dither=1e-5, pad_to=0, pad_value=0.0,
    )
    return LFM2AudioConfig(
        architectures=["Lfm2AudioForConditionalGeneration"], codebooks=8, tie_audio_embeddings=False, semantic_codebook_factor=100,
        codebook_weight="log", interleaved_n_text=6, interleaved_n_audio=12, preprocessor=features, encoder=encoder, lfm=text,
        depthformer=DepthformerConfig(layers=6, dim=1024, tie=True),
    )


def detokenizer():
    layers = Lfm2Config(
        vocab_size=65_536, hidden_size=512, intermediate_size=2304, block_auto_adjust_ff_dim=False, num_hidden_layers=8,
        num_attention_heads=16, num_key_value_heads=8, layer_types=layer_kinds(8, (2, 4, 6)), sliding_window=30,
    )
    return LFM2AudioDetokenizer(layers).eval()


def median_seconds(work, repeats=REPEATS):
    work(0)
    times = []
    for repeat in range(1, repeats + 1):
        start = time.perf_counter()
        work(repeat)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


@torch.inference_mode()
def main():
    dtype, n_threads = getattr(torch, sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(n_threads)
    torch.manual_seed(1)
    config = configuration()
    model = LFM2AudioModel(config).to(dtype).eval()
    features = AudioToMelSpectrogramPreprocessor(**asdict(config.preprocessor)).eval()
    samples = [torch.rand(1, SECONDS * RATE) - 0.5 for _ in range(REPEATS + 1)]

    def hear(repeat):
        mel, length = features(samples[repeat], torch.tensor([SECONDS * RATE]))
        rows, n_rows = model.conformer(mel.to(dtype), length)
        assert int(n_rows[0]) in (50, 51), n_rows
        model.audio_adapter(rows.mT[0])

    rows = torch.randn(1, 1, 2048, dtype=dtype)
    prompt = model.lfm(inputs_embeds=torch.randn(1, 70, 2048, dtype=dtype), use_cache=True)
    cache = prompt.past_key_values

    def text(_):
        hidden = model.lfm(inputs_embeds=rows, past_key_values=cache, use_cache=True).last_hidden_state
        torch.nn.functional.linear(hidden[0, -1], model.lfm.embed_tokens.weight).argmax()

    def codes(_):
        model._sample_audio_frame(prompt.last_hidden_state[0, -1])

    speaker = detokenizer()
    frames = torch.randint(0, 2048, (1, 8, FRAMES))

    def sound(_):
        assert speaker(frames).shape[-1] >= 1_920 * (FRAMES - 1)

    parts = {
        "hearing_seconds": median_seconds(hear),
        "text_seconds": median_seconds(text, FRAMES),
        "codes_seconds": median_seconds(codes, FRAMES),
        "sound_seconds": median_seconds(sound) / FRAMES,
    }
    print(json.dumps({name: round(seconds, 5) for name, seconds in parts.items()}))


main()
