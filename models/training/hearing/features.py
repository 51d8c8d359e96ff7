"""The features that LFM2-Audio hears: log-mel spectra of 25 ms of sound, every 10 ms, normalised over the recording."""

import math

import torch
import torch.nn.functional as F

RATE, HOP, WINDOW, TRANSFORM, BINS = 16_000, 160, 400, 512, 128
PREEMPHASIS, ADDED, SMALLEST_DEVIATION = 0.97, 2**-24, 1e-5


def hertz(mel):
    """Slaney's scale: linear up to 1000 Hz, then logarithmic."""
    return mel * 200 / 3 if mel < 15 else 1000 * math.exp((mel - 15) * math.log(6.4) / 27)


def filters():
    """Triangles of equal area, (frequencies, bins)."""
    highest = 15 + math.log(RATE / 2 / 1000) * 27 / math.log(6.4)
    corners = torch.tensor([hertz(highest * index / (BINS + 1)) for index in range(BINS + 2)], dtype=torch.float64)
    low, centre, high = corners[:-2], corners[1:-1], corners[2:]
    frequency = torch.arange(TRANSFORM // 2 + 1, dtype=torch.float64)[:, None] * RATE / TRANSFORM
    rise, fall = (frequency - low) / (centre - low), (high - frequency) / (high - centre)
    return (torch.minimum(rise, fall).clamp_min(0) * 2 / (high - low)).float()


FILTERS = filters()
TAPER = 0.5 - 0.5 * torch.cos(2 * torch.pi * torch.arange(WINDOW, dtype=torch.float64) / (WINDOW - 1)).float()


def features(samples):
    """Features of recordings of the same length, (recordings, samples) to (recordings, frames, bins). The last frame is zeros."""
    emphasised = samples - PREEMPHASIS * F.pad(samples, (1, 0))[:, :-1]
    count = samples.shape[1] // HOP
    frames = F.pad(emphasised, (WINDOW // 2, WINDOW // 2)).unfold(1, WINDOW, HOP)[:, :count]
    power = torch.fft.rfft(frames * TAPER, TRANSFORM).abs().square()
    logarithm = (power @ FILTERS + ADDED).log()
    mean, deviation = logarithm.mean(1, keepdim=True), logarithm.std(1, keepdim=True)
    return F.pad((logarithm - mean) / (deviation + SMALLEST_DEVIATION), (0, 0, 0, 1))
