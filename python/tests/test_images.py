"""Images from everything that apps have images in, on a small vision model with random weights."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy
import pytest
from PIL import Image as PilImage
from support import FIXTURES, runner

import causerie
from causerie import ChatMessage, Image, ModelInfo, ModelRunner, Processor, SdkError, Text, apply_chat_template, generate, load

FOLDER = FIXTURES / "models/lfm2vl-hf"
GGUF = FIXTURES / "models/lfm2vl/lfm2vl-f16.gguf"


@pytest.fixture(scope="module")
def vision() -> ModelRunner:
    return ModelRunner.load(FOLDER)


def pixels(*shape: int) -> Any:
    return (numpy.arange(numpy.prod(shape)) * 7 % 251).astype(numpy.uint8).reshape(shape)


def decoded(image: Image) -> Any:
    return numpy.asarray(PilImage.open(io.BytesIO(image.data)))


def reply(model: ModelRunner, *content: Text | Image, role: str = "user") -> tuple[str, int]:
    """Returns the reply to a message, and the number of tokens in its prompt."""
    history = [ChatMessage("user", "Look."), ChatMessage("assistant", "Yes?")] if role == "tool" else []
    conversation = model.create_conversation_from_history([*history, ChatMessage(role, content)])
    events = list(conversation.continue_response(temperature=0.0, max_tokens=4))
    assert isinstance(events[-1], causerie.Complete)
    return events[-1].full_message.text, events[-1].stats.prompt_tokens


def test_progress_counts_the_images_and_tokens_of_a_prompt(vision: ModelRunner) -> None:
    conversation = vision.create_conversation()
    assert conversation.prefill_progress == causerie.PrefillProgress(0, 0, 0, 0)
    message = ChatMessage("user", [Image(pixels(30, 40, 3)), Text("or"), Image(pixels(40, 30, 3))])
    reply = conversation.respond(message, max_tokens=1)
    n_tokens = reply.stats.prompt_tokens
    assert conversation.prefill_progress == causerie.PrefillProgress(n_tokens, n_tokens, 2, 2)
    assert conversation.fork().prefill_progress.total_tokens == 0


@pytest.mark.parametrize("shape", [(8, 6), (8, 6, 1), (8, 6, 2), (8, 6, 3), (8, 6, 4)])
def test_an_array_of_pixels_is_an_image_without_loss(shape: tuple[int, ...]) -> None:
    array = pixels(*shape)
    assert (decoded(Image(array)) == array.reshape(shape[:2] if shape[2:] == (1,) else shape)).all()


def test_an_array_may_be_a_view_of_another() -> None:
    array = pixels(20, 30, 3)[::2, ::-3]
    assert (decoded(Image(array)) == array).all()


@pytest.mark.parametrize(
    ("array", "found"),
    [
        (pixels(8, 6, 3) / 255, "uint8, found float64"),
        (pixels(8, 6, 3).astype(numpy.float16), "uint8, found float16"),
        (pixels(8, 6).astype(numpy.uint16), "uint8, found uint16"),
        (pixels(8, 6) < 9, "uint8, found bool"),
        (pixels(8).astype(numpy.float32), "uint8, found float32"),
        (pixels(3, 8, 6), r"the shape .*, found \(3, 8, 6\)"),
        (pixels(1, 8, 6, 3), r"the shape .*, found \(1, 8, 6, 3\)"),
        (pixels(8, 0, 3), r"the shape .*, found \(8, 0, 3\)"),
    ],
)
def test_pixels_of_another_type_or_shape_are_refused(array: Any, found: str) -> None:
    with pytest.raises(SdkError.UnsupportedContent, match=found):
        Image(array)


@pytest.mark.parametrize("value", [None, 3, [[1, 2]], numpy.array(["x"], dtype=object), Text("photo.png")])
def test_what_is_no_image_is_refused_by_its_type(value: Any) -> None:
    with pytest.raises((TypeError, SdkError.UnsupportedContent), match=type(value).__name__ + "|object"):
        Image(value)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "F", "HSV"])
def test_an_image_of_pil_is_shown_in_rgb(mode: str) -> None:
    image = PilImage.fromarray(pixels(8, 6, 3)).convert(mode)
    assert (decoded(Image(image)) == numpy.asarray(image.convert("RGB"))).all()


def test_an_image_of_pil_keeps_its_sixteen_bits() -> None:
    array = pixels(8, 6).astype(numpy.uint16) * 257
    assert (decoded(Image(PilImage.fromarray(array))) == array).all()


def test_an_image_of_pil_without_pixels_is_refused() -> None:
    with pytest.raises(SdkError.UnsupportedContent, match="must have pixels, found 0 x 5"):
        Image(PilImage.new("RGB", (0, 5)))


def test_an_image_of_pil_is_upright() -> None:
    image = PilImage.fromarray(pixels(8, 6, 3))
    exif = image.getexif()
    exif[0x0112] = 6  # the camera was turned to the left
    file = io.BytesIO()
    image.save(file, "PNG", exif=exif)
    turned = PilImage.open(io.BytesIO(file.getvalue()))
    assert (decoded(Image(turned)) == numpy.rot90(pixels(8, 6, 3), -1)).all()


def test_every_source_of_an_image_gives_the_same_reply(vision: ModelRunner, tmp_path: Path) -> None:
    array = pixels(40, 60, 3)
    path = tmp_path / "picture.png"
    PilImage.fromarray(array).save(path)
    data = path.read_bytes()
    question = Text("What is this?")
    expected = reply(vision, Image(data), question)
    assert expected[1] > reply(vision, question)[1]
    files = (path, str(path), bytearray(data), memoryview(data), numpy.frombuffer(data, numpy.uint8))
    for source in (*files, PilImage.open(path), array):
        assert reply(vision, Image(source), question) == expected, type(source)
    # Other pixels are another image.
    assert Image(array).data != Image(255 - array).data


def test_tools_return_images(vision: ModelRunner) -> None:
    image = Image(pixels(40, 60, 3))
    assert reply(vision, image, role="tool")[1] > reply(vision, Text(""), role="tool")[1] + 3


def test_the_library_calls_show_images(vision: ModelRunner, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "picture.png"
    path.write_bytes(Image(pixels(40, 60, 3)).data)
    model, processor = load(str(FOLDER))
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is this?"}]}]
    prompt = apply_chat_template(processor, messages)
    assert prompt == processor.apply_chat_template(messages, tokenizer=False, add_generation_prompt=True)
    assert prompt.count("<image>") == 1
    expected, _ = reply(model, Image(path), Text("What is this?"))
    options: dict[str, Any] = {"max_tokens": 4, "temperature": 0.0}
    image = PilImage.open(path)
    assert generate(model, processor, image, prompt, verbose=False, **options) == expected
    assert generate(model, processor, [str(path)], prompt, **options) == expected
    assert generate(model, processor, prompt, image=path.read_bytes(), **options) == expected
    assert capsys.readouterr().out == ""
    assert generate(model, processor, image, prompt=prompt, verbose=True, **options) == expected
    assert capsys.readouterr().out.startswith(expected)
    # Two images, with text between them.
    parts = [{"type": "image"}, {"type": "text", "text": "and"}, {"type": "image"}]
    two = apply_chat_template(processor, [{"role": "user", "content": parts}])
    other = pixels(30, 30, 4)
    shown, _ = reply(model, Image(path), Text("and"), Image(other))
    assert generate(model, processor, [image, other], two, **options) == shown
    events = list(model.complete_with_images(two, [path, Image(other)], options=None, **options))
    completion = events[-1]
    assert isinstance(completion, causerie.Complete)
    assert completion.full_message.text == shown


def test_a_processor_returns_text_by_default_as_those_of_transformers_do() -> None:
    model, processor = load(str(FOLDER))
    assert isinstance(processor, Processor)
    messages = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is this?"}]}]
    prompt = processor.apply_chat_template(messages, add_generation_prompt=True)
    assert isinstance(prompt, str)
    assert prompt == processor.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert generate(model, processor, pixels(8, 8), prompt, max_tokens=1) is not None
    ids = processor.apply_chat_template(messages, tokenize=True, add_generation_prompt=True)
    assert ids == processor.tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    assert ids == processor.apply_chat_template(messages, tokenizer=True, add_generation_prompt=True)
    assert ids and isinstance(ids[0], int)
    with pytest.raises(SdkError.InvalidMessage, match="tokenize=False"):
        generate(model, processor, pixels(8, 8), ids)


def test_a_text_model_has_no_processor() -> None:
    _, tokenizer = load(str(FIXTURES / "models/lfm2-q4_0.gguf"))
    assert not isinstance(tokenizer, Processor)
    assert isinstance(tokenizer.apply_chat_template([{"role": "user", "content": "Hi"}])[0], int)


def test_the_library_calls_refuse_images_that_do_not_fit_the_prompt(vision: ModelRunner) -> None:
    processor = causerie.Tokenizer(vision)
    image = pixels(8, 8)
    with pytest.raises(SdkError.InvalidMessage, match="a marker for each of 1 images, found 0"):
        generate(vision, processor, image, "What is this?")
    with pytest.raises(SdkError.InvalidMessage, match="a marker for each of 2 images, found 1"):
        generate(vision, processor, [image, image], "<image>")
    with pytest.raises(SdkError.InvalidMessage, match="must be text, found token ids"):
        generate(vision, processor, image, [1, 2, 3])
    with pytest.raises(SdkError.UnsupportedContent, match="must be a JPEG"):
        generate(vision, processor, b"GIF", "<image>")
    with pytest.raises(FileNotFoundError):
        generate(vision, processor, "no/such/picture.png", "<image>")


def test_a_placeholder_shows_nothing_in_a_conversation(vision: ModelRunner) -> None:
    conversation = vision.create_conversation("Be brief.")
    message = {"role": "user", "content": [{"type": "text", "text": "See"}, {"type": "image"}]}
    with pytest.raises(SdkError.UnsupportedContent, match=r"messages\[1\]\.content\[1\]: the image has no data"):
        list(conversation.generate_response(message))
    assert ChatMessage.from_dict(message).to_dict() == message
    assert [message.role for message in conversation.history] == ["system"]


def test_a_text_model_says_where_the_image_is() -> None:
    model = runner(["a"])
    with pytest.raises(SdkError.UnsupportedContent, match=r"messages\[0\]\.content\[1\]: the model supports text only"):
        list(model.create_conversation().generate_response(ChatMessage("user", [Text("See"), Image(pixels(8, 8))])))
    with pytest.raises(SdkError.UnsupportedContent, match="the model supports text only"):
        generate(model, causerie.Tokenizer(model), pixels(8, 8), "<image>")


def test_the_projector_is_found_or_given(tmp_path: Path) -> None:
    projector = FIXTURES / "models/lfm2vl/mmproj-lfm2vl-q8_0.gguf"
    alone = tmp_path / "model.gguf"
    alone.write_bytes(GGUF.read_bytes())
    info = ModelInfo.read(alone)
    assert (info.supports_images, info.vision_memory) == (False, 0)
    image, question = Image(pixels(8, 8)), Text("What is this?")
    with ModelRunner.load(alone) as blind:
        missing = r"messages\[0\]\.content\[0\]: images require the model's projector file: .*\*mmproj\*"
        with pytest.raises(SdkError.UnsupportedContent, match=missing):
            reply(blind, image, question)
    with ModelRunner.load(alone, projector=projector) as given:
        assert given.info.supports_images
        assert 0 < given.info.vision_memory < given.info.memory_estimate
        expected = reply(given, image, question)
    (tmp_path / "mmproj-model.gguf").write_bytes(projector.read_bytes())
    assert ModelInfo.read(alone).supports_images
    with ModelRunner.load(alone) as beside:
        assert reply(beside, image, question) == expected
    with pytest.raises(SdkError.ModelLoad, match=r"missing\.gguf"):
        ModelRunner.load(alone, projector=str(tmp_path / "missing.gguf"))
    with pytest.raises(SdkError.InvalidOption, match="projector must be"):
        ModelRunner.load(alone, projector=3)  # type: ignore[arg-type]
