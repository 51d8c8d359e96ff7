/// JSON text that arrives in pieces, closed at any point.
///
/// Strings appear while they are written, numbers and words once they are complete, and members once their value has begun.
/// The text must be the beginning of valid JSON text.
struct PartialJson {
    private enum State {
        case value, scalar, string, afterValue, key, keyString, colon
    }

    private var text: [UInt8] = []
    private var state = State.value
    /// The brackets that close what is open, the innermost last.
    private var closers: [UInt8] = []
    /// What was valid with these brackets last.
    private var safe: (count: Int, closers: [UInt8]) = (0, [])
    /// The bytes of an escape. The first half of a surrogate pair is followed by the second.
    private var escape: [UInt8] = []
    private var isEscaped = false

    /// Adds whole characters.
    mutating func push(_ piece: String) {
        for byte in piece.utf8 { push(byte) }
    }

    /// The text so far, closed; `nil` before the first value has begun.
    var closed: String? {
        guard 0 < safe.count else { return nil }
        return String(decoding: text[..<safe.count] + safe.closers.reversed(), as: UTF8.self)
    }

    private mutating func push(_ byte: UInt8) {
        if state == .scalar, " \t\r\n,]}".utf8.contains(byte) {
            endValue()
        }
        text.append(byte)
        switch state {
        case .string: string(byte)
        case .keyString: key(byte)
        case .scalar: break
        case _ where " \t\r\n".utf8.contains(byte): break
        case .value, .key, .afterValue, .colon: structure(byte)
        }
    }

    private mutating func structure(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "{"): open(UInt8(ascii: "}"), .key)
        case UInt8(ascii: "["): open(UInt8(ascii: "]"), .value)
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
            _ = closers.popLast()
            endValue()
        case UInt8(ascii: ":"): state = .value
        case UInt8(ascii: ","): state = closers.last == UInt8(ascii: "}") ? .key : .value
        case UInt8(ascii: "\"") where state == .key: state = .keyString
        case UInt8(ascii: "\""):
            state = .string
            markString()
        default: state = .scalar
        }
    }

    private mutating func open(_ closer: UInt8, _ inner: State) {
        closers.append(closer)
        state = inner
        safe = (text.count, closers)
    }

    private mutating func endValue() {
        state = .afterValue
        safe = (text.count, closers)
    }

    private mutating func markString() {
        safe = (text.count, closers + [UInt8(ascii: "\"")])
    }

    private mutating func key(_ byte: UInt8) {
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            state = .colon
        }
    }

    private mutating func string(_ byte: UInt8) {
        if escape.isEmpty {
            switch byte {
            case UInt8(ascii: "\""): return endValue()
            case UInt8(ascii: "\\"): escape.append(byte)
            default: markString()
            }
            return
        }
        escape.append(byte)
        // `\n`, `\u00e9`, or `\ud83d\ude00`
        let isUnicode = escape.count > 1 && escape[1] == UInt8(ascii: "u")
        let isPair = isUnicode && escape.count >= 4 && isHighSurrogate
        if !isUnicode || escape.count == (isPair ? 12 : 6) {
            escape = []
            markString()
        }
    }

    private var isHighSurrogate: Bool {
        (escape[2] | 0x20) == UInt8(ascii: "d") && "89abAB".utf8.contains(escape[3])
    }
}
