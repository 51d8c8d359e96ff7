// A stream of text in Dart, over the C interface. `causerie_stream_next` blocks, so replies are read in an isolate of their own.
//     dart run causerie.dart libcauserie_c.so demo.gguf "Hello!"
// Needs package:ffi.
import 'dart:ffi';
import 'dart:io';
import 'dart:isolate';

import 'package:ffi/ffi.dart';

typedef _Handle = Pointer<Opaque>;
typedef _Free = int Function(_Handle);
typedef _NativeFree = Int32 Function(_Handle);

const _chunk = 0;

class Causerie {
  Causerie(String path) : _library = DynamicLibrary.open(path);

  final DynamicLibrary _library;

  late final _message = _library.lookupFunction<Pointer<Utf8> Function(), Pointer<Utf8> Function()>('causerie_error_message');
  late final _load = _library.lookupFunction<
      Int32 Function(Pointer<Utf8>, _Handle, Pointer<Void>, Pointer<Void>, Pointer<_Handle>),
      int Function(Pointer<Utf8>, _Handle, Pointer<Void>, Pointer<Void>, Pointer<_Handle>)>('causerie_model_load');
  late final _converse = _library.lookupFunction<Int32 Function(_Handle, Pointer<Utf8>, Pointer<_Handle>),
      int Function(_Handle, Pointer<Utf8>, Pointer<_Handle>)>('causerie_conversation_new');
  late final _ask = _library.lookupFunction<Int32 Function(_Handle, Pointer<Utf8>, _Handle, Pointer<_Handle>),
      int Function(_Handle, Pointer<Utf8>, _Handle, Pointer<_Handle>)>('causerie_conversation_ask');
  late final _next = _library.lookupFunction<Int32 Function(_Handle, Pointer<_Handle>),
      int Function(_Handle, Pointer<_Handle>)>('causerie_stream_next');
  late final _kind = _library.lookupFunction<Int32 Function(_Handle, Pointer<Int32>),
      int Function(_Handle, Pointer<Int32>)>('causerie_event_kind');
  late final _text = _library.lookupFunction<Int32 Function(_Handle, Pointer<Pointer<Utf8>>),
      int Function(_Handle, Pointer<Pointer<Utf8>>)>('causerie_event_text');
  late final _freeString = _library.lookupFunction<Int32 Function(Pointer<Utf8>), int Function(Pointer<Utf8>)>('causerie_string_free');
  late final _freeEvent = _library.lookupFunction<_NativeFree, _Free>('causerie_event_free');
  late final _freeStream = _library.lookupFunction<_NativeFree, _Free>('causerie_stream_free');
  late final _freeConversation = _library.lookupFunction<_NativeFree, _Free>('causerie_conversation_free');
  late final _freeModel = _library.lookupFunction<_NativeFree, _Free>('causerie_model_free');

  void _need(int status) {
    if (status != 0) throw StateError(_message().toDartString());
  }

  /// Answers one question, piece by piece. It blocks between the pieces.
  Iterable<String> answer(String model, String question) sync* {
    final arena = Arena();
    final handle = arena<_Handle>();
    _Handle made(int Function(Pointer<_Handle>) call) {
      _need(call(handle));
      return handle.value;
    }

    try {
      final loaded = made((out) => _load(model.toNativeUtf8(allocator: arena), nullptr, nullptr, nullptr, out));
      final conversation = made((out) => _converse(loaded, nullptr, out));
      final stream = made((out) => _ask(conversation, question.toNativeUtf8(allocator: arena), nullptr, out));
      final kind = arena<Int32>();
      final text = arena<Pointer<Utf8>>();
      try {
        for (;;) {
          final event = made((out) => _next(stream, out));
          if (event == nullptr) return;
          _need(_kind(event, kind));
          if (kind.value == _chunk) {
            _need(_text(event, text));
            yield text.value.toDartString();
            _freeString(text.value);
          }
          _freeEvent(event);
        }
      } finally {
        _freeStream(stream);
        _freeConversation(conversation);
        _freeModel(loaded);
      }
    } finally {
      arena.releaseAll();
    }
  }
}

void main(List<String> arguments) async {
  final [library, model, question] = arguments;
  final port = ReceivePort();
  await Isolate.spawn((SendPort sender) {
    for (final piece in Causerie(library).answer(model, question)) {
      sender.send(piece);
    }
    sender.send(null);
  }, port.sendPort);
  await for (final piece in port) {
    if (piece == null) break;
    stdout.write(piece);
  }
  port.close();
}
