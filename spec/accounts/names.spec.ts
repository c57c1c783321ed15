import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { isRefName } from '../../lib/git/ref-names.ts'
import { outcomeSync } from '../support/child.ts'
import { times } from '../support/long.ts'

const takenByGit = (name: string): boolean =>
  outcomeSync('git', ['check-ref-format', '--branch', name]).status === 0

describe('isRefName', () => {
  it('takes the branch names that `git check-ref-format --branch` takes', () => {
    const piece = fc.constantFrom(
      ...'a./@{}-~^:?*[\\ _#+',
      'HEAD',
      '.lock',
      '@{',
      '..',
      'ł',
      '日',
      '\u007f',
      '\u0001',
    )
    const name = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => pieces.join(''))
    fc.assert(
      // `@{-1}` names the branch before this one, in the repository around the spec.
      fc.property(
        name.filter((text) => !text.includes('@{-')),
        (text) => assert.equal(isRefName(text), takenByGit(text), text),
      ),
      { numRuns: times(100, 300) },
    )
  })

  for (const name of ['główna', 'rel@2', 'a/b.c', '_x', 'v1.0+build', 'feature/#12'])
    it(`takes ${name}`, () => assert.equal(isRefName(name), true))

  it('refuses half a character, which no file system keeps', () => assert.equal(isRefName('a\ud800'), false))
})
