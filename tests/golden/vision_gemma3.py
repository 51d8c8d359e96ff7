"""A tiny Gemma 3 with its vision part: its files, and what transformers makes of pictures, as vision.py does for LFM2-VL."""

import numpy as np
import torch
from gguf import GGMLQuantizationType as Type
from transformers import Gemma3ForConditionalGeneration, Gemma3ImageProcessor

import family_files
import picture_models as models
from vision import conversations, picture
from vocabulary import SIZE, tokenizer_of

MARKS = ["<start_of_turn>", "<end_of_turn>", "<start_of_image>", "<image_soft_token>", "<end_of_image>"]
TURN, END, START, SOFT, AFTER = (SIZE + at for at in range(len(MARKS)))
# An image has more rows than a chunk of a prompt, and many more than the window of the decoder.
N_ROWS, SIDE = 144, 336
VISION = {
    "model_type": "siglip_vision_model", "hidden_size": 96, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "image_size": SIDE, "patch_size": 14, "num_channels": 3, "layer_norm_eps": 1e-6, "hidden_act": "gelu_pytorch_tanh",
    "vision_use_head": False,
}
SETTINGS = {
    "do_convert_rgb": None, "do_normalize": True, "do_pan_and_scan": None, "do_rescale": True, "do_resize": True, "image_mean": [0.5] * 3,
    "image_std": [0.5] * 3, "resample": 2, "size": {"height": SIDE, "width": SIDE},
}
PIXELS = [(896, 896), (100, 100), (640, 480), (144, 1024), (17, 23), (1200, 600), (33, 1000)]
OUTSIDE = {
    "vision_tower.embeddings.patch_embedding.weight": "v.patch_embd.weight",
    "vision_tower.embeddings.patch_embedding.bias": "v.patch_embd.bias",
    "vision_tower.embeddings.position_embedding.weight": "v.position_embd.weight",
    "vision_tower.post_layernorm.weight": "v.post_ln.weight", "vision_tower.post_layernorm.bias": "v.post_ln.bias",
    "multi_modal_projector.mm_input_projection_weight": "mm.input_projection.weight",
    "multi_modal_projector.mm_soft_emb_norm.weight": "mm.soft_emb_norm.weight",
}
IN_BLOCK = {
    "layer_norm1": "ln1", "layer_norm2": "ln2", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.out_proj": "attn_out", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down",
}
METADATA = {
    "clip.has_vision_encoder": True, "clip.projector_type": "gemma3", "clip.use_gelu": True, "clip.vision.image_size": SIDE,
    "clip.vision.patch_size": 14, "clip.vision.embedding_length": VISION["hidden_size"],
    "clip.vision.feed_forward_length": VISION["intermediate_size"], "clip.vision.block_count": VISION["num_hidden_layers"],
    "clip.vision.attention.head_count": VISION["num_attention_heads"], "clip.vision.attention.layer_norm_epsilon": 1e-6,
    "clip.vision.projection_dim": family_files.HIDDEN, "clip.vision.projector.scale_factor": 2, "clip.vision.image_mean": [0.5] * 3,
    "clip.vision.image_std": [0.5] * 3,
}
SEED = 5


def config_of(family):
    return {
        "model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"], "image_token_index": SOFT, "boi_token_index": START,
        "eoi_token_index": AFTER, "mm_tokens_per_image": N_ROWS, "tie_word_embeddings": True, "text_config": family.config,
        "vision_config": VISION,
    }


def is_vision(name):
    return "vision_tower." in name or "multi_modal_projector." in name


def own(name):
    return name.removeprefix("model.").replace("vision_tower.vision_model.", "vision_tower.")


def random_weights(family):
    shapes = models.shapes_of(Gemma3ForConditionalGeneration, config_of(family))
    prefixes = ("language_model.model.", "model.language_model.", "language_model.")
    text, names = {}, {}
    for name, shape in shapes.items():
        if not is_vision(name):
            prefix = next(prefix for prefix in prefixes if name.startswith(prefix))
            names[name] = "model." + name.removeprefix(prefix)
            text[names[name]] = shape
    weights = family_files.random_weights(family, text)
    models.quieted(weights["model.embed_tokens.weight"])
    tower = models.random_tower({name: shape for name, shape in shapes.items() if is_vision(name)}, SEED)
    return weights, tower, {ours: theirs for theirs, ours in names.items()}


