"""The pictures of the golden files."""

import numpy as np


def pixels(width, height, seed=0):
    """Returns a picture whose pixels are a formula, (height, width, 3): a gradient with fine and coarse patterns in it."""
    x, y, c = np.meshgrid(np.arange(width), np.arange(height), np.arange(3), indexing="xy")
    fine = (x * (3 + c) + y * (5 - c) + x * y // 16 + 37 * seed) % 256
    coarse = ((x // 24 + y // 40 + c + seed) % 3) * 80
    return ((fine + 3 * coarse + (x + y) // 8 % 64) // 4 % 256).astype(np.uint8)
