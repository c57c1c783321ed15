import assert from 'node:assert/strict'
import { performance } from 'node:perf_hooks'
import { after, describe, it } from 'node:test'
import fc from 'fast-check'
import { AllotError } from '../../lib/errors.ts'
import { Markdown } from '../../lib/markdown/index.ts'

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

const using = async (deadline: number, work: (markdown: Markdown) => Promise<void>) => {
  const own = new Markdown({ deadline })
  try {
    await work(own)
  } finally {
    await own.close()
  }
}

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
