import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { memory } from '../../drivers/memory/index.ts'
import { cacheKey } from '../../lib/caches.ts'
import { cachedRead, Store } from '../../lib/records/store.ts'

type Viewer = { readonly id: number; readonly scopes?: ReadonlySet<string> | undefined } | null

const text = fc.string({ unit: 'binary' })
const viewer = fc.option(
  fc.record({ id: fc.nat(3), scopes: fc.option(fc.uniqueArray(text, { maxLength: 3 }), { nil: undefined }) }),
)
const input = fc.record({
  viewer,
  name: text,
  page: fc.option(fc.nat(3), { nil: undefined }),
  isOpen: fc.boolean(),
})

/** Sets cannot be compared by their JSON. */
const keyOf = (values: typeof input extends fc.Arbitrary<infer T> ? T : never): string =>
  cacheKey('read', {
    ...values,
    viewer: values.viewer && {
      ...values.viewer,
      scopes: values.viewer.scopes && new Set(values.viewer.scopes),
    },
  })

describe('The key of a cached read', () => {
  it('is the same for equal inputs, and differs for different ones', () => {
    const canonical = (value: unknown) =>
      JSON.stringify(value, (name, member) =>
        member === undefined ? 'absent' : name === 'scopes' ? member.toSorted() : member,
      )
    fc.assert(
      fc.property(input, input, (left, right) => {
        assert.equal(keyOf(left), keyOf(structuredClone(left)))
        assert.equal(keyOf(left) === keyOf(right), canonical(left) === canonical(right))
      }),
    )
  })

  it('needs every part of the declared input, of a type that has a text', () => {
    const read = cachedRead('spec', async (_tx, { viewer, id }: { viewer: Viewer; id: number }) => [
      viewer,
      id,
    ])
    // None of these is called: the compiler must refuse them.
    const refused = [
      // @ts-expect-error a part is missing
      () => read(new Store(memory()), { viewer: null }),
      // @ts-expect-error a date is not a part of a key
      () => cachedRead('spec', async (_tx, { since }: { since: Date }) => since),
      // @ts-expect-error a text is not a key
      () => new Store(memory()).read(async () => 1, 'put together by hand'),
    ]
    assert.equal(refused.length, 3)
  })
})

describe('A cached read', () => {
  it('runs once for each input until a record that it has read changes', async () => {
    const driver = memory()
    await driver.open()
    const store = new Store(driver)
    const key = (id: number) => Buffer.from(`key ${id}`)
    let runs = 0
    const read = cachedRead('spec', async (tx, { id }: { id: number }) => {
      runs++
      return Buffer.from((await tx.get(key(id))) ?? []).toString()
    })
    await store.write(async (tx) => tx.put(key(1), Buffer.from('a')))
    assert.deepEqual([await read(store, { id: 1 }), await read(store, { id: 1 }), runs], ['a', 'a', 1])
    assert.equal(await read(store, { id: 2 }), '')
    assert.equal(runs, 2)
    await store.write(async (tx) => tx.put(key(1), Buffer.from('b')))
    assert.deepEqual([await read(store, { id: 1 }), runs], ['b', 3])
    await driver.close()
  })
})
