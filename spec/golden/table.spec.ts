import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { differenceCases, intendedDifferences } from './differences/index.ts'
import { differencesPage, PAGE } from './page.ts'

describe('The table of intended differences', () => {
  it('equals docs/differences.md', () => {
    assert.equal(
      readFileSync(PAGE, 'utf8'),
      differencesPage(),
      'docs/differences.md is not current: renew it with `npm run differences`, and look at its diff',
    )
  })

  it('has each title once', () => {
    const titles = intendedDifferences.map(({ title }) => title)
    assert.deepEqual(titles, [...new Set(titles)])
  })

  it('is replayed for every recorded family', () => {
    const names = (folder: string, ending: string) =>
      readdirSync(join(import.meta.dirname, folder))
        .filter((file) => file.endsWith(ending))
        .map((file) => file.replace(ending, ''))
    const replayed = names('.', '.spec.ts').filter((name) => name !== 'table')
    assert.deepEqual(replayed.sort(), names('recordings', '.jsonl').sort())
  })

  it('names recorded families only', () => {
    const families = readdirSync(join(import.meta.dirname, 'recordings')).map((file) =>
      file.replace('.jsonl', ''),
    )
    for (const { title, records } of differenceCases)
      for (const family of Object.keys(records)) assert.ok(families.includes(family), `${title}: ${family}`)
  })
})
