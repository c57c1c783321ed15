import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { readDocument } from '../../readme/documents.ts'
import { outcome } from '../../support/child.ts'

describe('npm run bench', () => {
  const bench = (...words: string[]) =>
    outcome(process.execPath, ['--import', 'tsx', 'spec/tools/bench/index.ts', ...words])

  it('prints every option of docs/performance.md with --help', async () => {
    const { code, stdout, stderr } = await bench('--help')
    assert.deepEqual([code, stderr.includes(' at ')], [0, false], stderr)
    // Options of the bench have no equals sign: those of Node do.
    const documented = readDocument('docs/performance.md').match(/(?<=`(?:-- )?)--[\w-]+(?![\w=-])/g)!
    for (const option of new Set(documented)) assert.ok(stdout.includes(option), option)
  })

  it('has a place for the table of every benchmark in docs/performance.md', async () => {
    const page = readDocument('docs/performance.md')
    for (const storage of ['level', 'postgres']) {
      const { stderr } = await bench('--storage', storage, '--only', 'none')
      const names = /expected (.+)\n/.exec(stderr)![1]!.split(', ')
      assert.ok(names.length > 1)
      for (const name of names)
        assert.match(page, new RegExp(`<!-- bench of ${name} -->[^]*<!-- end of bench of ${name} -->`))
    }
  })

  it('names an unknown option in one line', async () => {
    const { code, stderr } = await bench('--round', '5')
    assert.deepEqual([code, stderr], [2, "bench: Unknown option '--round': see npm run bench -- --help\n"])
  })
})
