package org.causerie

import java.io.IOException
import java.net.HttpURLConnection
import java.net.MalformedURLException
import java.net.URL
import java.security.cert.CertificateException
import kotlin.concurrent.thread

/**
 * Sends the requests of a [Hub] with the client of the platform, [HttpURLConnection], each on a thread of its own.
 *
 * Redirects are left to the hub, because a token must not reach another server. Derive from this class to prepare
 * connections, for example with `android.net.Network.openConnection`.
 */
public open class UrlTransport : HttpTransport {
    /** Opens the connection of a request. */
    protected open fun open(url: URL): HttpURLConnection = url.openConnection() as HttpURLConnection

    override fun send(request: HttpRequest, sink: HttpSink) {
        thread(isDaemon = true, name = "causerie-http") { sink.use { answer(request, it) } }
    }

    private fun answer(request: HttpRequest, sink: HttpSink) {
        try {
            val connection = open(URL(request.url))
            try {
                connection.instanceFollowRedirects = false
                connection.useCaches = false
                connection.connectTimeout = CONNECT_TIMEOUT
                connection.readTimeout = READ_TIMEOUT
                for ((name, value) in request.headers) connection.setRequestProperty(name, value)
                pass(connection, sink)
            } finally {
                connection.disconnect()
            }
        } catch (err: IOException) {
            sink.fail(err.message ?: err.javaClass.simpleName, !isFinal(err))
        } catch (err: RuntimeException) {
            // A connection of the app's own, or of a broken platform.
            sink.fail(err.toString(), false)
        }
    }

    /** Whether the same request would fail again: the server is not trusted, or there is no such address. */
    private fun isFinal(err: IOException): Boolean {
        val causes = generateSequence<Throwable>(err) { it.cause }
        return causes.any { it is CertificateException || it is MalformedURLException }
    }

    private fun pass(connection: HttpURLConnection, sink: HttpSink) {
        val status = connection.responseCode
        val headers = connection.headerFields.filterKeys { it != null }.flatMap { (name, values) ->
            values.map { HttpHeader(name, it) }
        }
        if (!sink.begin(status, headers)) return
        val body = if (status < HttpURLConnection.HTTP_BAD_REQUEST) connection.inputStream else connection.errorStream
        body?.use {
            val buffer = ByteArray(PIECE)
            while (true) {
                val count = it.read(buffer)
                if (count < 0) break
                if (!sink.receive(buffer.copyOf(count))) return
            }
        }
        sink.finish()
    }

    private companion object {
        const val CONNECT_TIMEOUT = 10_000
        const val READ_TIMEOUT = 30_000
        const val PIECE = 128 * 1024
    }
}
