"""What other implementations make of sound: other rates, and the features that models hear.

transformers gives the features of Whisper and Gemma 4. Features of LFM2-Audio come from liquid-audio 1.3.0 with torchaudio 2.11
(as do the rates), and features of LFM3-Audio from llama.cpp 0.8.0: they are kept from the present file unless
`liquid_audio` can be imported, and are never computed here.
"""

import importlib.util
import json

import numpy as np
from transformers import Gemma4AudioFeatureExtractor, WhisperFeatureExtractor

RATES = [8000, 11025, 22050, 24000, 32000, 44100, 48000, 96000]
LFM2_LENGTHS = [160, 319, 320, 1280, 4001, 16000]
N_VALUES = 80


def uniform(name, n):
    """SplitMix64, seeded by FNV-1a of the name."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) % 2**64
    with np.errstate(over="ignore"):
        bits = np.uint64(seed) + np.arange(n, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        bits ^= bits >> np.uint64(31)
    return (bits >> np.uint64(40)).astype(np.float64) / 2**24


def sound(n, rate):
    """Three tones that swell three times a second, with a little noise."""
    time = np.arange(n) / rate
    tone = lambda level, frequency: level * np.sin(2 * np.pi * frequency * time)
    tones = tone(0.30, 220) + tone(0.20, 1330) + tone(0.10, 5100)
    return ((0.55 + tone(0.45, 3)) * tones + 0.02 * (2 * uniform("noise", n) - 1)).astype(np.float32)


def record(values):
    """Sums of all values, and every nth of them."""
    flat = np.asarray(values, np.float64).reshape(-1)
    nth = max(1, flat.size // N_VALUES) | 1
    return {
        "sum": round(float(flat.sum()), 4), "squares": round(float((flat * flat).sum()), 4),
        "nth": nth, "values": [round(float(value), 6) for value in flat[::nth]],
    }


def features(rules, samples, frames):
    """`frames` has a row for each frame."""
    return {"rules": rules, "samples": samples, "frames": len(frames), **record(frames)}


def whisper():
    for bins in (80, 128):
        extractor = WhisperFeatureExtractor(feature_size=bins)
        for n in (401, 8000, 16111):
            found = extractor(sound(n, 16000), sampling_rate=16000, padding="longest")
            yield features(f"whisper{bins}", n, found.input_features[0].T)


def gemma4():
    extractor = Gemma4AudioFeatureExtractor()
    for n in (161, 480, 1600, 4001):
        found = extractor([sound(n, 16000)], sampling_rate=16000)
        yield features("gemma4", n, found.input_features[0] * found.input_features_mask[0][:, None])


def lfm2():
    import torch
    from liquid_audio.model.conformer.processor import AudioToMelSpectrogramPreprocessor

    preprocessor = AudioToMelSpectrogramPreprocessor(
        sample_rate=16000, normalize="per_feature", window_size=0.025, window_stride=0.01, window="hann", features=128,
        n_fft=512, log=True, frame_splicing=1, dither=1e-5, pad_to=0, pad_value=0.0,
    ).eval()
    for n in LFM2_LENGTHS:
        found, _ = preprocessor(torch.from_numpy(sound(n, 16000))[None], torch.tensor([n]))
        yield features("lfm2", n, found[0].numpy().T)


def resampled():
    import torch
    import torchaudio

    for rate in RATES:
        samples = torch.from_numpy(sound(rate // 20, rate))[None]
        yield {"rate": rate, **record(torchaudio.functional.resample(samples, rate, 16000)[0].numpy())}


def write_sound(golden):
    file = golden / "sound.json"
    before = json.loads(file.read_text())
    kept = lambda *rules: [case for case in before["features"] if case["rules"] in rules]
    has_liquid_audio = importlib.util.find_spec("liquid_audio") is not None
    write(file, {
        "resampled": list(resampled()) if has_liquid_audio else before["resampled"],
        "features": [*whisper(), *gemma4(), *(lfm2() if has_liquid_audio else kept("lfm2")), *kept("lfm3")],
    })


def write(file, sections):
    """A line for each case."""
    text = ",\n".join(
        f'"{name}": [\n' + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]"
        for name, cases in sections.items()
    )
    file.write_text("{\n" + text + "\n}\n")
