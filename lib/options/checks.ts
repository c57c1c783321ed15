import * as v from 'valibot'
import { bytesFault, isLimit, parseSize } from '../byte-sizes.ts'
import { describeIssue, describeValue, invalid, isObject, issuePath } from '../errors.ts'

/*
 * Checks of options, for `createAllot`, for servers and for the configuration file. Each message names the
 * option, what is wrong with its value, and what to write instead. It never shows a text that may be a
 * secret, such as the URL of a database.
 */

type Issue = v.BaseIssue<unknown>

/** The parts of a valibot schema from which the names of nested options are read. */
type Member = v.GenericSchema & {
  entries?: Record<string, Member>
  wrapped?: Member
  item?: Member
  options?: Member[]
}

/**
 * A text that names a folder, a file, a command or an address: the empty one would name something that was
 * not meant.
 * @param what such as `a folder`
 */
export const nonEmptyText = (what: string) => v.pipe(v.string(), v.nonEmpty(`expected ${what}`))

/**
 * @param example options that would be right, for a value that holds no options at all
 * @throws AllotError invalid with a line for every option that is unknown or wrong
 */
export const checked = <S extends v.GenericSchema>(
  schema: S,
  input: unknown,
  example = '{}',
): v.InferOutput<S> => {
  if (!isObject(input))
    throw invalid(`expected an object with options, such as ${example}, received ${kindOf(input)}`)
  const result = v.safeParse(schema, input)
  if (result.success) return result.output
  throw invalid(result.issues.flatMap((issue) => describeOptionIssue(issue, schema)).join('\n'))
}

/**
 * Writes the path of an option as the user does, and that of another one in the way of the option `beside`.
 */
type Spell = (path: string, beside?: string) => string

/**
 * The message of a wrong option, such as `quota.defaultGroups[0]: expected a string, received the number 5`.
 * @returns a line for each option that is wrong: several for one issue about a section that may also be a
 * boolean
 */
export const describeOptionIssue = (
  issue: Issue,
  schema: object,
  spell: Spell = (path) => path,
): string[] => {
  const inSection = issuesInSection(issue)
  if (inSection.length > 0) return inSection.flatMap((inner) => describeOptionIssue(inner, schema, spell))
  if (issue.type === 'strict_object' && issue.expected === 'never') return unknownIn(issue, schema, spell)
  const path = issuePath(issue)
  // The messages of our own checks begin like this.
  if (issue.message.startsWith('expected')) return [`${spell(path)}: ${issue.message}`]
  const otherwise = OTHERWISE[issue.expected ?? '']
  if (otherwise !== undefined)
    return [
      `${spell(path)}: expected an object with options, ${otherwise}, received ${describeValue(issue.input)}`,
    ]
  return [describeIssue(issue).replace(path, () => spell(path))]
}

/** What a section may be instead of an object, by what its schema expects. */
const OTHERWISE: Readonly<Record<string, string>> = {
  '(false | Object)': 'or false',
  '(boolean | Object)': 'true or false',
}

/** The issues inside a section that may also be a boolean: valibot reports only that neither fits. */
const issuesInSection = ({ type, input, issues, path }: Issue): Issue[] =>
  type !== 'union' || !isObject(input)
    ? []
    : (issues ?? [])
        .filter((inner) => inner.path !== undefined)
        .map((inner) => ({ ...inner, path: [...(path ?? []), ...(inner.path ?? [])] }) as Issue)

/** A line for each unknown option of a section, with those that it has: valibot reports only the first. */
const unknownIn = (issue: Issue, schema: object, spell: Spell): string[] => {
  const path = issue.path ?? []
  const parents = path.slice(0, -1)
  const section = parents.length === 0 ? '' : `${issuePath({ path: parents } as unknown as Issue)}.`
  const member = parents.reduce((found, { key }) => entriesOf(found)?.[String(key)] ?? found, schema)
  const known = Object.keys(entriesOf(member) ?? {})
  return Object.keys(path.at(-1)?.input as object)
    .filter((name) => !known.includes(name))
    .map((name) => {
      const names = known.map((other) => spell(section + other, section + name)).join(', ')
      return `${spell(section + name)}: there is no such option; expected one of: ${names}`
    })
}

/** The options of a section, or the sections of all options; undefined for an option. */
export const entriesOf = (schema: object): Member['entries'] => {
  const { entries, wrapped, item, options = [] } = schema as Member
  const inner = wrapped ?? item
  return entries ?? (inner && entriesOf(inner)) ?? options.map(entriesOf).find(Boolean)
}

/** An optional object of the host that has these methods. */
export const optionalObject = <T extends object>(expected: string, methods: readonly (keyof T & string)[]) =>
  v.optional(
    v.custom<T>(
      (input) => missingIn(input, methods).length === 0,
      ({ input }) => `expected ${expected}, received ${describeObject(input, methods)}`,
    ),
  )

/** An optional function of the host. */
export const optionalFunction = <T>() =>
  v.optional(
    v.custom<T>(
      (input) => typeof input === 'function',
      ({ input }) => `expected a function, received ${kindOf(input)}`,
    ),
  )

const missingIn = (input: unknown, methods: readonly string[]): readonly string[] =>
  !isObject(input)
    ? methods
    : methods.filter((method) => typeof (input as Record<string, unknown>)[method] !== 'function')

const describeObject = (input: unknown, methods: readonly string[]): string => {
  if (input instanceof Promise) return 'a Promise: await it'
  if (typeof input === 'function')
    return isClass(input) ? `the class ${input.name}: create an object of it` : `${kindOf(input)}: call it`
  if (!isObject(input)) return kindOf(input)
  return `an object without the method${missingIn(input, methods).length === 1 ? '' : 's'} ${missingIn(input, methods).join(', ')}`
}

const isClass = (input: object): boolean => Function.prototype.toString.call(input).startsWith('class')

/** Describes the type of a value, without its content. */
const kindOf = (input: unknown): string => {
  if (typeof input === 'function') return input.name === '' ? 'a function' : `the function ${input.name}`
  if (Array.isArray(input)) return 'an array'
  if (input === null || input === undefined) return String(input)
  return `${typeof input === 'object' ? 'an' : 'a'} ${typeof input}`
}

/** Bytes, as a number or as `"2 GiB"`. */
export const Size = v.pipe(
  v.union([v.number(), v.string()], ({ input }) => bytesFault(input)),
  v.rawTransform(({ dataset, addIssue, NEVER }) => {
    const bytes = typeof dataset.value === 'number' ? dataset.value : parseSize(dataset.value)
    if (isLimit(bytes)) return bytes
    addIssue({ message: bytesFault(dataset.value) })
    return NEVER
  }),
)

/** The same without -1, which would be less than nothing where 0 refuses everything. */
export const Bytes = v.pipe(Size, v.minValue(0))

/** A part of the service that a host can turn off. */
export const enabled = v.optional(v.boolean(), true)

/** A number of reverse proxies. */
export const trustedProxies = v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100)), 0)

export const count = (limit: number) => v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(limit))

export const milliseconds = (limit: number, fallback: number) => v.optional(count(limit), fallback)
