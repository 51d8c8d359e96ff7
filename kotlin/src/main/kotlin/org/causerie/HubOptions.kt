@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

import kotlin.time.Duration
import kotlin.time.toKotlinDuration

/**
 * Options of a hub.
 *
 * ```
 * val folder = context.noBackupFilesDir.resolve("models").path
 * val hub = Hub.open(hubOptions { cache = folder; idleTimeout = 20.seconds })
 * ```
 */
@JvmSynthetic
public fun hubOptions(block: HubOptionsBuilder.() -> Unit): HubOptions = HubOptionsBuilder().apply(block).build()

/** A builder of options of a hub. Options that stay null take their defaults. */
public class HubOptionsBuilder {
    /**
     * The folder that models are downloaded into. Default: the cache that Hugging Face's tools share. On Android the app must
     * name one.
     */
    public var cache: String? = null

    /** The address of the hub. Default: `HF_ENDPOINT`, or else `https://huggingface.co`. */
    public var endpoint: String? = null

    /** The token for private and gated repositories. Default: `HF_TOKEN` or the file of other tools. */
    public var token: String? = null

    /** Whether requests are switched off. Default: `HF_HUB_OFFLINE`. */
    public var isOffline: Boolean? = null

    /** Whether a download is refused if the disk has too little space. Default: yes. */
    public var checksSpace: Boolean? = null

    /** The time without a byte after which a transfer is tried again. Default: 30 seconds. */
    public var idleTimeout: Duration? = null
        @JvmSynthetic get

        @JvmSynthetic set

    /** The pause before a failed request is tried again, which doubles with each failure in a row. Default: 1 second. */
    public var retryPause: Duration? = null
        @JvmSynthetic get

        @JvmSynthetic set

    /** Whether the files of a model are links to where their contents are stored. Default: `HF_HUB_DISABLE_SYMLINKS`. */
    public var usesLinks: Boolean? = null

    /** Sets [cache], for Java. */
    public fun cache(value: String?): HubOptionsBuilder = apply { cache = value }

    /** Sets [endpoint], for Java. */
    public fun endpoint(value: String?): HubOptionsBuilder = apply { endpoint = value }

    /** Sets [token], for Java. */
    public fun token(value: String?): HubOptionsBuilder = apply { token = value }

    /** Sets [isOffline], for Java. */
    public fun offline(value: Boolean?): HubOptionsBuilder = apply { isOffline = value }

    /** Sets [checksSpace], for Java. */
    public fun checksSpace(value: Boolean?): HubOptionsBuilder = apply { checksSpace = value }

    /** Sets [idleTimeout], for Java. */
    public fun idleTimeout(value: java.time.Duration?): HubOptionsBuilder = apply {
        idleTimeout = value?.toKotlinDuration()
    }

    /** Sets [retryPause], for Java. */
    public fun retryPause(value: java.time.Duration?): HubOptionsBuilder = apply {
        retryPause = value?.toKotlinDuration()
    }

    /** Sets [usesLinks], for Java. */
    public fun usesLinks(value: Boolean?): HubOptionsBuilder = apply { usesLinks = value }

    /** Returns the current options. */
    public fun build(): HubOptions = HubOptions(
        cache = cache,
        endpoint = endpoint,
        token = token,
        isOffline = isOffline,
        checksSpace = checksSpace,
        idleTimeoutMilliseconds = idleTimeout?.wholeMilliseconds,
        retryPauseMilliseconds = retryPause?.wholeMilliseconds,
        usesLinks = usesLinks
    )
}
