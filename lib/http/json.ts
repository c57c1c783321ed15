import * as v from 'valibot'
import { invalid } from '../errors.ts'
import { mapNumbers } from '../integers.ts'

/**
 * Schema of an object whose member names come from outside. Invariant: every own member is kept, whatever its name, in an
 * object without a prototype; `v.record` drops `constructor`, `prototype` and `__proto__` in silence.
 */
export const recordOf = <S extends v.GenericSchema>(
  value: S,
): v.RecordSchema<v.StringSchema<undefined>, S, undefined> => {
  const record = v.record(v.string(), value)
  return {
    ...record,
    '~run'(dataset, config) {
      const input = dataset.value as Record<string, unknown>
      if (typeof input !== 'object' || input === null) return record['~run'](dataset, config)
      const output: Record<string, v.InferOutput<S>> = Object.create(null)
      const issues: v.BaseIssue<unknown>[] = []
      for (const [key, member] of Object.entries(input)) {
        const result = value['~run']({ value: member }, config)
        const item: v.ObjectPathItem = { type: 'object', origin: 'value', input, key, value: member }
        for (const issue of result.issues ?? [])
          issues.push({ ...issue, path: [item, ...(issue.path ?? [])] } as v.BaseIssue<unknown>)
        if (result.typed) output[key] = result.value as v.InferOutput<S>
      }
      const outcome = { value: output, ...(issues.length === 0 ? { typed: true } : { typed: false, issues }) }
      return outcome as ReturnType<(typeof record)['~run']>
    },
  }
}

/**
 * Parses JSON. A number that is an integer only after rounding becomes Infinity, which no schema of an integer accepts.
 * @throws AllotError invalid for text that is not JSON or contains a lone surrogate; the message begins with a verb
 */
export const parseJson = (text: string): unknown => {
  const value = parseNumbersExactly(text)
  // Escapes can contain lone surrogates although UTF-8 cannot. A URL could never name such a resource.
  if (/\\ud[89a-f]/i.test(text)) refuseLoneSurrogates(value)
  return value
}

/** Removes members that are null: Forgejo's clients send them for absent members. */
export const withoutNulls = (value: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))

const parseNumbersExactly = (text: string): unknown => {
  try {
    const value = JSON.parse(text)
    return MAY_ROUND.test(text) ? JSON.parse(mapNumbers(text, withoutRounding)) : value
  } catch (cause) {
    throw invalid(`is not valid JSON: ${(cause as Error).message}`)
  }
}

/** Whether a number has an exponent, or so many digits that JSON.parse may round it. */
const MAY_ROUND = /[\d.]{16}|\d[eE][-+]?\d/

/**
 * JSON.parse rounds 9007199254740990.6 and 1e-400 to integers. As Infinity, they fail validation with a message that names the
 * member.
 */
const withoutRounding = (number: string): string =>
  isFraction(number) && Number.isInteger(Number(number)) ? '1e999' : number

/** Whether a digit other than 0 follows the decimal point, after the exponent has moved it. */
const isFraction = (number: string): boolean => {
  const [, whole = '', part = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(number) ?? []
  const digits = whole + part
  const decimals = part.length - Number(exponent)
  return decimals > 0 && /[1-9]/.test(decimals >= digits.length ? digits : digits.slice(-decimals))
}

/** Not recursive: parsed values may be nested deeper than the call stack. @throws AllotError invalid */
const refuseLoneSurrogates = (root: unknown): void => {
  const waiting = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string' && !value.isWellFormed())
      throw invalid('contains half a character (a lone surrogate)')
    if (typeof value === 'object' && value !== null)
      for (const member of Object.values(value)) waiting.push(member)
  }
}
