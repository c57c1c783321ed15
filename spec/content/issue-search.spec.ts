import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { memory } from '../../drivers/memory/index.ts'
import { countReads } from '../counted.ts'
import { assertError, assertList } from '../support/expectations.ts'
import { times } from '../support/long.ts'
import { madeBefore, peopleBefore, start } from '../support/test-server.ts'

const ISSUES = times(100, 300)
const WORDS = Array.from({ length: 16 }, (_, word) => `word${word}`)
const PATH = '/repos/ann/demo/issues?state=all&limit=1&q='

const counted = countReads(memory())
const allot = madeBefore(() => start({ driver: counted.driver, repositories: false }))
const [ann] = peopleBefore(allot, 'ann')
before(async () => {
  await allot.as(ann, 'POST', '/user/repos', { name: 'demo' })
  const { issues } = allot.allot.hosting
  const viewer = { id: ann.id, admin: false }
  for (let number = 1; number <= ISSUES; number++)
    await issues.create(viewer, { owner: 'ann', name: 'demo' }, { title: WORDS.join(' ') })
})

const find = (words: readonly string[]) => allot.as(undefined, 'GET', PATH + words.join('+'))

describe('A search for issues', () => {
  it('finds by 16 words, and answers 422 to more of them', async () => {
    assertList(await find(WORDS), 'number', [ISSUES], ISSUES)
    assertList(await find([...WORDS, ...WORDS]), 'number', [ISSUES], ISSUES)
    assertError(await find([...WORDS, 'one']), 422, /^q: expected at most 16 different words, got 17$/)
    const hundred = Array.from({ length: 100 }, (_, word) => String.fromCodePoint(0x4e00 + word)).join(' ')
    const answer = await allot.as(undefined, 'GET', PATH + encodeURIComponent(hundred))
    assertError(answer, 422, /got 100$/)
    assertError(
      await allot.as(undefined, 'GET', `/repos/ann/none/issues?q=${encodeURIComponent(hundred)}`),
      422,
    )
  })

  it('reads each entry of its words once', async () => {
    const reads = await counted.during(() => find(WORDS))
    assert.ok(reads <= WORDS.length * ISSUES + 100, `${reads} reads`)
  })

  it('lets other requests have their turn after few entries', async () => {
    let most = 0
    let before = 0
    let isOver = false
    const turn = () => {
      most = Math.max(most, counted.reads() - before)
      before = counted.reads()
      if (!isOver) setImmediate(turn)
    }
    await counted.during(async () => {
      setImmediate(turn)
      assert.equal((await find(WORDS)).status, 200)
      isOver = true
    })
    assert.ok(most > 0 && most <= 600, `${most} reads between two turns of the event loop`)
  })

  it('is answered, however many searches another client sends', async () => {
    const query = { state: 'all', q: WORDS.join(' ') } as const
    const { issues } = allot.allot.hosting
    const at = { owner: 'ann', name: 'demo' }
    const searchOf = (client: string) => issues.list(null, at, query, { offset: 0, limit: 1 }, client)
    let finished = 0
    // On a slow machine, those that wait too long are refused.
    const flood = Array.from({ length: 40 }, () =>
      searchOf('address 192.0.2.1').then(
        () => finished++,
        () => undefined,
      ),
    )
    // Called in process: over a socket, a busy machine may take it only when the others are answered.
    await searchOf('address 192.0.2.2')
    assert.ok(finished < 40, `${finished} of the others were answered before`)
    await Promise.all(flood)
  })
})
