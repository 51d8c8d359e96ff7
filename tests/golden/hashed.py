"""Values that any language can compute again without a file: each is a hash of its tensor's name and its index."""

import numpy as np


def fnv1a64(text):
    hashed = 0xCBF29CE484222325
    for byte in text.encode():
        hashed = ((hashed ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return hashed


def uniform(name, n):
    """Returns values from 0 to 1: SplitMix64 of the name's hash and the index."""
    with np.errstate(over="ignore"):
        z = np.uint64(fnv1a64(name)) + np.arange(n, dtype=np.uint64) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(40)).astype(np.float64) / 16777216.0


def values(name, shape, scale=0.1, mean=0.0):
    return (mean + scale * (2 * uniform(name, int(np.prod(shape))) - 1)).astype(np.float32).reshape(shape)
