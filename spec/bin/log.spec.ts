import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { outcomeSync, spawnChild } from '../support/child.ts'

/** Runs a module with a log of a server whose lines have the member `worker`. */
const run = (source: string) => {
  const log = JSON.stringify(new URL('../../bin/server/log.ts', import.meta.url).href)
  const module = `import { ServerLog } from ${log}; const log = new ServerLog({ worker: 2 }); ${source}`
  const node = ['--import', 'tsx', '--input-type=module', '--eval', module]
  const { status, stderr } = outcomeSync(process.execPath, node)
  return { status, lines: stderr.split('\n').filter(Boolean).map(asLine) }
}

const asLine = (line: string) => {
  const { level, msg, worker, err } = JSON.parse(line)
  return { level, msg, worker, error: err?.message }
}

describe('The log of a server', () => {
  it('has each line in order, with its members and those of the log', () => {
    const { status, lines } = run(`
      log.warn({}, 'first')
      log.error({ err: new Error('lost') }, 'second')
      log.info({}, 'third')
    `)
    assert.deepEqual(lines, [
      { level: 40, msg: 'first', worker: 2, error: undefined },
      { level: 50, msg: 'second', worker: 2, error: 'lost' },
      { level: 30, msg: 'third', worker: 2, error: undefined },
    ])
    assert.equal(status, 0)
  })

  it('does not end the server when its reader has ended', async () => {
    const main = new URL('../../bin/main.ts', import.meta.url).href
    const source = `process.argv.push('help'); await import(${JSON.stringify(main)})
      for (let line = 0; line < 20; line++) { process.stderr.write('x'.repeat(9999)); await new Promise((end) => setTimeout(end, 5)) }
      process.exit(7)`
    const child = spawnChild(process.execPath, ['--import', 'tsx', '--input-type=module', '--eval', source])
    child.stderr.destroy()
    const [code] = await once(child, 'exit')
    assert.equal(code, 7)
  })

  it('has the line that was written just before the process ended', () => {
    const { status, lines } = run(`log.error({}, 'the last'); process.exit(3)`)
    assert.deepEqual([status, lines.map(({ msg }) => msg)], [3, ['the last']])
  })
})
