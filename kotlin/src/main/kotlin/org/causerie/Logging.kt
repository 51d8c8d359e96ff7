@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import java.util.logging.Level
import java.util.logging.Logger
import org.causerie.ffi.LogSink
import org.causerie.ffi.setLogSink

/** Takes messages to developers; see [setLogHandler]. */
public fun interface LogHandler {
    /** Takes a message; [error] is the exception of a function that failed. */
    public fun log(level: LogLevel, message: String, error: Throwable?)
}

/**
 * Sets what takes messages to developers: about loading, downloads, repaired calls, and functions that failed. They
 * have no text of conversations, except for the exceptions of the app's functions.
 *
 * Without a handler, or with null, they go to the logger `causerie` of the platform: of `System.Logger` on the JVM, of
 * `java.util.logging` on Android, which writes to Logcat. Messages of the engine come on a separate thread. What a
 * handler throws is ignored.
 */
public fun setLogHandler(handler: LogHandler?) {
    Log.handler = handler ?: platformLog()
    Log.start()
}

/** The log of the package. */
internal object Log {
    @Volatile
    var handler: LogHandler = platformLog()

    private val sink = object : LogSink {
        override fun write(record: LogRecord): Unit = Log.write(record.level, record.message, null)
    }

    /** Once, the engine's messages are directed here. */
    private val started by lazy { setLogSink(sink) }

    fun start() = started

    fun write(level: LogLevel, message: String, error: Throwable?) {
        try {
            handler.log(level, message, error)
        } catch (_: Throwable) {
            // An error of the app, for which there is no log. It must not reach the engine, nor end a reply.
        }
    }
}

private const val NAME = "causerie"

private fun platformLog(): LogHandler = try {
    SystemLog()
} catch (_: LinkageError) {
    // Android does not have System.Logger.
    UtilLog()
}

private class SystemLog : LogHandler {
    private val logger: System.Logger = System.getLogger(NAME)

    override fun log(level: LogLevel, message: String, error: Throwable?) {
        val priority = when (level) {
            LogLevel.ERROR -> System.Logger.Level.ERROR
            LogLevel.WARNING -> System.Logger.Level.WARNING
            LogLevel.INFO, LogLevel.DEBUG -> System.Logger.Level.DEBUG // INFO is shown by default
        }
        logger.log(priority, message, error)
    }
}

private class UtilLog : LogHandler {
    private val logger: Logger = Logger.getLogger(NAME)

    override fun log(level: LogLevel, message: String, error: Throwable?) {
        val priority = when (level) {
            LogLevel.ERROR -> Level.SEVERE
            LogLevel.WARNING -> Level.WARNING
            LogLevel.INFO, LogLevel.DEBUG -> Level.FINE
        }
        logger.log(priority, message, error)
    }
}
