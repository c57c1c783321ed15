import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { outcomeSync } from '../support/child.ts'

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

/** Node's loader, from here on, as in a process that can open no more files. */
const OPENS_NOTHING = `
  import { register } from 'node:module'
  const hooks = "export const resolve = () => { throw new Error('EMFILE: too many open files') }"
  register('data:text/javascript,' + encodeURIComponent(hooks))
`

describe('The log of a server', () => {
  it('has each line in order, with the same members, before pino is loaded and afterwards', () => {
    const { status, lines } = run(`
      const loaded = log.load()
      log.warn({}, 'first')
      log.error({ err: new Error('lost') }, 'second')
      await loaded
      log.error({ err: new Error('lost') }, 'third')
      log.info({}, 'fourth')
    `)
    const second = { level: 50, msg: 'second', worker: 2, error: 'lost' }
    assert.deepEqual(lines, [
      { level: 40, msg: 'first', worker: 2, error: undefined },
      second,
      { ...second, msg: 'third' },
      { level: 30, msg: 'fourth', worker: 2, error: undefined },
    ])
    assert.equal(status, 0)
  })

  it('has the line that was written just before the process ended', () => {
    const { status, lines } = run(`log.error({}, 'the last'); process.exit(3)`)
    assert.deepEqual([status, lines.map(({ msg }) => msg)], [3, ['the last']])
  })

  it('goes on without pino when no file can be opened any more', () => {
    const { status, lines } = run(`${OPENS_NOTHING}
      await log.load()
      log.error({ err: new Error('lost') }, 'a request failed')
    `)
    const [first, second] = lines
    assert.match(first?.msg, /pino could not be loaded/)
    assert.match(first?.error, /EMFILE/)
    assert.deepEqual(second, { level: 50, msg: 'a request failed', worker: 2, error: 'lost' })
    assert.equal(status, 0)
  })
})
