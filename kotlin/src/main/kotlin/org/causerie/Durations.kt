@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.toJavaDuration

/** The time after which the reply is cancelled; never if null. */
@get:JvmSynthetic
public val GenerationOptions.timeout: Duration? get() = timeoutMilliseconds?.milliseconds

/** The time without a byte after which a transfer is tried again. */
@get:JvmSynthetic
public val HubOptions.idleTimeout: Duration? get() = idleTimeoutMilliseconds?.milliseconds

/** The pause before a failed request is tried again. */
@get:JvmSynthetic
public val HubOptions.retryPause: Duration? get() = retryPauseMilliseconds?.milliseconds

/** Time in the request queue. */
@get:JvmSynthetic
public val GenerationStats.queueDuration: Duration get() = queueTime.seconds

/** Time from the request to the first token written. */
@get:JvmSynthetic
public val GenerationStats.durationToFirstToken: Duration get() = timeToFirstToken.seconds

/** Time spent prefilling the prompt. */
@get:JvmSynthetic
public val GenerationStats.prefillDuration: Duration get() = prefillTime.seconds

/** Time spent decoding. */
@get:JvmSynthetic
public val GenerationStats.decodeDuration: Duration get() = decodeTime.seconds

/** Time spent computing which tokens the constraint allows; a part of the other times. */
@get:JvmSynthetic
public val GenerationStats.constraintDuration: Duration get() = constraintTime.seconds

/** Seconds of the statistics as a duration of Java: `Causerie.duration(stats.getDecodeTime())`. */
public fun duration(seconds: Double): java.time.Duration = seconds.seconds.toJavaDuration()

/** Milliseconds, rounded up, so that a short time does not become none. A negative duration is zero. */
internal val Duration.wholeMilliseconds: Long
    get() = coerceAtLeast(Duration.ZERO).let { time ->
        val whole = time.inWholeMilliseconds
        if (whole.milliseconds < time && whole < Long.MAX_VALUE / 2) whole + 1 else whole
    }
