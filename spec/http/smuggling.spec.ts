import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as v from 'valibot'
import { madeBefore } from '../support/test-server.ts'
import { plain, reply, route, serve } from './fixture.ts'

/** The paths that were handled, since a spec began. */
const handled: string[] = []

const post = { ...plain, method: 'POST', auth: 'optional', responses: { 200: v.string() } } as const
const routes = [
  route({
    ...post,
    path: '/text',
    operationId: 'text',
    accepts: 'text/plain',
    body: v.string(),
    handle: async ({ body }) => {
      handled.push('/text')
      return reply(200, body)
    },
  }),
  route({
    ...post,
    method: 'GET',
    path: '/smuggled',
    operationId: 'smuggled',
    handle: async () => {
      handled.push('/smuggled')
      return reply(200, 'smuggled')
    },
  }),
]

const floor = madeBefore(() => serve(routes))

const POST = 'POST /api/v1/text HTTP/1.1\r\nHost: x.test\r\n'
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`
/** The request that another reader would find inside an ambiguous one. */
const NEXT = 'GET /api/v1/smuggled HTTP/1.1\r\nHost: x.test\r\n\r\n'

const HEADERS: [what: string, bytes: string][] = [
  [
    'Content-Length and Transfer-Encoding',
    `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
  ],
  [
    'Transfer-Encoding and Content-Length',
    `${POST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
  ],
  ['two lengths that differ', `${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello`],
  ['two lengths that are the same', `${POST}Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello`],
  ['a list of lengths', `${POST}Content-Length: 5, 5\r\n\r\nhello`],
  ...['+5', '-5', '0x5', '5 5', '5_0', '', '99999999999999999999999'].map((length): [string, string] => [
    `the length "${length}"`,
    `${POST}Content-Length: ${length}\r\n\r\nhello`,
  ]),
  ...[
    'chunked, identity',
    'identity',
    'identity, chunked',
    'gzip, chunked',
    'chunked, chunked',
    'xchunked',
    'chunked;x=1',
    '"chunked"',
    '\x0bchunked',
    '',
  ].map((coding): [string, string] => [
    `the transfer coding ${JSON.stringify(coding)}`,
    `${POST}Transfer-Encoding: ${coding}\r\n\r\n0\r\n\r\n`,
  ]),
  [
    'two transfer codings',
    `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
  ],
  ['a transfer coding in HTTP/1.0', CHUNKED.replace('HTTP/1.1', 'HTTP/1.0')],
  ['a space after the name of a header', `${POST}Content-Length : 5\r\n\r\nhello`],
  ['a tab after the name of a header', `${POST}Transfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n`],
  ['a header without a name', `${POST}: x\r\n\r\n`],
  ['a header without a colon', `${POST}x\r\n\r\n`],
  ['a header in several lines', `${POST}A: b\r\n c\r\n\r\n`],
  ['a transfer coding in the next line', `${POST}Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n`],
  ['a length in the next line', `${POST}Content-Length:\r\n\t5\r\n\r\nhello`],
  ['a first header that begins with a space', 'POST /api/v1/text HTTP/1.1\r\n Host: x.test\r\n\r\n'],
  ['a bare LF after a header', `${POST}A: b\nC: d\r\n\r\n`],
  ['bare LFs all over', `${POST}\r\n`.replaceAll('\r\n', '\n')],
  ['a bare LF at the end of the headers', `${POST}A: b\r\n\n`],
  ['a bare CR in a header', `${POST}A: b\rC: d\r\n\r\n`],
  ['a bare CR in the request line', 'POST /api/v1/text\rx HTTP/1.1\r\nHost: x.test\r\n\r\n'],
  ['a NUL in a header', `${POST}A: b\0c\r\n\r\n`],
  ['two Host headers', `${POST}host: y.test\r\nContent-Length: 0\r\n\r\n`],
  ['more after the version', 'POST /api/v1/text HTTP/1.1 x\r\nHost: x.test\r\n\r\n'],
]

const CHUNKS: [what: string, bytes: string][] = [
  ...['0x5', '+5', '-5', ' 5', '5 ', '', '5;a\rb', 'fffffffffffffffff5'].map((size): [string, string] => [
    `the chunk size ${JSON.stringify(size)}`,
    `${size}\r\nhello\r\n0\r\n\r\n`,
  ]),
  ['a bare LF after a chunk size', '5\nhello\r\n0\r\n\r\n'],
  ['a bare LF in a chunk extension', '5;a\nb\r\nhello\r\n0\r\n\r\n'],
  ['a bare LF after a chunk', '5\r\nhello\n0\r\n\r\n'],
  ['a chunk that is longer than it says', '5\r\nhelloX\r\n0\r\n\r\n'],
  ['a length behind the last chunk', '5\r\nhello\r\n0\r\nContent-Length: 3\r\n\r\n'],
  ['bare LFs after the last chunk', '5\r\nhello\r\n0\n\n'],
]

describe('A request that two parsers could read differently', () => {
  for (const [what, bytes] of [
    ...HEADERS,
    ...CHUNKS.map(([what, chunks]) => [what, CHUNKED + chunks] as const),
  ])
    it(`is refused with 400 and the connection closed: ${what}`, async () => {
      handled.length = 0
      // raw() resolves when the server has closed the connection, and not before.
      const answer = await floor.raw(Buffer.from(bytes + NEXT, 'latin1'))
      assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n/)
      assert.match(answer, /^connection: close\r$/im)
      assert.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1, answer)
      assert.deepEqual(handled, [])
    })

  const AMBIGUOUS: [what: string, version: string, headers: string][] = [
    ['two Host headers', '1.1', 'Host: y.test\r\n'],
    ['a transfer coding in HTTP/1.0', '1.0', 'Transfer-Encoding: chunked\r\n'],
    ['another transfer coding', '1.1', 'Transfer-Encoding: gzip, chunked\r\n'],
  ]
  for (const path of ['/', '/nothing', '/api/swagger'])
    for (const [what, version, headers] of AMBIGUOUS)
      it(`is refused at ${path}, which no route takes, with all that follows it: ${what}`, async () => {
        handled.length = 0
        const bytes = `GET ${path} HTTP/${version}\r\nHost: x.test\r\n${headers}\r\n0\r\n\r\n${NEXT}`
        const answer = await floor.raw(bytes)
        assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*connection: close\r\n/i)
        assert.equal(answer.match(/HTTP\/1\.1 /g)?.length, 1, answer)
        assert.deepEqual(handled, [])
      })

  it('is refused without a Host header', async () => {
    handled.length = 0
    assert.match(
      await floor.raw('POST /api/v1/text HTTP/1.1\r\nContent-Length: 0\r\n\r\n'),
      /^HTTP\/1\.1 400 /,
    )
    assert.deepEqual(handled, [])
  })

  it('is refused for a chunk extension without an end, which would hide a body of any size', async () => {
    handled.length = 0
    const answer = await floor.raw(`${CHUNKED}5;${'a'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n${NEXT}`)
    assert.match(answer, /^HTTP\/1\.1 413 [\s\S]*connection: close/i)
    assert.deepEqual(handled, [])
  })

  it('is not a correctly chunked one that another request follows: both are answered', async () => {
    handled.length = 0
    const last = NEXT.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')
    const answer = await floor.raw(`${CHUNKED}2;a=b\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n${last}`)
    assert.equal(answer.match(/HTTP\/1\.1 200 OK/g)?.length, 2, answer)
    assert.match(answer, /"hello"/)
    assert.deepEqual(handled, ['/text', '/smuggled'])
  })
})
