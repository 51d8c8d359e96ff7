"""Speech for training and for the held-out cases, by espeak-ng. The program is only a tool here: nothing of it is shipped.

A speaker of the held-out set has a timbre, or an accent, and a rate that no speaker of training has.
"""

import ctypes
import io
import wave
from dataclasses import dataclass

import espeakng_loader
import numpy as np

RATE = 16_000  # samples per second that the model hears

ACCENTS = {False: "en en-us en-gb-scotland en-029 en-gb-x-gbclan en-gb-x-gbcwmd en-us-nyc".split(), True: ["en-gb-x-rp"]}
# Variants of espeak-ng that differ from the plain voice as one speaker from another. Whispers and robots are not among them.
TIMBRES = {
    False: ["", *(
        "m1 m2 m3 m4 m6 m7 m8 f1 f2 f3 f5 Alex Alicia Andrea Andy Annie Denis Diogo Gene Hugo Jacky Lee Marco Mario Michael adam anika antonio "
        "aunty belinda boris caleb david ed edward gustave ian iven john linda marcelo max michel miguel norbert pablo paul pedro quincy rob "
        "robert sandro shelby steph travis victor klatt klatt2 klatt4"
    ).split()],
    True: "m5 f4 Gene2 Mike benjamin steph2 zac edward2 klatt3 Henrique".split(),
}
RATES = {False: [*range(115, 145), *range(155, 185), *range(195, 225)], True: [*range(145, 155), *range(185, 195)]}  # words per minute

SYNCHRONOUS = 2  # of the modes of output
RATE_PARAMETER, PITCH_PARAMETER, RANGE_PARAMETER = 1, 3, 4
UTF_8 = 1
WORD, END_OF_LIST = 1, 0  # kinds of events


class Event(ctypes.Structure):
    _fields_ = [
        ("kind", ctypes.c_int), ("identifier", ctypes.c_uint), ("text_position", ctypes.c_int), ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int), ("sample", ctypes.c_int), ("user_data", ctypes.c_void_p), ("id", ctypes.c_char * 8),
    ]


CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(Event))


@dataclass
class Voice:
    name: str  # accent and timbre
    rate: int
    pitch: int
    range: int

    @classmethod
    def of(cls, speaker):
        """A voice from the speaker's part of the split."""
        held_out = speaker.held_out
        # A held-out voice has a held-out timbre, and sometimes a held-out accent as well.
        accent = speaker.pick(ACCENTS[held_out and speaker.chance(0.3)])
        timbre = speaker.pick(TIMBRES[held_out])
        return cls(accent + (f"+{timbre}" if timbre else ""), speaker.pick(RATES[held_out]), speaker.number(30, 70), speaker.number(30, 70))


class Synthesiser:
    """espeak-ng, of which a process can have one."""

    def __init__(self):
        self.library = ctypes.CDLL(espeakng_loader.get_library_path())
        self.rate = self.library.espeak_Initialize(SYNCHRONOUS, 0, espeakng_loader.get_data_path().encode(), 0)
        assert 0 < self.rate, "espeak-ng must find its data"
        self.callback = CALLBACK(self.take)
        self.library.espeak_SetSynthCallback(self.callback)
        self.resampler = Resampler(self.rate, RATE)

    def take(self, samples, count, events):
        if samples and count:
            self.samples.append(np.ctypeslib.as_array(samples, (count,)).copy())
        at = 0
        while events[at].kind != END_OF_LIST:
            if events[at].kind == WORD:
                self.words.append((events[at].text_position - 1, events[at].sample))
            at += 1
        return 0

    def speak(self, text, voice):
        """Samples of 16 bits at the rate of espeak-ng, and for words the place of the first letter in the text and the first sample."""
        self.samples, self.words = [], []
        result = self.library.espeak_SetVoiceByName(voice.name.encode())
        assert result == 0, f"espeak-ng must have the voice {voice.name}"
        for parameter, value in ((RATE_PARAMETER, voice.rate), (PITCH_PARAMETER, voice.pitch), (RANGE_PARAMETER, voice.range)):
            self.library.espeak_SetParameter(parameter, value, 0)
        written = text.encode() + b"\0"
        self.library.espeak_Synth(written, len(written), 0, 1, 0, UTF_8, None, None)
        return np.concatenate(self.samples), self.words

    def heard(self, text, voice):
        """Samples at the rate of the model, and for words the place of the first letter and the time in seconds."""
        samples, words = self.speak(text, voice)
        return self.resampler(samples), [(place, sample / self.rate) for place, sample in words]


class Resampler:
    """A windowed sinc, with the values of torchaudio's defaults."""

    def __init__(self, before, after):
        divisor = np.gcd(before, after)
        self.before, self.after = before // divisor, after // divisor
        base = 0.99 * min(self.before, self.after)
        self.width = int(np.ceil(6 * self.before / base))
        taps = np.arange(-self.width, self.width + self.before) / self.before
        times = np.clip((taps - np.arange(self.after)[:, None] / self.after) * base, -6, 6)
        self.kernel = (np.sinc(times) * np.cos(np.pi * times / 12) ** 2 * base / self.before).astype(np.float32)

    def __call__(self, samples):
        """The samples of 16 bits at the other rate."""
        steps = -(-len(samples) // self.before)
        padded = np.pad(samples.astype(np.float32), (self.width, self.width + self.before + steps * self.before - len(samples)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, self.kernel.shape[1])[:: self.before][:steps]
        found = (windows @ self.kernel.T).reshape(-1)[: -(-len(samples) * self.after // self.before)]
        return np.clip(np.rint(found), -32768, 32767).astype(np.int16)


def wav(samples, rate):
    """A WAV file of samples of 16 bits."""
    file = io.BytesIO()
    with wave.open(file, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(2)
        writer.setframerate(rate)
        writer.writeframes(samples.astype("<i2").tobytes())
    return file.getvalue()
