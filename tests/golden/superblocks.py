"""Random K-quant super-blocks of 256 weights. gguf-py can read these types but not write them, so their bits are random.

Scales and minima are chosen so that the weights have a mean of about 0 and the requested standard deviation.
"""

import numpy as np
from gguf import GGMLQuantizationType as Type


def f16(values):
    return values.astype("<f2")[:, None].view(np.uint8)


def packed(scales, minima):
    """Packs eight 6-bit scales and eight 6-bit minima into 12 bytes."""
    low, high = scales[:, :4], scales[:, 4:]
    low_min, high_min = minima[:, :4], minima[:, 4:]
    return np.concatenate([low | high >> 4 << 6, low_min | high_min >> 4 << 6, high & 15 | (high_min & 15) << 4], axis=1)


def random_blocks(random, rows, columns, quantisation, deviation):
    """Returns raw bytes with one row per row of the matrix."""
    n = rows * columns // 256

    def noise(bytes):
        return random.integers(0, 256, (n, bytes), dtype=np.uint8)

    spread = np.float32(deviation) * random.uniform(0.7, 1.3, n).astype(np.float32)
    if quantisation == Type.Q6_K:
        scales = random.integers(40, 128, (n, 16)).astype(np.int8) * random.choice(np.array([-1, 1], np.int8), (n, 16))
        # 18.5: the standard deviation of 0..63, uniform; 87: that of the scales
        blocks = [noise(128), noise(64), scales.view(np.uint8), f16(spread / (18.5 * 87))]
    elif quantisation == Type.Q2_K:
        scales = random.integers(5, 15, (n, 16)).astype(np.uint8)
        minima = (scales + random.integers(-1, 2, (n, 16))).astype(np.uint8)
        step = spread / (1.12 * 10)  # 1.12: the standard deviation of 0..3; 10: the mean of the scales
        blocks = [scales | minima << 4, noise(64), f16(step), f16(step * 1.5)]
    elif quantisation == Type.Q3_K:
        # 2.3: the standard deviation of -4..3; 18.5: that of the scales, -32..31
        blocks = [noise(32), noise(64), noise(12), f16(spread / (2.3 * 18.5))]
    else:
        levels = {Type.Q4_K: 16, Type.Q5_K: 32}[quantisation]
        scales = random.integers(20, 62, (n, 8)).astype(np.uint8)
        minima = (scales + random.integers(-2, 3, (n, 8))).astype(np.uint8)
        step = spread / (levels / 12**0.5 * 42)
        high_bits = [noise(32)] if levels == 32 else []
        blocks = [f16(step), f16(step * (levels - 1) / 2), packed(scales, minima), *high_bits, noise(128)]
    return np.concatenate(blocks, axis=1).reshape(rows, -1)
