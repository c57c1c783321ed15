import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import type { Served } from '../../bin/program.ts'
import { buildProgram } from '../../support/build.ts'
import { memoryOf } from './memory.ts'
import type { Bench } from './report/measure.ts'

const MIB = 1024 * 1024
const SIZE = 1024
const MAX = 150

/** A gibibyte of which no two MiB are the same. */
async function* content(): AsyncGenerator<Buffer> {
  for (let at = 0; at < SIZE; at++) yield Buffer.alloc(MIB, `${at} of ${SIZE};`)
}

const oidOf = async (): Promise<string> => {
  const hash = createHash('sha256')
  for await (const chunk of content()) hash.update(chunk)
  return hash.digest('hex')
}

/** The built program is measured. */
const started = async (folder: string): Promise<{ server: Served; token: string }> => {
  process.env.ALLOT_SPEC_PROGRAM = buildProgram()
  const { served } = await import('../../bin/program.ts')
  const server = await served(['--data', folder])
  for (let attempts = 0; !TOKEN.test(server.printed()) && attempts < 500; attempts++) await setTimeout(20)
  return { server, token: TOKEN.exec(server.printed())![1]! }
}
const TOKEN = /^ {2}([0-9a-f]{40})$/m

const context = (
  url: string,
  method: string,
  token: string,
  work: (to: ReturnType<typeof request>) => Promise<void>,
): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = {
      authorization: `token ${token}`,
      ...(method === 'PUT' ? { 'content-length': SIZE * MIB } : {}),
    }
    const to = request(url, { method, headers }, (res) => {
      res.resume().once('end', () => {
        if (res.statusCode === 200) resolve()
        else reject(new Error(`${method} ${url}: ${res.statusCode}`))
      })
    })
    to.once('error', reject)
    work(to).catch(reject)
  })

const speedOf = async (work: () => Promise<unknown>): Promise<number> => {
  const begun = performance.now()
  await work()
  return (SIZE / (performance.now() - begun)) * 1000
}

export const lfs: Bench = {
  name: 'lfs',
  async run({ say }) {
    say(`sending an LFS object of ${SIZE} MiB, and getting it back`)
    const oid = await oidOf()
    const folder = mkdtempSync(join(tmpdir(), 'allot-bench-'))
    const { server, token } = await started(folder)
    const base = `${new URL(server.api).origin}/root/demo.git/info/lfs/objects`
    try {
      const made = await fetch(`${server.api}/user/repos`, {
        method: 'POST',
        headers: { authorization: `token ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'demo' }),
      })
      if (made.status !== 201) throw new Error(`no repository was made: ${made.status}`)
      const before = memoryOf(server.child.pid!, 'VmHWM')
      const up = await speedOf(() =>
        context(`${base}/${oid}/${SIZE * MIB}`, 'PUT', token, (to) => pipeline(Readable.from(content()), to)),
      )
      const peak = memoryOf(server.child.pid!, 'VmHWM')
      const down = await speedOf(() => context(`${base}/${oid}`, 'GET', token, async (to) => void to.end()))
      return [
        { name: 'an LFS object of 1 GiB, sent', value: up, unit: 'MiB/s' },
        { name: 'the same, fetched', value: down, unit: 'MiB/s' },
        ...(peak === undefined || before === undefined
          ? []
          : [
              { name: 'the most memory of the server before', value: before, unit: 'MiB' as const },
              {
                name: 'the same while it is sent',
                value: peak,
                unit: 'MiB' as const,
                goal: `under ${MAX} MiB`,
                isReached: peak < MAX,
              },
            ]),
      ]
    } finally {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
