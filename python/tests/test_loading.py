"""Loading: models that are found or refused, options, and progress."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import FIXTURES, REPOSITORY

import causerie
from causerie import Chunk, LoadOptions, LoadPhase, ModelInfo, ModelRunner, SdkError, WeightMemory, load


def test_the_demo_model_is_part_of_the_package() -> None:
    model, tokenizer = load("causerie/demo")
    assert tokenizer.model_runner is model
    assert model.info.name == "causerie-demo" and model.supports_function_calling
    assert model.context_size <= model.info.context_size
    assert "lfm2" in repr(model)
    assert model.info.supports_images and model.info.supports_audio
    for name in ("demo.gguf", "demo-mmproj.gguf"):
        packaged = Path(causerie.__file__).with_name(name)
        assert packaged.read_bytes() == (REPOSITORY / "models" / name).read_bytes()


def test_information_about_a_model_is_read_without_loading_it() -> None:
    info = ModelInfo.read("causerie/demo")
    assert info == ModelRunner.load("causerie/demo").info and not info.problems
    assert ModelInfo.read("causerie/demo", 64).memory_estimate < info.memory_estimate
    with pytest.raises(SdkError.ModelNotFound):
        ModelInfo.read("no/such.gguf")
    with pytest.raises(SdkError.InvalidOption):
        ModelInfo.read("causerie/demo", -1)


def test_a_folder_is_loaded_by_its_path() -> None:
    assert ModelRunner.load(FIXTURES / "models/lfm2-hf").info.architecture == "lfm2"


def test_a_bundle_is_loaded_like_the_file_in_it() -> None:
    bundle, file = FIXTURES / "bundles/lfm2.bundle", FIXTURES / "models/lfm2-q4_0.gguf"
    assert ModelRunner.load(bundle).info == ModelRunner.load(file).info == ModelInfo.read(bundle)


@pytest.mark.parametrize("place", ["no/such.gguf", "", "nobody/nothing", "a\0b"])
def test_a_missing_model_is_an_error(place: str) -> None:
    with pytest.raises((SdkError.ModelNotFound, SdkError.ModelLoad)):
        load(place)


@pytest.mark.parametrize("content", [b"", b"GGUF", b"nonsense" * 100, b"GGUF" + b"\xff" * 100])
def test_a_damaged_file_is_an_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(content)
    with pytest.raises(SdkError.ModelLoad):
        load(tmp_path / "model.gguf")


def test_a_vision_model_is_refused_by_name(tmp_path: Path) -> None:
    config = '{"model_type": "lfm2_vl", "architectures": ["Lfm2VlForConditionalGeneration"]}'
    (tmp_path / "config.json").write_text(config)
    (tmp_path / "model.safetensors").write_bytes((FIXTURES / "models/lfm2-hf/model.safetensors").read_bytes())
    with pytest.raises(SdkError.ModelLoad, match="lfm2[_-]vl"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"context_size": 0}, "context_size"),
        ({"context_size": "big"}, "context_size"),
        ({"contextsize": 8}, "contextsize"),
        ({"generation_defaults": {"temperature": -1}}, "temperature"),
        ({"generation_defaults": 1}, "generation_defaults"),
        ({"cache_bytes": -1}, "cache_bytes"),
        ({"device": "abacus"}, "device"),
        ({"threads": 0}, "threads"),
        ({"cache_type": "f8"}, "cache_type"),
        ({"packed_bytes": -1}, "packed_bytes"),
        ({"weight_memory": "paper"}, "weight_memory"),
        ({"gpu_bytes": -1}, "gpu_bytes"),
    ],
)
def test_invalid_options_are_refused(options: Any, name: str) -> None:
    with pytest.raises(SdkError.InvalidOption) as caught:
        load("causerie/demo", **options)
    assert caught.value.option == name


def test_options_are_given_as_an_object_or_as_keywords() -> None:
    assert ModelRunner.load("causerie/demo", context_size=512).context_size == 512
    assert ModelRunner.load("causerie/demo", LoadOptions(context_size=512)).context_size == 512


def test_a_gpu_that_does_not_exist_is_refused_or_replaced_by_the_cpu() -> None:
    with pytest.raises(SdkError.InvalidOption) as caught:
        load("causerie/demo", device="gpu", gpu_name="no such GPU")
    assert caught.value.option == "device"
    runner = ModelRunner.load("causerie/demo", device="auto", gpu_name="no such GPU", gpu_bytes=1 << 40)
    # Builds without GPUs have nothing to note: they always take the CPU.
    assert (runner.device_note is None) == ("this build does not have" in str(caught.value))
    assert runner.info.gpu is None and runner.info.gpu_differences == []
    assert list(runner.complete("Hello", max_tokens=1))


@pytest.mark.parametrize("cache_type", ["f16", "f32", "q8_0"])
def test_threads_and_the_cache_type_can_be_chosen(cache_type: str) -> None:
    runner = ModelRunner.load("causerie/demo", threads=1, cache_type=cache_type)
    assert list(runner.complete("Hello", max_tokens=1))


@pytest.mark.parametrize("weight_memory", WeightMemory)
def test_packed_weights_are_written_once_and_give_the_same_reply(weight_memory: WeightMemory, tmp_path: Path) -> None:
    def reply(**options: Any) -> list[Any]:
        runner = ModelRunner.load(FIXTURES / "models/lfm2-q4_0.gguf", **options)
        return [event.text for event in runner.complete("Hello", max_tokens=4, temperature=0) if isinstance(event, Chunk)]

    plain = reply()
    assert reply(packed_folder=tmp_path, weight_memory=weight_memory) == plain
    [packed] = tmp_path.glob("*.packed")
    written = packed.stat().st_mtime_ns
    assert reply(packed_folder=tmp_path, weight_memory=weight_memory.value) == plain
    assert packed.stat().st_mtime_ns == written


def test_phases_are_reported_as_they_begin(tmp_path: Path) -> None:
    def phases(**options: Any) -> list[LoadPhase]:
        reported: list[LoadPhase] = []
        ModelRunner.load(FIXTURES / "models/lfm2-q4_0.gguf", on_phase=reported.append, **options)
        return reported

    assert phases() == [LoadPhase.READING, LoadPhase.READY]
    mapped = {"packed_folder": tmp_path, "weight_memory": WeightMemory.MAPPED}
    assert phases(**mapped) == [LoadPhase.PACKING, LoadPhase.MAPPING, LoadPhase.READY]
    assert phases(**mapped) == [LoadPhase.MAPPING, LoadPhase.READY]
    assert phases(packed_folder=tmp_path, weight_memory="copied") == [LoadPhase.READING, LoadPhase.READY]

    def refuse(phase: LoadPhase) -> None:
        raise LookupError(phase.value)

    with pytest.raises(LookupError, match="reading"):
        ModelRunner.load("causerie/demo", on_phase=refuse)


def test_progress_is_reported() -> None:
    reported: list[float] = []
    load("causerie/demo", progress=reported.append)
    assert reported == sorted(reported) and reported[0] == 0 and reported[-1] == 1


def test_progress_may_cancel() -> None:
    reported: list[float] = []

    def watch(fraction: float) -> bool:
        reported.append(fraction)
        return len(reported) < 2

    with pytest.raises(SdkError.LoadCancelled):
        load("causerie/demo", progress=watch)
    assert len(reported) == 2


def test_exceptions_of_progress_are_raised_from_load() -> None:
    def watch(fraction: float) -> None:
        raise LookupError(f"at {fraction}")

    with pytest.raises(LookupError, match="at 0"):
        load("causerie/demo", progress=watch)
    load("causerie/demo")
