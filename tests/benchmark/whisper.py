"""CPU seconds of other engines for a window of Whisper base, with one thread: `whisper.py ENGINE MODEL CLIP.wav`.

Engines: ct2-int8, ct2-float32 (MODEL is a folder of CTranslate2), cpp (MODEL is a file of ggml). Packages: faster-whisper 1.2.1,
ctranslate2 4.8.5, pywhispercpp 1.5.1. Set OMP_NUM_THREADS=1. The time is that of the process and not of the clock, so that other
programs on the machine count less.
"""

import resource
import sys
import wave

import numpy as np


def seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main(engine, model, clip):
    with wave.open(clip) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), np.int16).astype(np.float32) / 32768
    if engine == "cpp":
        from pywhispercpp.model import Model

        whisper = Model(model, n_threads=1, print_progress=False, print_realtime=False)
        run = lambda: "".join(segment.text for segment in whisper.transcribe(samples, language="en", temperature=0.0))
    else:
        from faster_whisper import WhisperModel

        whisper = WhisperModel(model, compute_type=engine.removeprefix("ct2-"), cpu_threads=1)
        run = lambda: "".join(segment.text for segment in whisper.transcribe(samples, language="en", beam_size=1)[0])
    run()
    for _ in range(3):
        start = seconds()
        text = run()
        print(f"{engine}\t{seconds() - start:.2f} s\t{text}")


main(*sys.argv[1:])
