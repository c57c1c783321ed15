import * as v from 'valibot'
import { AllotError, describeIssue, invalid } from '../errors.ts'

/**
 * Parses input from a client by a schema.
 * @throws AllotError invalid that names the first wrong member
 */
export const validate = <S extends v.GenericSchema>(schema: S, input: unknown): v.InferOutput<S> => {
  const result = v.safeParse(schema, input, { abortEarly: true })
  if (result.success) return result.output
  throw invalid(describeIssue(mostSpecific(result.issues[0])))
}

/**
 * The issue to report. For a union, it is that of the first option with a fault inside of the value, which
 * names the wrong member.
 */
const mostSpecific = (issue: v.BaseIssue<unknown>): v.BaseIssue<unknown> => {
  const deeper = issue.type === 'union' ? issue.issues?.find(({ path }) => path !== undefined) : undefined
  if (deeper === undefined) return issue
  return mostSpecific({ ...deeper, path: [...(issue.path ?? []), ...deeper.path!] } as v.BaseIssue<unknown>)
}

type Kind = 'number' | 'boolean' | 'text'

/** How to read the members of a query string or a path; derived from a schema once. */
export interface Coercion {
  readonly schema: v.GenericSchema
  readonly members: readonly { name: string; kind: Kind; optional: boolean }[]
}

type Entries = Record<string, v.GenericSchema>

export const coercionOf = (schema: v.GenericSchema & { entries: unknown }): Coercion => ({
  schema,
  members: Object.entries(schema.entries as Entries).map(([name, member]) => ({
    name,
    kind: kindOf(member),
    optional: member.type === 'optional' || member.type === 'nullish',
  })),
})

/** Whether some text of a query is invalid. */
export const canRefuse = (schema: v.GenericSchema & { entries: unknown }): boolean =>
  coercionOf(schema).members.some(({ optional, kind }) => !optional || kind !== 'text') ||
  Object.values(schema.entries as Entries).some(restricts)

const restricts = (schema: v.GenericSchema): boolean => {
  if ('wrapped' in schema) return restricts(schema.wrapped as v.GenericSchema)
  if (!('pipe' in schema)) return !['string', 'number', 'boolean'].includes(schema.type)
  // Descriptions and examples are metadata.
  return (schema.pipe as (v.GenericSchema | v.PipeAction<unknown, unknown, never>)[]).some((item) =>
    item.kind === 'schema' ? restricts(item as v.GenericSchema) : item.kind !== 'metadata',
  )
}

const kindOf = (schema: v.GenericSchema): Kind => {
  if ('wrapped' in schema) return kindOf(schema.wrapped as v.GenericSchema)
  return schema.type === 'number' || schema.type === 'boolean' ? schema.type : 'text'
}

/**
 * Reads members from text and validates them. An empty text counts as absent where an optional number or
 * boolean is expected, as from a form with an empty field.
 * @throws AllotError invalid that names the member
 */
export const coerce = (
  { schema, members }: Coercion,
  read: (name: string) => string | null | undefined,
): unknown => {
  const input: Record<string, unknown> = {}
  for (const { name, kind, optional } of members) {
    const text = read(name)
    if (text === null || text === undefined || (text === '' && optional && kind !== 'text')) continue
    input[name] = parseAs(kind, text) ?? text
  }
  return validate(schema, input)
}

const parseAs = (kind: Kind, text: string): unknown => {
  if (kind === 'text') return text
  if (kind === 'boolean') return booleans.get(text)
  return /^-?\d+$/.test(text) ? parseInteger(text) : undefined
}

/**
 * Integers beyond ±(2^53-1) are rounded to other unsafe integers, which are never an id, an index or a count.
 */
const parseInteger = (text: string): number => Math.min(Math.max(Number(text), -INT64), INT64)
const INT64 = 2 ** 63

const booleans = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/** @throws AllotError not_found when a parameter is not valid or an integer beyond ±(2^53-1) */
export const pathParams = (coercion: Coercion, params: Record<string, string | undefined>): unknown => {
  const notFound = (cause?: unknown) =>
    new AllotError('not_found', 'there is nothing at this path', { cause })
  let values: object
  try {
    values = coerce(coercion, (name) => params[name]) as object
  } catch (cause) {
    throw notFound(cause)
  }
  const isUnsafe = (value: unknown) => typeof value === 'number' && !Number.isSafeInteger(value)
  if (Object.values(values).some(isUnsafe)) throw notFound()
  return values
}

