import * as v from 'valibot'
import { issuePath } from '../describe-issue.ts'
import { AllotError, invalid } from '../errors.ts'

/**
 * Parses input from a client by a schema.
 * @throws AllotError invalid that names the first wrong member
 */
export const validate = <S extends v.GenericSchema>(schema: S, input: unknown): v.InferOutput<S> => {
  const result = v.safeParse(schema, input, { abortEarly: true })
  if (result.success) return result.output
  throw invalid(messageOf(result.issues[0]))
}

/** "a body that is no JSON object, or whose member has the wrong type, gets 422 naming the member" */
const messageOf = (issue: v.BaseIssue<unknown>): string => {
  const path = issuePath(issue)
  if (path === '') return `expected ${expectation(issue)}, received ${describeValue(issue.input)}`
  if (issue.kind === 'schema' && issue.received === 'undefined') return `${capitalize(path)} is required`
  if (issue.kind === 'schema')
    return `${path}: expected ${expectation(issue)}, received ${describeValue(issue.input)}`
  return `${path}: ${requirementOf(issue)}`
}

const expectation = ({ type, expected }: v.BaseIssue<unknown>): string => {
  if (type === 'picklist' || type === 'union' || type === 'variant')
    return `one of ${(expected ?? '').replace(/[()]/g, '').replaceAll(' | ', ', ')}`
  if (type === 'object') return 'a JSON object'
  return `${/^[aeiou]/i.test(expected ?? '') ? 'an' : 'a'} ${expected?.toLowerCase()}`
}

const describeValue = (input: unknown): string => {
  if (input === null) return 'null'
  if (Array.isArray(input)) return 'an array'
  if (typeof input === 'object') return 'an object'
  const text = typeof input === 'number' ? String(input) : (JSON.stringify(input) ?? typeof input)
  return `the ${typeof input} ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`
}

/** Message of a failed check, such as `v.maxLength`. */
const requirementOf = (issue: v.BaseIssue<unknown>): string => {
  const { requirement } = issue as { requirement?: unknown }
  switch (issue.type) {
    case 'min_length':
      return `must have at least ${requirement} characters`
    case 'max_length':
      return `must have at most ${requirement} characters`
    case 'integer':
    case 'safe_integer':
      return 'expected a whole number between -(2^53-1) and 2^53-1'
    case 'min_value':
      return `must not be below ${requirement}`
    case 'max_value':
      return `must not be above ${requirement}`
    default:
      return issue.message
  }
}

const capitalize = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

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

const kindOf = (schema: v.GenericSchema): Kind => {
  if ('wrapped' in schema) return kindOf(schema.wrapped as v.GenericSchema)
  return schema.type === 'number' || schema.type === 'boolean' ? schema.type : 'text'
}

/**
 * Reads members from text and validates them. Text that is not an integer or a boolean counts as absent when the member is
 * optional.
 * @throws AllotError invalid
 */
export const coerce = (
  { schema, members }: Coercion,
  read: (name: string) => string | null | undefined,
): unknown => {
  const input: Record<string, unknown> = {}
  for (const { name, kind, optional } of members) {
    const text = read(name)
    if (text === null || text === undefined) continue
    const value = parseAs(kind, text)
    if (value !== undefined) input[name] = value
    else if (!optional) input[name] = text
  }
  return validate(schema, input)
}

const parseAs = (kind: Kind, text: string): unknown => {
  if (kind === 'text') return text
  if (kind === 'boolean') return booleans.get(text)
  return /^-?\d+$/.test(text) ? parseInteger(text) : undefined
}

/** Integers beyond ±(2^53-1) are rounded to other unsafe integers, which are never an id, an index or a count. */
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
