// A stream of text in C#, over the C interface: .NET 8 or later, with libcauserie_c beside the program.
//     dotnet run -- demo.gguf "Hello!"
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;

public sealed class CauserieException(int status, string message) : Exception(message)
{
    public int Status { get; } = status;
}

internal static partial class Native
{
    private const string Library = "causerie_c";

    [LibraryImport(Library)] internal static partial nint causerie_error_message();
    [LibraryImport(Library)] internal static partial int causerie_string_free(nint text);
    [LibraryImport(Library, StringMarshalling = StringMarshalling.Utf8)]
    internal static partial int causerie_model_load(string path, nint options, nint progress, nint context, out nint model);
    [LibraryImport(Library)] internal static partial int causerie_model_free(nint model);
    [LibraryImport(Library, StringMarshalling = StringMarshalling.Utf8)]
    internal static partial int causerie_conversation_new(nint model, string? systemPrompt, out nint conversation);
    [LibraryImport(Library)] internal static partial int causerie_conversation_free(nint conversation);
    [LibraryImport(Library, StringMarshalling = StringMarshalling.Utf8)]
    internal static partial int causerie_conversation_ask(nint conversation, string text, nint options, out nint stream);
    [LibraryImport(Library)] internal static partial int causerie_stream_next(nint stream, out nint @event);
    [LibraryImport(Library)] internal static partial int causerie_stream_cancel(nint stream);
    [LibraryImport(Library)] internal static partial int causerie_stream_free(nint stream);
    [LibraryImport(Library)] internal static partial int causerie_event_kind(nint @event, out int kind);
    [LibraryImport(Library)] internal static partial int causerie_event_text(nint @event, out nint text);
    [LibraryImport(Library)] internal static partial int causerie_event_free(nint @event);

    internal static void Need(int status)
    {
        if (status != 0) throw new CauserieException(status, Marshal.PtrToStringUTF8(causerie_error_message()) ?? "");
    }
}

public sealed class Conversation : IDisposable
{
    private const int Chunk = 0;
    private readonly nint _model, _conversation;

    public Conversation(string path, string? systemPrompt = null)
    {
        Native.Need(Native.causerie_model_load(path, 0, 0, 0, out _model));
        Native.Need(Native.causerie_conversation_new(_model, systemPrompt, out _conversation));
    }

    /// <summary>The answer, piece by piece. Leaving the loop, or the token, stops the model.</summary>
    public async IAsyncEnumerable<string> Ask(string text, [EnumeratorCancellation] CancellationToken token = default)
    {
        Native.Need(Native.causerie_conversation_ask(_conversation, text, 0, out var stream));
        using var registration = token.Register(() => Native.causerie_stream_cancel(stream));
        try
        {
            while (await Task.Run(() => Next(stream), CancellationToken.None) is { } piece)
            {
                if (piece.Length > 0) yield return piece;
            }
        }
        finally
        {
            Native.causerie_stream_free(stream);
        }
    }

    /// <summary>The text of the next event, empty for one without; null at the end. The message of an error is read on the thread
    /// that got it.</summary>
    private static string? Next(nint stream)
    {
        Native.Need(Native.causerie_stream_next(stream, out var @event));
        if (@event == 0) return null;
        try
        {
            Native.Need(Native.causerie_event_kind(@event, out var kind));
            if (kind != Chunk) return "";
            Native.Need(Native.causerie_event_text(@event, out var text));
            try { return Marshal.PtrToStringUTF8(text) ?? ""; }
            finally { Native.causerie_string_free(text); }
        }
        finally
        {
            Native.causerie_event_free(@event);
        }
    }

    public void Dispose()
    {
        Native.causerie_conversation_free(_conversation);
        Native.causerie_model_free(_model);
    }
}

public static class Program
{
    public static async Task Main(string[] arguments)
    {
        using var conversation = new Conversation(arguments[0]);
        await foreach (var piece in conversation.Ask(arguments[1])) Console.Write(piece);
        Console.WriteLine();
    }
}