/**
 * Schema of an object whose member names come from outside. Invariant: every own member is kept, whatever its
 * name, in an object without a prototype; `v.record` drops `constructor`, `prototype` and `__proto__` in
 * silence.
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
 * Parses JSON. A number that is an integer only after rounding becomes Infinity, which no schema of an
 * integer accepts.
 * @throws AllotError invalid for text that is not JSON or contains a lone surrogate; the message begins with
 * a verb
 */
export const parseJson = (text: string): unknown => {
  const value = parseNumbersExactly(text)
  // Escapes can contain lone surrogates although UTF-8 cannot. A URL could never name such a resource.
  if (/\\ud[89a-f]/i.test(text)) refuseLoneSurrogates(value)
  return value
}

/**
 * Values of a JSON text that is parsed: while that takes some hundredths of a second, all other requests
 * wait.
 */
const MAX_VALUES = 50_000
const [QUOTE, COMMA, BRACKET, BRACE] = [0x22, 0x2c, 0x5b, 0x7b]

/** @throws AllotError too_large for a JSON text with very many values, before it is parsed */
const refuseManyValues = (text: string, limit = MAX_VALUES): void => {
  let values = 0
  for (let index = 0; index < text.length && values + text.length - index > limit; index++) {
    const character = text.charCodeAt(index)
    if (character === QUOTE) index = endOfString(text, index + 1) - 1
    else if ((character === COMMA || character === BRACKET || character === BRACE) && ++values > limit)
      throw new AllotError('too_large', `the body must not have more than ${limit} values`)
  }
}

/** @throws AllotError invalid, with a message about the body; too_large for one with very many values */
export const parseBody = (text: string, maxValues?: number): unknown => {
  refuseManyValues(text, maxValues)
  try {
    return parseJson(text)
  } catch (cause) {
    throw new AllotError('invalid', `the body ${(cause as Error).message}`, { cause })
  }
}

/**
 * An empty body counts as `{}`, unless the route needs one.
 * @param body text, or a value that the host has parsed
 */
export const parseObject = (
  body: unknown,
  { maxValues, needsBody }: { readonly maxValues?: number; readonly needsBody?: boolean },
): unknown => {
  const isAbsent = typeof body === 'string' && body.trim() === ''
  if (isAbsent && needsBody) throw invalid('the body must be a JSON object, and there is none')
  const value = typeof body === 'string' ? parseBody(isAbsent ? '{}' : body, maxValues) : body
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body must be a JSON object')
  // Listing the members of a large object takes as long as parsing it.
  return typeof body === 'string' && !body.includes('null') ? value : withoutNulls(value)
}

/** Removes members that are null: Forgejo's clients send them for absent members. */
export const withoutNulls = (value: object): object =>
  Object.values(value).includes(null)
    ? Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null))
    : value

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
 * JSON.parse rounds 9007199254740990.6 and 1e-400 to integers. As Infinity, they fail validation with a
 * message that names the member.
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

/**
 * Refuses text that UTF-8 cannot encode. It is not recursive, since parsed values may be nested deeper than
 * the call stack.
 * @throws AllotError invalid
 */
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

/** Replaces the numbers of a JSON text, and nothing within its strings. */
const mapNumbers = (text: string, change: (number: string) => string): string => {
  const token = /"|-?\d[\d.eE+-]*/g
  const parts: string[] = []
  let copied = 0
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    if (match[0] === '"') token.lastIndex = endOfString(text, match.index + 1)
    else {
      parts.push(text.slice(copied, match.index), change(match[0]))
      copied = token.lastIndex
    }
  }
  return parts.join('') + text.slice(copied)
}

/** Index after the closing quote of the string whose content begins at `start`, in a JSON text. */
const endOfString = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0
    while (text[end - 1 - escapes] === '\\') escapes++
    if (escapes % 2 === 0) return end + 1
  }
  return text.length
}
