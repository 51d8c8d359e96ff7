"""Writes files of sound."""

from __future__ import annotations

from causerie import causerie_ffi as ffi
from causerie._border import uncopyable
from causerie._sounds import as_rate, sample_bytes
from causerie.choices import SoundFormat, chosen
from causerie.message import AudioSource


@uncopyable("create a new one instead")
class SoundFileWriter:
    """Writes a file of sound while samples are generated, such as the samples of a reply.

        writer = SoundFileWriter("wav", 24_000)
        with open("dinner.wav", "wb") as file:
            for event in runner.speak("Dinner is ready."):
                if isinstance(event, AudioSample):
                    file.write(writer.push(event.samples))
            file.write(writer.finish())

    Raises `SdkError.UnsupportedContent` if no sound has the rate.
    """

    def __init__(self, format: SoundFormat | str = SoundFormat.WAV, sample_rate: int = 24_000) -> None:
        rate = max(0, min(as_rate(sample_rate), (1 << 32) - 1))
        self._ffi = ffi.SoundFileWriter(chosen(SoundFormat, "format", format), rate)

    def push(self, samples: AudioSource) -> bytes:
        """Adds samples of one channel, usually between -1 and 1: a numpy array, another buffer of floats, or a sequence.

        Returns the bytes of the file that are complete; none after `finish`.
        """
        return self._ffi.push(sample_bytes(samples))

    def finish(self) -> bytes:
        """Ends the file, and returns its last bytes."""
        return self._ffi.finish()
