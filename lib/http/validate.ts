import * as v from 'valibot'
import { issuePath } from '../describe-issue.ts'
import { AllotError, invalid } from '../errors.ts'

/** What the schema describes, out of what came. @throws AllotError invalid naming the first member that does not fit. */
export const validate = <S extends v.GenericSchema>(schema: S, input: unknown): v.InferOutput<S> => {
  const result = v.safeParse(schema, input, { abortEarly: true })
  if (result.success) return result.output
  throw invalid(sentence(result.issues[0]))
}

/** "a body that is no JSON object, or whose member has the wrong type, gets 422 naming the member" */
const sentence = (issue: v.BaseIssue<unknown>): string => {
  const path = issuePath(issue)
  if (path === '') return `expected ${expectation(issue)}, received ${described(issue.input)}`
  if (issue.kind === 'schema' && issue.received === 'undefined') return `${capitalised(path)} is required`
  if (issue.kind === 'schema')
    return `${path}: expected ${expectation(issue)}, received ${described(issue.input)}`
  return `${path}: ${wording(issue)}`
}

const expectation = ({ type, expected }: v.BaseIssue<unknown>): string => {
  if (type === 'picklist' || type === 'union' || type === 'variant')
    return `one of ${(expected ?? '').replace(/[()]/g, '').replaceAll(' | ', ', ')}`
  if (type === 'object') return 'a JSON object'
  return `${/^[aeiou]/i.test(expected ?? '') ? 'an' : 'a'} ${expected?.toLowerCase()}`
}

const described = (input: unknown): string => {
  if (input === null) return 'null'
  if (Array.isArray(input)) return 'an array'
  if (typeof input === 'object') return 'an object'
  const text = typeof input === 'number' ? String(input) : (JSON.stringify(input) ?? typeof input)
  return `the ${typeof input} ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`
}

/** What a check of a value wants, in words. */
const wording = (issue: v.BaseIssue<unknown>): string => {
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

const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

type Kind = 'number' | 'boolean' | 'text'

/** How to read each member of a query or a path: decided once, by looking at the schema. */
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

/** The first value wins; text that is not an integer or a boolean counts as absent. */
export const coerce = (
  { schema, members }: Coercion,
  read: (name: string) => string | null | undefined,
): unknown => {
  const input: Record<string, unknown> = {}
  for (const { name, kind, optional } of members) {
    const text = read(name)
    if (text === null || text === undefined) continue
    const value = readAs(kind, text)
    if (value !== undefined) input[name] = value
    else if (!optional) input[name] = text
  }
  return validate(schema, input)
}

const readAs = (kind: Kind, text: string): unknown => {
  if (kind === 'text') return text
  if (kind === 'boolean') return booleans.get(text)
  return /^-?\d+$/.test(text) ? integerIn(text) : undefined
}

/** Beyond ±(2^53-1) an integer is rounded, but never to one below: it stays a number that no id, index or count can be. */
const integerIn = (text: string): number => Math.min(Math.max(Number(text), -INT64), INT64)
const INT64 = 2 ** 63

const booleans = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
])

/** A path whose parameter does not fit its schema is the path of nothing, and so is one of an integer beyond ±(2^53-1). */
export const pathParams = (coercion: Coercion, params: Record<string, string | undefined>): unknown => {
  const notFound = (cause?: unknown) =>
    new AllotError('not_found', 'there is nothing at this path', { cause })
  let read: object
  try {
    read = coerce(coercion, (name) => params[name]) as object
  } catch (cause) {
    throw notFound(cause)
  }
  const isBeyond = (value: unknown) => typeof value === 'number' && !Number.isSafeInteger(value)
  if (Object.values(read).some(isBeyond)) throw notFound()
  return read
}
