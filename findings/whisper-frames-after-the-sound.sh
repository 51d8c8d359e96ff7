#!/usr/bin/env bash
# A window of Whisper has 30 seconds, and what fills it after the end of the sound differs between implementations, although all call it
# padding. transformers pads the samples with zeros before it computes features, so the frames after the sound have the value of silence,
# which depends on the loudest frame of the sound: -0.4 for a tone at full level, -1.4 for one at a hundredth. faster-whisper pads the features, so these frames are 0.0, which is
# louder than silence. The same weights write other words: of a clip of ten seconds, "Never" with one and "Ever" with the other.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" --quiet --disable-pip-version-check install transformers==5.24.0 faster-whisper==1.2.1 numpy
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from faster_whisper.audio import pad_or_trim
from faster_whisper.feature_extractor import FeatureExtractor
from transformers import WhisperFeatureExtractor

RATE, LAST_FRAME = 16_000, 2_900
for level in (1.0, 0.01):
    tone = (level * np.sin(2 * np.pi * 440 * np.arange(2 * RATE) / RATE)).astype(np.float32)
    theirs = WhisperFeatureExtractor(feature_size=80)(tone, sampling_rate=RATE, return_tensors="np").input_features[0]
    ours = pad_or_trim(FeatureExtractor()(tone))
    print(f"two seconds at level {level}: frame {LAST_FRAME} is {theirs[0, LAST_FRAME]:.3f} in transformers 5.24.0 "
          f"and {ours[0, LAST_FRAME]:.3f} in faster-whisper 1.2.1")
    assert theirs.shape == ours.shape == (80, 3000)
    assert np.all(ours[:, LAST_FRAME] == 0.0) and np.all(theirs[:, LAST_FRAME] < -0.2)
PYTHON
