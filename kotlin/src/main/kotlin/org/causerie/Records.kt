package org.causerie

import java.lang.reflect.InvocationTargetException
import java.lang.reflect.Method
import java.lang.reflect.Type

/** A component of a Java record. */
internal class RecordComponent(
    val name: String,
    val type: Class<*>,
    val genericType: Type,
    private val accessor: Method
) {
    fun value(of: Any): Any? = rethrowing { accessor.invoke(of) }
}

/** A class of Java that is a record. Reflection is by name, because this library also runs where there are no records. */
internal class RecordClass private constructor(private val type: Class<*>) {
    val components: List<RecordComponent> = (call(type, "getRecordComponents") as Array<*>).map { component ->
        val accessor = call(component, "getAccessor") as Method
        // The record may be private in the app.
        accessor.isAccessible = true
        RecordComponent(
            call(component, "getName") as String,
            call(component, "getType") as Class<*>,
            call(component, "getGenericType") as Type,
            accessor
        )
    }

    /** The values of a record by name. */
    fun values(record: Any): Map<String, Any?> = components.associate { it.name to it.value(record) }

    /** Creates a record. What its constructor throws is rethrown. */
    fun create(values: Array<Any?>): Any {
        val constructor = type.getDeclaredConstructor(*components.map { it.type }.toTypedArray())
        constructor.isAccessible = true
        return rethrowing { constructor.newInstance(*values) }
    }

    companion object {
        /** The record that a class is; null for any other class. */
        fun of(type: Class<*>): RecordClass? =
            if (type.superclass?.name == "java.lang.Record") RecordClass(type) else null
    }
}

private fun call(target: Any?, method: String): Any? = target!!.javaClass.getMethod(method).invoke(target)

/** Rethrows what the called code throws. */
private fun <T> rethrowing(call: () -> T): T = try {
    call()
} catch (err: InvocationTargetException) {
    throw err.targetException
}
