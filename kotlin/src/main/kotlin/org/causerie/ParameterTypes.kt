@file:JvmName("Causerie")
@file:JvmMultifileClass

package org.causerie

/** Text, or one of the texts given: `SdkStr(enumValues = listOf("celsius", "fahrenheit"))`. */
public typealias SdkStr = SdkFunctionParameterType.SdkStr

/** A number, or one of the numbers given. */
public typealias SdkNum = SdkFunctionParameterType.SdkNum

/** A whole number, or one of the whole numbers given. */
public typealias SdkInt = SdkFunctionParameterType.SdkInt

/** True or false. */
public typealias SdkBool = SdkFunctionParameterType.SdkBool

/** A list of items of one type: `SdkArr(itemType = SdkStr())`. */
public typealias SdkArr = SdkFunctionParameterType.SdkArr

/** A map of named values: `SdkObj(properties = mapOf("city" to SdkStr()), required = listOf("city"))`. */
public typealias SdkObj = SdkFunctionParameterType.SdkObj

/** Null: `SdkNull` and `SdkNull()` are the same. */
public typealias SdkNull = SdkFunctionParameterType.SdkNull

/** One of the numbers given, of any type: `SdkNum(enumValues = listOf(1, 2.5))`. */
@JvmName("sdkNum")
public fun SdkNum(enumValues: List<Number>?, description: String? = null): SdkNum =
    SdkFunctionParameterType.SdkNum(enumValues?.map(Number::toDouble), description)

/** A parameter; Java calls it `sdkFunctionParameter`. */
@JvmName("sdkFunctionParameter")
public fun SdkFunctionParameter(
    name: String,
    type: SdkFunctionParameterType,
    description: String,
    optional: Boolean
): SdkFunctionParameter = SdkFunctionParameter(name, type, description, optional, schema = null)

/** So that null is written as the other types are. */
public operator fun SdkNull.invoke(): SdkNull = this
