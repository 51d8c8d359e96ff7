"""The projector file of the demo model. It has a vision tower and an encoder of sound, and each is trained without the other."""

import gguf

# How the names of keys and tensors of a part begin.
KEYS = {"vision": ("clip.vision.", "clip.has_vision", "clip.use_gelu"), "audio": ("clip.audio.", "clip.has_audio")}
TENSORS = {"vision": ("v.", "mm.1.", "mm.2."), "audio": ("a.", "mm.a.")}


def write(path, part, add):
    """Writes a file with one part, which `add` adds to the writer. The other part stays as it is in the file, if there is one."""
    new = path.with_suffix(".new")
    writer = gguf.GGUFWriter(new, "clip")
    writer.add_string("general.type", "mmproj")
    writer.add_name("causerie-demo")
    [other] = TENSORS.keys() - {part}
    if path.exists():
        copy(writer, path, other)
    add(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    new.replace(path)


def copy(writer, path, part):
    reader = gguf.GGUFReader(path)
    for field in reader.fields.values():
        if field.name.startswith(KEYS[part]):
            kind, *inner = field.types
            writer.add_key_value(field.name, field.contents(), kind, *inner[:1])
    for tensor in reader.tensors:
        if tensor.name.startswith(TENSORS[part]):
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