def mmproj_name(name):
    if own(name) in OUTSIDE:
        return OUTSIDE[own(name)]
    _, _, _, layer, rest = own(name).split(".", 4)
    stem, kind = rest.rsplit(".", 1)
    return f"v.blk.{layer}.{IN_BLOCK[stem]}.{kind}"


def to_mmproj(tower):
    return {mmproj_name(name): values + 1 if "soft_emb_norm" in name else values for name, values in tower.items()}


def from_mmproj(tensors, tower):
    read = {name: np.ascontiguousarray(tensors[mmproj_name(name)].reshape(values.shape)) for name, values in tower.items()}
    return {name: values - 1 if "soft_emb_norm" in name else values for name, values in read.items()}


def pixel_record(processor, width, height):
    pixels = processor(picture(width, height), return_tensors="pt")["pixel_values"][0].permute(1, 2, 0)
    return models.pixel_record(((pixels * 0.5 + 0.5) * 255).round().to(torch.int64), width, height)


@torch.no_grad()
def reply_record(name, model, tokenizer, processor, messages):
    shown = [part["image"] for message in messages for part in message["content"] if part["type"] == "image"]
    pixels = processor(shown, return_tensors="pt")["pixel_values"]
    text = "<|startoftext|>"
    for message in messages:
        text += f"<start_of_turn>{'model' if message['role'] == 'assistant' else message['role']}\n"
        for part in message["content"]:
            text += part["text"].strip() if part["type"] == "text" else f"\n\n{MARKS[2]}{N_ROWS * MARKS[3]}{MARKS[4]}\n\n"
        text += "<end_of_turn>\n"
    ids = tokenizer.encode(text + "<start_of_turn>model\n", add_special_tokens=False).ids
    features = model.get_image_features(pixels, return_dict=True).pooler_output
    features = torch.cat(list(features))

    def logits_of(ids):
        kinds = torch.tensor([[int(token == SOFT) for token in ids]])
        return model(input_ids=torch.tensor([ids]), pixel_values=pixels, token_type_ids=kinds, use_cache=False).logits[0, -1]

    is_resized = any(image.size != (SIDE, SIDE) for image in shown)
    return models.reply_record(name, messages, ids, features, logits_of, is_resized)


def write_vision(vocabulary, fixtures, golden):
    folder, vocabulary = fixtures / "models", models.vocabulary_with(vocabulary, MARKS)
    template = (golden / "gemma3_vl.jinja").read_text()
    family = models.family_of("gemma3", vocabulary)
    text, tower, names = random_weights(family)
    whole = lambda read: {names[name]: values for name, values in text.items()} | read
    # The names of published folders.
    published = {
        **{name.replace("model.", "language_model.model.", 1): values for name, values in text.items()},
        **{own(name).replace("vision_tower.", "vision_tower.vision_model."): values for name, values in tower.items()},
    }
    tensors = {name: values.astype(np.float16) for name, values in published.items()}
    processor_file = ("preprocessor_config.json", SETTINGS | {"image_processor_type": "Gemma3ImageProcessor"})
    models.write_folder(folder / "gemma3vl-hf", vocabulary, template, config_of(family), processor_file, tensors)
    beside = folder / "gemma3vl"
    beside.mkdir(exist_ok=True)
    family_files.write_gguf(beside / "gemma3vl-f16.gguf", family, models.add_vocabulary_of(vocabulary, template), text, Type.F16)
    settings = {key: value for key, value in SETTINGS.items() if value is not None}
    tokenizer, processor, records = tokenizer_of(vocabulary), Gemma3ImageProcessor(**settings), []
    for name, quantisation in [("gemma3vl-hf", None), ("mmproj-gemma3vl-f16.gguf", Type.F16), ("mmproj-gemma3vl-q8_0.gguf", Type.Q8_0)]:
        read = tower
        if quantisation:
            models.write_mmproj(beside / name, METADATA, to_mmproj(tower), quantisation)
            read = from_mmproj(models.read_mmproj(beside / name), tower)
        model = models.loaded(Gemma3ForConditionalGeneration, config_of(family), whole(read))
        for messages in conversations((SIDE, SIDE), (150, 110), (45, 530)):
            records.append(reply_record(name, model, tokenizer, processor, messages))
    usual = Gemma3ImageProcessor(**settings | {"size": {"height": 896, "width": 896}})
    models.write_sections(golden / "vision_gemma3.json", {
        "pixels": [pixel_record(usual, *size) for size in PIXELS],
        "conversations": records,
    })
