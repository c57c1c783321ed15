import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { after, describe, it } from 'node:test'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { AllotError } from '../../lib/errors.ts'
import { Markdown } from '../../lib/markdown/index.ts'

import { retryMeasurement } from '../support/retry.ts'

const DEADLINE = 150
/** Milliseconds for starting a worker and for a machine that is busy with other specs. */
const MARGIN = 30_000
const MEBIBYTE = 1_048_576
const baseUrl = 'http://allot.test'

const markdown = new Markdown({ deadline: DEADLINE })
after(() => markdown.close())

const repeat = (piece: string, bytes = MEBIBYTE) =>
  piece.repeat(Math.ceil(bytes / piece.length)).slice(0, bytes)

const HOSTILE: [name: string, text: string][] = [
  ['nested brackets', `${'['.repeat(MEBIBYTE / 2)}${']'.repeat(MEBIBYTE / 2)}`],
  ['brackets', repeat('[')],
  ['unclosed links', repeat('[a](')],
  ['unclosed emphasis', repeat('*a_ ')],
  ['strong in emphasis', repeat('*a **a ')],
  ['backticks of growing length', Array.from({ length: 1400 }, (_, at) => `e${'`'.repeat(at)}`).join('')],
  ['deep block quotes', repeat('> ')],
  ['deep lists', Array.from({ length: 1000 }, (_, at) => `${' '.repeat(at * 2)}* a`).join('\n')],
  ['many headings', repeat('# a\n')],
  ['unclosed HTML', repeat('<a ')],
  ['HTML elements without references, opened and closed', repeat('<code></a>', 500_000)],
  ['references', repeat('@a #1 ')],
  ['incomplete references', repeat('@@##')],
  ['plain text', repeat('some *words* and `code`, again and again. ')],
  ['a table with missing cells', `${'|a'.repeat(511)}\n${'|-'.repeat(511)}\n${'|\n'.repeat(1023)}`],
  [
    'a link with a long target, repeated',
    `[a]: http://x/${'&'.repeat(500_000)}\n\n${'[a] '.repeat(100_000)}`,
  ],
  ['quotes and a broken table, 240 bytes', `${'>'.repeat(236)}<\n|*`],
  ['a wide table', `${repeat('|a', 20_000)}\n${repeat('|-', 20_000)}\n${repeat('|b', 20_000)}`],
]

/** A text may be refused as invalid; other errors are failures. */
const refusal = (error: unknown): string => {
  assert.ok(error instanceof AllotError && error.code === 'invalid', String(error))
  return ''
}

/** @returns the longest time between two runs of a 5 ms timer while a text is rendered, in milliseconds */
const timeHeldUp = async (input: Parameters<Markdown['render']>[1]): Promise<number> => {
  const begun = performance.now()
  let longest = 0
  let last = begun
  const heartbeat = setInterval(() => {
    longest = Math.max(longest, performance.now() - last)
    last = performance.now()
  }, 5)
  await markdown.render('host', input).catch(refusal)
  clearInterval(heartbeat)
  assert.ok(performance.now() - begun < DEADLINE + MARGIN, 'rendering took far longer than its deadline')
  return longest
}

describe('Rendering ends within its deadline and does not block the event loop', () => {
  for (const [name, text] of HOSTILE)
    for (const mode of ['markdown', 'gfm'])
      it(`for ${name} (${text.length} bytes), in the mode ${mode}`, async () => {
        await retryMeasurement(async () => {
          const heldUp = await timeHeldUp({ text, mode, context: '/a/b', baseUrl })
          assert.ok(heldUp <= 250, `the event loop was blocked for ${heldUp} ms`)
        })
      })

  it('for any text of hostile parts', async () => {
    const piece = fc.constantFrom(
      '>',
      '<',
      '[',
      ']',
      '(',
      '*',
      '_',
      '`',
      '|',
      '\n',
      '- ',
      '    ',
      '[^a]:',
      '[^a]',
      '@a',
      'a/b#1',
    )
    const part = fc.tuple(piece, fc.integer({ min: 1, max: 400 })).map(([text, times]) => text.repeat(times))
    const text = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(''))
    const property = fc.asyncProperty(text, fc.constantFrom('markdown', 'gfm'), async (given, mode) => {
      await retryMeasurement(async () => {
        const heldUp = await timeHeldUp({ text: given, mode, context: '/a/b', baseUrl })
        assert.ok(heldUp <= 250, `the event loop was blocked for ${heldUp} ms`)
      })
    })
    await fc.assert(property, { numRuns: 25 })
  })

  it('for one mebibyte of plain text, and for a context of half a mebibyte', async () => {
    const patient = new Markdown({ deadline: 20_000 })
    try {
      assert.match(
        await patient.render('host', { text: repeat('plain words '), mode: 'gfm', baseUrl }),
        /plain words/,
      )
      const context = `${'/'.repeat(500_000)}x`
      await retryMeasurement(async () => {
        const begun = performance.now()
        await patient.render('host', { text: '#1 '.repeat(80), mode: 'gfm', context, baseUrl })
        assert.ok(performance.now() - begun < 250)
      })
    } finally {
      await patient.close()
    }
  })
})

const HANGING = { text: repeat('[a](', 400_000), mode: 'markdown', baseUrl }
const PLAIN = { text: repeat('plain words ', 10_000), mode: 'markdown', baseUrl }
const SHORT = { ...PLAIN, text: 'plain words' }

const using = async (deadline: number, work: (markdown: Markdown) => Promise<void>) => {
  const own = new Markdown({ deadline })
  try {
    await work(own)
  } finally {
    await own.close()
  }
}

describe('Workers', () => {
  it('are replaced after a deadline has ended them', () =>
    using(1000, async (own) => {
      for (let round = 0; round < 3; round++)
        await assert.rejects(own.render('host', HANGING), { code: 'invalid', message: /1000 milliseconds/ })
      assert.match(await own.render('host', SHORT), /plain words/)
    }))

  it('render waiting texts, a text of another client before the later texts of the first', () =>
    using(5000, async (own) => {
      await Promise.all([own.render('a', PLAIN), own.render('b', PLAIN)])
      await retryMeasurement(async () => {
        const done: string[] = []
        const texts = [...'aaaaaaaaaab'].map((client) =>
          own.render(client, PLAIN).then(() => done.push(client)),
        )
        await Promise.all(texts)
        assert.ok(done.indexOf('b') < 8, done.join(''))
      })
    }))

  it('refuse texts of a client that sends too many, and render those of another client meanwhile', () =>
    using(3000, async (own) => {
      // Starts a thread for each of them: loading its modules takes long on a busy machine.
      await Promise.all(['greedy', 'other'].map((client) => own.render(client, SHORT)))
      const flood = Array.from({ length: 104 }, () => own.render('greedy', HANGING))
      const settled = Promise.allSettled(flood)
      let hasFirstEnded = false
      flood[0]!.catch(() => {
        hasFirstEnded = true
      })
      assert.match(await own.render('other', SHORT), /plain words/)
      assert.ok(!hasFirstEnded, 'it must not wait for the texts of the first client')
      const ends = (await settled).map((one) => (one.status === 'rejected' ? one.reason : undefined))
      const refused = ends.filter((reason) => reason?.code === 'unavailable')
      // 1 runs in a worker, 64 wait and are refused after 1.5 seconds, 39 are refused at once.
      assert.equal(refused.length, 103)
      assert.ok(refused.every(({ retryAfter }) => retryAfter === 1))
    }))

  it('end with close(), which makes later texts unavailable', () =>
    using(5000, async (own) => {
      assert.match(await own.render('host', PLAIN), /plain words/)
      await own.close()
      await assert.rejects(own.render('host', PLAIN), { code: 'unavailable' })
    }))

  it('do not keep the process alive while they are idle', async () => {
    const file = JSON.stringify(new URL('../../lib/markdown/index.ts', import.meta.url).href)
    const script = `
      const { Markdown } = await import(${file})
      const html = await new Markdown({ deadline: 5000 }).render('host', ${JSON.stringify(PLAIN)})
      console.log(html.length > 9000)`
    const words = ['--import', 'tsx', '--input-type=module', '-e', script]
    const { stdout } = await promisify(execFile)(process.execPath, words, { timeout: 120_000 })
    assert.equal(stdout, 'true\n')
  })
})
