import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { after, describe, it, type TestContext } from 'node:test'
import fc from 'fast-check'
import { AllotError } from '../../lib/errors.ts'
import { Markdown } from '../../lib/markdown/index.ts'
import { run } from '../support/child.ts'
import { waitFor } from '../support/wait-for.ts'

/** Short, since most of the hostile texts reach it: both ends are right. */
const DEADLINE = 150
/** For texts that must not reach it. */
const PATIENT = 60_000
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

/** Renders a text to its end, while the serving thread goes on with other work. */
const assertRendered = async (input: Parameters<Markdown['render']>[1]): Promise<void> => {
  const begun = performance.eventLoopUtilization()
  await markdown.render('host', input).catch(refusal)
  const { active, utilization } = performance.eventLoopUtilization(begun)
  // Of a short text, to send it takes as long as to render it.
  if (active > 50) assert.ok(utilization < 0.5, `the event loop was busy for ${utilization} of the time`)
}

describe('Rendering ends within its deadline and does not block the event loop', () => {
  for (const [name, text] of HOSTILE)
    for (const mode of ['markdown', 'gfm'])
      it(`for ${name} (${text.length} bytes), in the mode ${mode}`, () =>
        assertRendered({ text, mode, context: '/a/b', baseUrl }))

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
      await assertRendered({ text: given, mode, context: '/a/b', baseUrl })
    })
    await fc.assert(property, { numRuns: 25 })
  })

  it('for one mebibyte of plain text, and for a context of half a mebibyte', async () => {
    await using(PATIENT, async (patient) => {
      assert.match(
        await patient.render('host', { text: repeat('plain words '), mode: 'gfm', baseUrl }),
        /plain words/,
      )
      const millisecondsOf = async (length: number): Promise<number> => {
        const context = `${'/'.repeat(length)}x`
        const begun = performance.now()
        await patient.render('host', { text: '#1 '.repeat(80), mode: 'gfm', context, baseUrl })
        return performance.now() - begun
      }
      await millisecondsOf(500_000)
      const fastest = { short: Number.POSITIVE_INFINITY, long: Number.POSITIVE_INFINITY }
      for (let round = 0; round < 5; round++) {
        fastest.short = Math.min(fastest.short, await millisecondsOf(250_000))
        fastest.long = Math.min(fastest.long, await millisecondsOf(4_000_000))
      }
      // 16 times are linear, 256 times are not. What a short one takes besides makes it less.
      assert.ok(fastest.long / fastest.short < 80, JSON.stringify(fastest))
    })
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

/**
 * Keeps the timers with a delay from running.
 * @returns their functions, in the order in which they were set
 */
const heldTimers = (t: TestContext, delayMs: number): (() => void)[] => {
  const { setTimeout } = globalThis
  const held: (() => void)[] = []
  const set = (run: () => void, delay?: number, ...args: []) => {
    if (delay !== delayMs) return setTimeout(run, delay, ...args)
    held.push(run)
    return setTimeout(() => undefined, 2 ** 31 - 1)
  }
  t.mock.method(globalThis, 'setTimeout', set as typeof setTimeout)
  return held
}

/** A text whose only name is looked up as soon as a worker is free. It is rendered when the name is told. */
const mentioning = () => {
  let isBegun = false
  let tell: (names: readonly string[]) => void = () => undefined
  const names = new Promise<readonly string[]>((resolve) => {
    tell = resolve
  })
  const knownNames = () => {
    isBegun = true
    return names
  }
  return { input: { ...SHORT, text: '@ann writes', mode: 'gfm', knownNames }, isBegun: () => isBegun, tell }
}

/** Milliseconds that a text waits for a worker. */
const MAX_WAIT_MS = 1500

describe('Workers', () => {
  it('are replaced after a deadline has ended them', (t) =>
    using(PATIENT, async (own) => {
      const deadlines = heldTimers(t, PATIENT)
      for (let round = 1; round <= 3; round++) {
        const refused = assert.rejects(own.render('host', HANGING), {
          code: 'invalid',
          message: /60000 milliseconds/,
        })
        await waitFor(() => deadlines.length === round)
        deadlines.at(-1)!()
        await refused
      }
      assert.match(await own.render('host', SHORT), /plain words/)
    }))

  it('render waiting texts, a text of another client before the later texts of the first', (t) =>
    using(PATIENT, async (own) => {
      heldTimers(t, MAX_WAIT_MS)
      const { input, tell } = mentioning()
      const done: string[] = []
      const first = own.render('a', input).then(() => done.push('a'))
      const later = Array.from({ length: 9 }, () => own.render('a', PLAIN).then(() => done.push('a')))
      await own.render('b', PLAIN)
      done.push('b')
      tell([])
      await Promise.all([first, ...later])
      assert.equal(done.join(''), 'baaaaaaaaaa')
    }))

  it('refuse texts of a client that sends too many, and render those of another client meanwhile', (t) =>
    using(PATIENT, async (own) => {
      const waits = heldTimers(t, MAX_WAIT_MS)
      const { input, isBegun, tell } = mentioning()
      const first = own.render('greedy', input)
      const flood = Array.from({ length: 103 }, () => own.render('greedy', SHORT))
      const settled = Promise.allSettled(flood)
      assert.match(await own.render('other', SHORT), /plain words/)
      assert.ok(isBegun())
      // 1 has a worker, 64 wait and are refused after 1.5 seconds, 39 are refused at once.
      assert.equal(waits.length, 64)
      for (const end of waits) end()
      for (const one of await settled) {
        assert.ok(one.status === 'rejected')
        assert.deepEqual([one.reason.code, one.reason.retryAfter], ['unavailable', 1])
      }
      tell(['ann'])
      assert.match(await first, /class="mention"/)
    }))

  it('end with close(), which makes later texts unavailable', () =>
    using(PATIENT, async (own) => {
      assert.match(await own.render('host', PLAIN), /plain words/)
      await own.close()
      await assert.rejects(own.render('host', PLAIN), { code: 'unavailable' })
    }))

  it('do not keep the process alive while they are idle', async () => {
    const file = JSON.stringify(new URL('../../lib/markdown/index.ts', import.meta.url).href)
    const script = `
      const { Markdown } = await import(${file})
      const html = await new Markdown({ deadline: ${PATIENT} }).render('host', ${JSON.stringify(PLAIN)})
      console.log(html.length > 9000)`
    const words = ['--import', 'tsx', '--input-type=module', '-e', script]
    const { stdout } = await run(process.execPath, words)
    assert.equal(stdout, 'true\n')
  })
})
