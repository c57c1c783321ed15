import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type * as v from 'valibot'
import { memory } from '../../drivers/memory/index.ts'
import { exportStore } from '../../lib/exports/export.ts'
import { importStore } from '../../lib/exports/import.ts'
import { AllotError } from '../../lib/index.ts'

import { collections } from '../../lib/records/schema/index.ts'
import { takeNumber } from '../../lib/records/store.ts'
import { contentOf } from '../records/raw.ts'
import { inChunks } from './instance.ts'

/** Any text; a few occur often, so that records share index entries and counts. */
const text = fc.oneof(
  fc.constantFrom('a', 'A', 'b', '', '\u0000', '\n', '"\\', '\u2028', 'ß', '🦉'),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
)

const number = (least: number) =>
  fc.oneof(fc.integer({ min: least, max: 3 }), fc.integer({ min: least, max: Number.MAX_SAFE_INTEGER }))

type Schema = v.GenericSchema & {
  entries?: Record<string, Schema>
  item?: Schema
  wrapped?: Schema
  options?: readonly (string | number)[]
  literal?: string
  pipe?: readonly { type: string; requirement?: number }[]
}

const leastOf = ({ pipe }: Schema): number =>
  Math.max(...(pipe ?? []).map((one) => (one.type === 'min_value' ? one.requirement! : leastIn(one))), -2)

/** Pipes of a schema may be nested. */
const leastIn = (one: object): number => ('pipe' in one ? leastOf(one as Schema) : -2)

/** Any value of a schema, of which the only patterns are those of stored files. */
const anyOf = (schema: Schema, path: string): fc.Arbitrary<unknown> => {
  const { pipe } = schema
  switch (schema.type) {
    case 'object':
      return recordOf(Object.entries(schema.entries!), path)
    case 'array':
      return fc.array(anyOf(schema.item!, path), { maxLength: 3 })
    case 'nullable':
      return fc.option(anyOf(schema.wrapped!, path))
    case 'picklist':
      return fc.constantFrom(...schema.options!)
    case 'string':
      return pipe?.some(({ type }) => type === 'regex') ? fc.uuid() : text
    case 'number':
      return number(leastOf(schema))
    case 'union':
    case 'variant':
      return fc.oneof(...(schema.options as unknown as Schema[]).map((one) => anyOf(one, path)))
    case 'literal':
      return fc.constant(schema.literal)
    case 'boolean':
      return fc.boolean()
    default:
      throw new Error(`say what a ${schema.type} may be`)
  }
}

/** Optional members are present in some of the records. */
const recordOf = (entries: readonly [name: string, schema: Schema][], path: string): fc.Arbitrary<unknown> =>
  fc.record(
    Object.fromEntries(
      entries.map(([name, one]) => [
        name,
        anyOf(one.type === 'optional' ? one.wrapped! : one, `${path}.${name}`),
      ]),
    ),
    { requiredKeys: entries.filter(([, one]) => one.type !== 'optional').map(([name]) => name) },
  )

const all = collections
const named = (name: string) => all.find(({ options }) => options.name === name)!
const record = fc.oneof(
  ...all.map((collection) =>
    anyOf(collection.options.schema as Schema, collection.options.name).map((value) => ({
      name: collection.options.name,
      value,
    })),
  ),
)

describe('Any content of a store', () => {
  it('has the same bytes after export and import', async () => {
    let saved = 0
    const property = fc.asyncProperty(
      fc.array(record, { maxLength: 60, size: 'max' }),
      fc.uniqueArray(fc.stringMatching(/^[A-Za-z]{1,5}$/), { maxLength: 3 }),
      fc.integer({ min: 1, max: 3000 }),
      async (records, sequences, chunk) => {
        const [driver, copy] = [memory(), memory()]
        await Promise.all([driver.open(), copy.open()])
        for (const { name, value } of records)
          await driver
            .write((tx) => named(name).save(tx, value))
            .then(() => saved++)
            .catch((error) =>
              assert.ok(error instanceof AllotError && error.code === 'conflict', String(error)),
            )
        for (const name of sequences) await driver.write((tx) => takeNumber(tx, name))
        const chunks: Uint8Array[] = []
        const written = await exportStore(
          { driver, gitStorage: undefined, fileStorage: undefined },
          async (bytes) => void chunks.push(bytes),
        )
        const read = await importStore(
          { driver: copy, gitStorage: undefined, fileStorage: undefined },
          inChunks(Buffer.concat(chunks), chunk),
        )
        assert.deepEqual(read, written)
        assert.deepEqual(await contentOf(copy), await contentOf(driver))
        await Promise.all([driver.close(), copy.close()])
      },
    )
    await fc.assert(property, { numRuns: 40 })
    assert.ok(saved > 500, `only ${saved} records were tried`)
  })
})
