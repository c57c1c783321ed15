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

/** How to read a member of a query string or a path. */
interface Member {
  readonly name: string
  readonly kind: Kind
  readonly optional: boolean
}

type Entries = Record<string, v.GenericSchema>
type Members = v.GenericSchema & { readonly entries: unknown }

/** Derived from each schema once. */
const derived = new WeakMap<Members, readonly Member[]>()

export const membersOf = (schema: Members): readonly Member[] => {
  const known = derived.get(schema)
  if (known !== undefined) return known
  const members = Object.entries(schema.entries as Entries).map(([name, member]) => ({
    name,
    kind: kindOf(member),
    optional: member.type === 'optional' || member.type === 'nullish',
  }))
  derived.set(schema, members)
  return members
}

/** Whether some text of a query is invalid. */
export const canRefuse = (schema: Members): boolean =>
  membersOf(schema).some(({ optional, kind }) => !optional || kind !== 'text') ||
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
export const coerce = (schema: Members, read: (name: string) => string | null | undefined): unknown => {
  const input: Record<string, unknown> = {}
  for (const { name, kind, optional } of membersOf(schema)) {
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
export const pathParams = (schema: Members, params: Record<string, string | undefined>): unknown => {
  const notFound = (cause?: unknown) =>
    new AllotError('not_found', 'there is nothing at this path', { cause })
  let values: object
  try {
    values = coerce(schema, (name) => params[name]) as object
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
 * Parses JSON.
 * @throws AllotError invalid for text that is not JSON or contains a lone surrogate; the message begins with
 * a verb
 */
export const parseJson = (text: string): unknown => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw invalid(`is not valid JSON: ${(cause as Error).message}`)
  }
  // Escapes can contain lone surrogates although UTF-8 cannot. A URL could never name such a resource.
  if (/\\ud[89a-f]/i.test(text)) refuseLoneSurrogates(value)
  return value
}

/** @throws AllotError invalid, with a message about the body */
export const parseBody = (text: string): unknown => {
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
export const parseObject = (body: unknown, { needsBody }: { readonly needsBody?: boolean }): unknown => {
  const isAbsent = typeof body === 'string' && body.trim() === ''
  if (isAbsent && needsBody) throw invalid('the body must be a JSON object, and there is none')
  const value = typeof body === 'string' ? parseBody(isAbsent ? '{}' : body) : body
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
