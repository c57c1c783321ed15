import { createHash } from 'node:crypto'
import { createWriteStream, mkdtempSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { ClassicLevel } from 'classic-level'
import { level } from '../../../../drivers/level/index.ts'
import { type OpenAllot, openAllot } from '../../../../lib/allot.ts'
import { syncToDisk } from '../../../../lib/disk.ts'
import { createAllot, type LedgerOperation } from '../../../../lib/index.ts'
import type { Sample } from './index.ts'
import { listen } from './listen.ts'
import { git, httpBackend } from './served-git.ts'
import { instance } from './served-instance.ts'

/**
 * The program of the processes that `host` starts: the server itself, or the bare one that it is compared
 * with.
 */
const [kind, word, number] = process.argv.slice(2)

/** Gives the sampled answer of Allot, its headers too, and does nothing else. */
const bare = ({ headers, text }: Sample) => {
  const body = Buffer.from(text)
  const all = Object.entries(headers).flat()
  listen((_req, res) => {
    res.writeHead(200, all)
    res.end(body)
  }, {})
}

const person = async ({ hosting }: OpenAllot, name: string) => {
  const account = await hosting.accounts.createUser({ name })
  await hosting.repositories.create(account, account, { name: 'demo' })
  return (await hosting.tokens.create(account.id, 'bench', ['all'])).secret
}

const fill = async ({ ledger }: OpenAllot, name: string, entries: number) => {
  for (let start = 0; start < entries; start += 10_000) {
    const length = Math.min(10_000, entries - start)
    const operations = Array.from({ length }, (_, at): LedgerOperation => {
      const key = `${name} ${start + at}`
      return {
        op: 'put',
        kind: 'artifacts',
        key,
        repository: `${name}/demo`,
        name: key,
        size: (start + at) % 977,
        run: 1,
      }
    })
    await ledger.batch(operations)
  }
}

/** Two owners, one with few and one with many ledger entries. */
const allot = async (many: number) => {
  const folder = mkdtempSync(join(tmpdir(), 'allot-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const served = await openAllot({ driver: level(folder), repositories: false })
  const tokens = { few: await person(served, 'few'), many: await person(served, 'many') }
  await fill(served, 'few', 10)
  await fill(served, 'many', many)
  let size = 0
  listen((req, res) => {
    const [, owner] = /^\/touch\/(\w+)$/.exec(req.url ?? '') ?? []
    if (owner === undefined) return served.handler(req, res)
    // Another size each time: the owner's usage changes, so the next read finds nothing memoized.
    const entry = {
      kind: 'lfs',
      key: `touch ${owner}`,
      repository: `${owner}/demo`,
      name: 'x',
      size: ++size,
    } as const
    served.ledger.put(entry).then(
      () => res.end(),
      (error) => res.destroy(error),
    )
  }, tokens)
}

/** Writes each body to a file, and answers once it is on the disk. */
const syncedFiles = (folder: string) => {
  let number = 0
  listen((req, res) => {
    const file = createWriteStream(join(folder, `sent-${number++}`), { flush: true })
    pipeline(req, file).then(
      () => res.writeHead(201).end(),
      (error) => res.destroy(error),
    )
  }, {})
}

/**
 * The same with what a registry of packages must do besides: four digests, and a folder whose new entry is on
 * the disk.
 */
const syncedPackages = (folder: string) => {
  let number = 0
  listen((req, res) => {
    const file = createWriteStream(join(folder, `package-${number++}`), { flush: true })
    const hashes = ['md5', 'sha1', 'sha256', 'sha512'].map((name) => createHash(name))
    req.on('data', (chunk: Buffer) => {
      for (const hash of hashes) hash.update(chunk)
    })
    pipeline(req, file)
      .then(() => syncToDisk(folder))
      .then(
        () => {
          for (const hash of hashes) hash.digest('hex')
          res.writeHead(201).end()
        },
        (error) => res.destroy(error),
      )
  }, {})
}

const VALUE = Buffer.alloc(100, 'x')

/**
 * Writes so many keys for each request, and answers once they are on the disk. Requests that wait at the same
 * time share a batch.
 */
const syncedBatches = async (keys: number) => {
  const folder = mkdtempSync(join(tmpdir(), 'allot-bench-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const raw = new ClassicLevel<Buffer, Buffer>(folder, { keyEncoding: 'buffer', valueEncoding: 'buffer' })
  await raw.open()
  let made = 0
  const put = () => ({ type: 'put' as const, key: Buffer.from(`key ${++made * 7919}`), value: VALUE })
  let waiting: ServerResponse[] = []
  let isWriting = false
  const write = async () => {
    isWriting = true
    while (waiting.length > 0) {
      const answered = waiting
      waiting = []
      await raw.batch(Array.from({ length: answered.length * keys }, put), { sync: true })
      for (const res of answered) res.writeHead(204).end()
    }
    isWriting = false
  }
  listen((req, res) => {
    void buffer(req).then(() => {
      waiting.push(res)
      if (!isWriting) void write()
    })
  }, {})
}

/** The code of a host: the handler of a data folder on its own server. */
const embedded = async () => {
  const data = mkdtempSync(join(tmpdir(), 'allot-bench-'))
  process.once('exit', () => rmSync(data, { recursive: true, force: true }))
  const served = await createAllot({ data: join(data, 'data') })
  listen(served.handler, await served.setUp({ admin: 'root' }))
}

if (kind === 'bare') bare(JSON.parse(word!))
else if (kind === 'git') await git(listen)
else if (kind === 'http-backend') httpBackend(listen, word!)
else if (kind === 'instance') await instance(listen, word!, Number(number))
else if (kind === 'synced-files') syncedFiles(word!)
else if (kind === 'synced-packages') syncedPackages(word!)
else if (kind === 'synced-batches') await syncedBatches(Number(word))
else if (kind === 'embedded') await embedded()
else await allot(Number(word))
