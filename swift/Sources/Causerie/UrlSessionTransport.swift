import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends the requests of a ``Hub`` with a `URLSession`.
///
/// Nothing is cached, and redirects are left to the hub, because a token must not reach another server. A background
/// session cannot do that: for downloads that outlive the app, see `docs/downloads.md`.
public final class UrlSessionTransport: HttpTransport {
    private let session: URLSession
    private let answers = Answers()

    /// Creates a transport.
    ///
    /// - Parameter configuration: of the session. Its cache is not used.
    public init(configuration: URLSessionConfiguration = .ephemeral) {
        configuration.urlCache = nil
        configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
        // The session keeps its delegate until it is invalidated.
        session = URLSession(configuration: configuration, delegate: answers, delegateQueue: nil)
    }

    deinit {
        session.invalidateAndCancel()
    }

    public func send(request: HttpRequest, sink: HttpSink) throws {
        guard let url = URL(string: request.url) else {
            return sink.fail(reason: "the address is not valid", isRetryable: false)
        }
        var ours = URLRequest(url: url)
        for header in request.headers {
            ours.setValue(header.value, forHTTPHeaderField: header.name)
        }
        let task = session.dataTask(with: ours)
        answers.add(sink, of: task)
        task.resume()
    }
}

/// Passes the answers of all tasks on.
private final class Answers: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    private let lock = NSLock()
    // Guarded by the lock.
    private var sinks: [Int: HttpSink] = [:]

    func add(_ sink: HttpSink, of task: URLSessionTask) {
        lock.withLock { sinks[task.taskIdentifier] = sink }
    }

    private func sink(of task: URLSessionTask) -> HttpSink? {
        lock.withLock { sinks[task.taskIdentifier] }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let answer = response as? HTTPURLResponse
        let headers = (answer?.allHeaderFields ?? [:]).map { HttpHeader(name: "\($0.key)", value: "\($0.value)") }
        let goesOn = sink(of: dataTask)?.begin(status: answer?.statusCode ?? 0, headers: headers) ?? false
        completionHandler(goesOn ? .allow : .cancel)
    }

    // The sink waits for the disk, so this queue does, and so does the server.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        if sink(of: dataTask)?.receive(piece: data) != true { dataTask.cancel() }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let sink = lock.withLock({ sinks.removeValue(forKey: task.taskIdentifier) }) else { return }
        if let error {
            sink.fail(reason: error.localizedDescription, isRetryable: !isFinal(error))
        } else {
            sink.finish()
        }
    }
}

/// Whether the same request would fail again: the server is not trusted, or the app may not reach it.
private func isFinal(_ error: any Error) -> Bool {
    let codes: [URLError.Code] = [
        .appTransportSecurityRequiresSecureConnection, .badURL, .clientCertificateRejected, .clientCertificateRequired,
        .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid,
        .serverCertificateUntrusted, .unsupportedURL,
    ]
    return (error as? URLError).map { codes.contains($0.code) } ?? false
}
