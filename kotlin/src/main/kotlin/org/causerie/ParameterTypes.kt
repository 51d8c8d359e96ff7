@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

/** A string, or one of the given strings: `SdkStr(enumValues = listOf("celsius", "fahrenheit"))`. */
public typealias SdkStr = SdkFunctionParameterType.SdkStr

/** A number, or one of the given numbers. */
public typealias SdkNum = SdkFunctionParameterType.SdkNum

/** An integer, or one of the given integers. */
public typealias SdkInt = SdkFunctionParameterType.SdkInt

/** A boolean. */
public typealias SdkBool = SdkFunctionParameterType.SdkBool

/** An array whose elements have one type: `SdkArr(itemType = SdkStr())`. */
public typealias SdkArr = SdkFunctionParameterType.SdkArr

/** An object: `SdkObj(properties = mapOf("city" to SdkStr()), required = listOf("city"))`. */
public typealias SdkObj = SdkFunctionParameterType.SdkObj

/** Null: `SdkNull` and `SdkNull()` are the same. */
public typealias SdkNull = SdkFunctionParameterType.SdkNull

/** One of the given numbers, of any type: `SdkNum(enumValues = listOf(1, 2.5))`. */
@JvmName("sdkNum")
public fun SdkNum(enumValues: List<Number>?, description: String? = null): SdkNum =
    SdkFunctionParameterType.SdkNum(enumValues?.map(Number::toDouble), description)

/** Creates a parameter. In Java it is called `sdkFunctionParameter`. */
@JvmName("sdkFunctionParameter")
public fun SdkFunctionParameter(
    name: String,
    type: SdkFunctionParameterType,
    description: String,
    optional: Boolean
): SdkFunctionParameter = SdkFunctionParameter(name, type, description, optional, schema = null)

/** Allows `SdkNull()`, like the other types. */
@JvmSynthetic
public fun SdkNull(): SdkNull = SdkFunctionParameterType.SdkNull
