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

/** What a text of JSON holds. @throws AllotError invalid for what is none, or holds half a character. */
export const parseJson = (text: string): unknown => {
  const value = parsed(text)
  // UTF-8 cannot hold half of a surrogate pair, but an escape can, and no URL could name it again.
  if (/\\ud[89a-f]/i.test(text)) refuseHalfCharacters(value)
  return value
}

/** A member that is null counts as absent, as Forgejo's clients send them. */
export const withoutNulls = (value: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))

const parsed = (text: string): unknown => {
  try {
    const value = JSON.parse(text)
    return MAY_ROUND.test(text) ? JSON.parse(mapNumbers(text, withoutRounding)) : value
  } catch (cause) {
    throw invalid(`is no JSON: ${(cause as Error).message}`)
  }
}

/** Some number has an exponent, or so many digits that JSON.parse rounds it. */
const MAY_ROUND = /[\d.]{16}|\d[eE][-+]?\d/

/**
 * 9007199254740990.6 and 1e-400 are integers once JSON.parse has rounded them. As an infinite number, such a number is refused
 * by every schema of an integer, and named.
 */
const withoutRounding = (number: string): string =>
  isFraction(number) && Number.isInteger(Number(number)) ? '1e999' : number

/** Exact: whether any digit other than 0 is behind the decimal point once the exponent has moved it. */
const isFraction = (number: string): boolean => {
  const [, whole = '', part = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:e([-+]?\d+))?$/i.exec(number) ?? []
  const digits = whole + part
  const behind = part.length - Number(exponent)
  return behind > 0 && /[1-9]/.test(behind >= digits.length ? digits : digits.slice(-behind))
}

/** Without recursion: what was parsed may be nested more deeply than the stack goes. */
const refuseHalfCharacters = (whole: unknown): void => {
  const waiting = [whole]
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value === 'string' && !value.isWellFormed())
      throw invalid('holds half a character (a lone surrogate)')
    if (typeof value === 'object' && value !== null)
      for (const member of Object.values(value)) waiting.push(member)
  }
}
