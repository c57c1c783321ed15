import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { viewerText } from '../../lib/caches.ts'

describe('The text of a viewer', () => {
  const name = fc.string({ unit: 'binary' })
  const credential = fc.record({ kind: fc.constantFrom('token', 'key'), id: fc.nat(2) })
  const viewer = fc.option(
    fc.record(
      {
        id: fc.nat(2),
        username: name,
        admin: fc.boolean(),
        scopes: fc.uniqueArray(name, { maxLength: 3 }),
        credential,
        administrator: fc.record({ id: fc.nat(2), username: name }),
      },
      { requiredKeys: ['id'] },
    ),
  )
  type Given = typeof viewer extends fc.Arbitrary<infer T> ? T : never
  const textOf = (given: Given) =>
    viewerText(given && { ...given, ...(given.scopes && { scopes: new Set(given.scopes) }) })

  it('is the same for equal viewers, and differs for others', () => {
    const canonical = (given: Given) =>
      JSON.stringify(given, (key, member) => (key === 'scopes' ? member.toSorted() : member))
    fc.assert(
      fc.property(viewer, viewer, (one, other) => {
        assert.equal(textOf(one), textOf(structuredClone(one)))
        assert.equal(textOf(one) === textOf(other), canonical(one) === canonical(other))
      }),
    )
  })
})
