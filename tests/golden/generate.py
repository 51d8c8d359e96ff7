"""Writes every golden file and tiny model; `scripts/golden` calls it."""

import os
import pathlib
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "error"

import torch
import transformers

import bundles
import constructs
import decoders
import filters
import models
import picture_files
import printable
import prompts
import representation
import schemes
import sound
import template_inputs
import tensor_types
import tokens
import vision
import vision_gemma3
import vision_lfm3
import vision_qwen35
import vocabulary
import whisper

GOLDEN = pathlib.Path(__file__).resolve().parent
FIXTURES = GOLDEN.parent / "fixtures"


def main():
    torch.set_num_threads(1)
    transformers.logging.disable_progress_bar()
    (GOLDEN / "logits").mkdir(exist_ok=True)
    models.write_models(FIXTURES, GOLDEN)
    bundles.write_bundles(FIXTURES)
    tensor_types.write_tensor_types(GOLDEN)
    tokens.write_tokens(GOLDEN)
    schemes.write_schemes(FIXTURES, GOLDEN)
    decoders.write_decoders(FIXTURES, GOLDEN)
    prompts.write_prompts(FIXTURES, GOLDEN, GOLDEN.parent.parent)
    vision.write_vision(vocabulary.train(), FIXTURES, GOLDEN)
    vision_lfm3.write_vision(vocabulary.train(), FIXTURES, GOLDEN)
    vision_qwen35.write_vision(vocabulary.train(), FIXTURES, GOLDEN)
    vision_gemma3.write_vision(vocabulary.train(), FIXTURES, GOLDEN)
    picture_files.write_picture_files(GOLDEN)
    sound.write_sound(GOLDEN)
    whisper.write(FIXTURES / "models", GOLDEN)
    filters.write_filters(GOLDEN)
    representation.write_representations(GOLDEN)
    printable.write_printable(GOLDEN)
    constructs.write_constructs(GOLDEN)
    template_inputs.write_template_inputs(FIXTURES, GOLDEN)


sys.exit(main())
