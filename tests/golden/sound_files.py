"""Writes ../fixtures/sounds: one sound in the forms that people send, and what ffmpeg decodes of each.

It needs sox 14.4 and ffmpeg of Debian 12: python3 tests/golden/sound_files.py
Values in index.json come from ffmpeg, but for the mix of several channels, which is their mean.
"""

import json
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from sound import sound

RATE = 16000
N_SAMPLES = 480
FOLDER = Path(__file__).resolve().parent.parent / "fixtures/sounds"
# The end of the identifiers of formats in extensible files.
IDENTIFIER_END = bytes.fromhex("000000001000800000aa00389b71")
BITS = {"pcm8": (8, "unsigned-integer"), "pcm16": (16, "signed-integer"), "pcm24": (24, "signed-integer"),
        "pcm32": (32, "signed-integer"), "float32": (32, "floating-point"), "float64": (64, "floating-point")}
COMPRESSED = {
    "flac16.flac": "flac -sample_fmt s16",
    "flac24.flac": "flac -sample_fmt s32 -bits_per_raw_sample 24",
    "mp3.mp3": "libmp3lame -b:a 64k",
    "mp3-noid3.mp3": "libmp3lame -b:a 32k -id3v2_version 0 -write_xing 0",
    "vorbis.ogg": "libvorbis",
    "opus.webm": "libopus -ar 48000",
    "opus.ogg": "libopus -ar 48000",
    "aac.m4a": "aac",
}


def run(*command):
    return subprocess.run(command, check=True, capture_output=True).stdout


def chunk(name, body):
    return name + struct.pack("<I", len(body)) + body + b"\0" * (len(body) % 2)


def riff(body, size=None):
    return b"RIFF" + struct.pack("<I", len(body) + 4 if size is None else size) + b"WAVE" + body


def extensible(code, bits, valid_bits):
    frame = bits // 8
    head = struct.pack("<HHIIHHHHI", 0xFFFE, 1, RATE, RATE * frame, frame, bits, 22, valid_bits, 4)
    return chunk(b"fmt ", head + struct.pack("<H", code) + IDENTIFIER_END)


def with_sox(raw):
    def sox(name, *options, effects=()):
        source = ["-t", "raw", "-r", str(RATE), "-e", "floating-point", "-b", "32", "-c", "1", raw]
        run("sox", "-D", *source, *options, str(FOLDER / name), *effects)  # -D: no dither

    for name, (bits, encoding) in BITS.items():
        sox(f"{name}.wav", "-b", str(bits), "-e", encoding)
    for name, encoding in [("alaw", "a-law"), ("mulaw", "u-law"), ("ima-adpcm", "ima-adpcm")]:
        sox(f"{name}.wav", "-e", encoding)
    sox("stereo16.wav", "-b", "16", effects=("remix", "1", "1v0.5"))
    sox("six24.wav", "-b", "24", "-c", "6", effects=("remix", "1", "1v0.5", "1v0.25", "0", "1", "1v-0.5"))
    for rate in (8000, 11025, 22050, 44100, 48000, 96000):
        sox(f"rate{rate}.wav", "-b", "16", "-r", str(rate), effects=("rate", "-h"))


def by_hand(samples):
    data = (FOLDER / "pcm16.wav").read_bytes()[44:]
    plain = chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, RATE, RATE * 2, 2, 16))
    whole = riff(plain + chunk(b"data", data))
    sizes = struct.pack("<QQQI", len(data) + 72, len(data), len(data) // 2, 0)
    files = {
        "list-before-data": riff(plain + chunk(b"LIST", b"INFOISFT\5\0\0\0Lavf\0\0") + chunk(b"data", data)),
        "odd-chunk": riff(plain + chunk(b"junk", b"abc") + chunk(b"data", data)),
        "stream-sizes": riff(plain + b"data" + b"\xff" * 4 + data, 0xFFFFFFFF),
        "zero-sizes": riff(plain + b"data" + b"\0" * 4 + data, 0),
        "cut": whole[:-301],
        "after-data": riff(plain + chunk(b"data", data) + chunk(b"LIST", b"INFO")),
        "extensible16": riff(extensible(1, 16, 16) + chunk(b"data", data)),
        "extensible-float": riff(extensible(3, 32, 32) + chunk(b"data", samples.tobytes())),
        "extensible-20-in-24": riff(extensible(1, 24, 20) + chunk(b"data", (FOLDER / "pcm24.wav").read_bytes()[-1440:])),
        "empty": riff(plain + chunk(b"data", b"")),
        "rf64": b"RF64" + b"\xff" * 4 + b"WAVE" + chunk(b"ds64", sizes) + plain + b"data" + b"\xff" * 4 + data,
    }
    for name, file in files.items():
        (FOLDER / f"{name}.wav").write_bytes(file)


def with_ffmpeg(raw):
    for name, codec in COMPRESSED.items():
        exact = ["-fflags", "+bitexact", "-flags:a", "+bitexact"]
        source = ["-f", "f32le", "-ar", str(RATE), "-ac", "1", "-i", raw]
        run("ffmpeg", "-y", *source, *exact, "-c:a", *codec.split(), str(FOLDER / name))


def decoded(file):
    streams = json.loads(run("ffprobe", "-v", "error", "-show_streams", "-of", "json", str(file)))["streams"]
    samples = np.frombuffer(run("ffmpeg", "-v", "error", "-i", str(file), "-f", "f32le", "-"), "<f4")
    frames = samples.reshape(-1, int(streams[0]["channels"]))
    mono = frames.mean(1)
    return {
        "bytes": file.stat().st_size, "codec": streams[0]["codec_name"], "rate": int(streams[0]["sample_rate"]),
        "channels": frames.shape[1], "frames": len(frames),
        "first_8_mono": [round(float(value), 7) for value in mono[:8]],
        "sum_abs_mono": round(float(np.abs(mono).sum()), 4),
    }


def main():
    FOLDER.mkdir(exist_ok=True)
    samples = sound(N_SAMPLES, RATE)
    with tempfile.NamedTemporaryFile(suffix=".f32") as raw:
        samples.tofile(raw.name)
        with_sox(raw.name)
        by_hand(samples)
        with_ffmpeg(raw.name)
    files = sorted(file for file in FOLDER.iterdir() if file.suffix != ".json")
    (FOLDER / "index.json").write_text(json.dumps({file.name: decoded(file) for file in files}, indent=0) + "\n")


sys.exit(main())
