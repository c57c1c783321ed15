import * as fc from 'fast-check'
import type * as v from 'valibot'
import { KNOWN_VALUES } from './populated.ts'

type Schema = v.GenericSchema & {
  readonly pipe?: readonly { type: string; requirement?: unknown }[]
  readonly wrapped?: Schema
  readonly item?: Schema
  readonly value?: Schema
  readonly entries?: Record<string, Schema>
  readonly options?: readonly unknown[]
  readonly literal?: unknown
}

/** Any text, most often a short lower-case word. */
export const anyText = fc.oneof(
  { weight: 4, arbitrary: fc.stringMatching(/^[a-z]{1,8}$/) },
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.constantFrom(
    '',
    ' ',
    '0',
    '-1',
    'null',
    '__proto__',
    'constructor',
    '../x',
    'a/b',
    '%',
    '%00',
    '\u0000',
    '\ud800',
  ),
  fc.integer({ min: 100, max: 3000 }).map((length) => 'x'.repeat(length)),
)

const anyNumber = fc.oneof(
  fc.integer({ min: -2, max: 5 }),
  fc.maxSafeInteger(),
  fc.constantFrom(2 ** 53 - 1, -(2 ** 53 - 1)),
)

/** Values that match a schema; members with known values often have one of these. */
export const arbitraryOf = (schema: v.GenericSchema, member = ''): fc.Arbitrary<unknown> => {
  const { type, wrapped, item, value, entries, options, literal } = schema as Schema
  switch (type) {
    case 'optional':
      return arbitraryOf(wrapped!, member)
    case 'nullable':
      return fc.option(arbitraryOf(wrapped!, member))
    case 'string':
      return textOf(schema, member)
    case 'number':
      return anyNumber
    case 'boolean':
      return fc.boolean()
    case 'literal':
      return fc.constant(literal)
    case 'picklist':
      return fc.constantFrom(...options!)
    case 'array':
      return fc.array(arbitraryOf(item!, member), { maxLength: 3 })
    case 'record':
      return fc.dictionary(knownValueOr(member, anyText), arbitraryOf(value!, member), { maxKeys: 3 })
    case 'union':
      return fc.oneof(...(options as Schema[]).map((option) => arbitraryOf(option, member)))
    case 'object':
      return members(entries!)
    default:
      throw new Error(`cannot generate values for a schema of type ${type}`)
  }
}

const members = (entries: Record<string, Schema>): fc.Arbitrary<unknown> =>
  fc.record(
    Object.fromEntries(Object.entries(entries).map(([name, schema]) => [name, arbitraryOf(schema, name)])),
    { requiredKeys: Object.keys(entries).filter((name) => entries[name]!.type !== 'optional') },
  )

/** Text that sometimes has the maximum length of the schema, or one character more. */
const textOf = (schema: Schema, member: string): fc.Arbitrary<string> => {
  const maxLength = schema.pipe?.find(({ type }) => type === 'max_length')?.requirement
  if (typeof maxLength !== 'number') return knownValueOr(member, anyText)
  const atTheEdge = fc.constantFrom('x'.repeat(maxLength), 'x'.repeat(maxLength + 1))
  return knownValueOr(
    member,
    fc.oneof({ weight: 6, arbitrary: anyText }, { weight: 1, arbitrary: atTheEdge }),
  )
}

export const knownValueOr = (member: string, other: fc.Arbitrary<string>): fc.Arbitrary<string> => {
  const words = KNOWN_VALUES[member]
  if (words === undefined) return other
  return fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...words) }, { weight: 1, arbitrary: other })
}
