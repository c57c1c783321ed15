import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { memory } from '../../../drivers/memory/index.ts'
import { openAllot } from '../../../lib/allot.ts'
import type { StorageDriver, WriteTransaction } from '../../../lib/storage/index.ts'
import { initialize, pushes } from './pushes.ts'
import { atLeast, type Bench, inTurns, type Measurement } from './report/measure.ts'
import { hostOnAllCores } from './servers/index.ts'
import { type Load, loadWith, local } from './servers/load.ts'
import { API, type Program, post, program } from './servers/program.ts'

const REPOSITORIES = 40
const MIB = 1024 * 1024

const nameOf = (number: number) => `r-${number}`

/** Counts the keys that a driver writes. */
const counting = (driver: StorageDriver, count: (key: Uint8Array) => void): StorageDriver => ({
  ...driver,
  write: (body) =>
    driver.write((tx) => {
      const counted: WriteTransaction = {
        get: (key) => tx.get(key),
        getMany: (keys) => tx.getMany(keys),
        range: (range) => tx.range(range),
        put: (key, value) => {
          count(key)
          tx.put(key, value)
        },
        delete: (key) => {
          count(key)
          tx.delete(key)
        },
      }
      return body(counted)
    }),
})

/**
 * How many keys a star, and a ledger entry of an owner that has some, write with all indexes and counters.
 */
const keysOf = async () => {
  const keys = new Set<string>()
  const driver = counting(memory(), (key) => keys.add(Buffer.from(key).toString('latin1')))
  const { hosting, ledger, close } = await openAllot({ driver, repositories: false })
  const root = await hosting.accounts.createUser({ name: 'root' })
  await hosting.repositories.create(root, root, { name: 'demo' })
  const put = (key: string) =>
    ledger.put({ kind: 'artifacts', key, repository: 'root/demo', name: 'x', size: 1, run: 1 })
  await put('first')
  keys.clear()
  await hosting.relations.stars.set({ id: root.id, admin: false }, { owner: 'root', name: 'demo' })
  const star = keys.size
  keys.clear()
  await put('second')
  const entry = keys.size
  await close()
  return { star, entry }
}

interface Compared {
  name: string
  unit: Measurement['unit']
  against: string
  /** The least ratio. */
  goal: number
}

/** In turns with the same work by hand. */
const compare = async (
  { name, unit, against, goal }: Compared,
  rounds: number,
  ours: () => Promise<number>,
  hand: () => Promise<number>,
): Promise<Measurement> => {
  const [value, reference] = (await inTurns(rounds, [ours, hand])) as [number, number]
  return { name, unit, value, reference, against, ...atLeast(goal, value / reference) }
}

/**
 * Durable writes of 32 connections, against a bare server that writes as many keys for each request, in
 * synced batches.
 */
const batched = async (
  { name, keys }: { name: string; keys: number },
  rounds: number,
  load: () => Load,
): Promise<Measurement> => {
  const bare = await hostOnAllCores('synced-batches', String(keys))
  const against = `bare node:http that writes ${keys} keys, in synced batches of all that wait`
  const compared = { name, unit: 'requests/s' as const, against, goal: 0.8 }
  const rate = async (to: Load) => (await loadWith(to)).rate
  const hand = () => rate({ ...load(), base: local(bare.port) })
  return compare(compared, rounds, () => rate(load()), hand).finally(bare.stop)
}

const stars = ({ port, token }: Program) => {
  const names = Array.from({ length: REPOSITORIES }, (_, number) => nameOf(number))
  const requests = (['PUT', 'DELETE'] as const).flatMap((method) =>
    names.map((name) => ({ method, path: `${API}/user/starred/root/${name}` })),
  )
  return (): Load => ({ base: local(port), path: '/', tokens: [token], requests })
}

const entries = ({ port, token }: Program) => {
  let turn = 0
  const body = JSON.stringify({ repository: `root/${nameOf(0)}`, name: 'x', size: 1, run: 1 })
  return (): Load => {
    const path = `${API}/admin/ledger/artifacts/key-${turn++}-{n}`
    return { base: local(port), path, tokens: [token], requests: [{ method: 'PUT', path, body }] }
  }
}

/** So many a second, a few at once. */
const rateOf = async (count: number, atOnce: number, work: (number: number) => Promise<unknown>) => {
  let next = 0
  const begun = performance.now()
  const worker = async () => {
    while (next < count) await work(next++)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return (count / (performance.now() - begun)) * 1000
}

const UPLOADS = 40
const content = Buffer.alloc(MIB, 'Allot')

const put = async (url: string, token: string): Promise<void> => {
  const headers = { authorization: `token ${token}` }
  const { status } = await fetch(url, { method: 'PUT', headers, body: content })
  if (status !== 201) throw new Error(`PUT ${url}: ${status}`)
}

/**
 * Files of 1 MiB, against bare servers that write each to the disk and sync it, and that also do what a
 * registry of packages must.
 */
const uploads = async ({ port, token }: Program, folder: string, rounds: number): Promise<Measurement[]> => {
  const bare = await hostOnAllCores('synced-files', folder)
  const registry = await hostOnAllCores('synced-packages', folder)
  let turn = 0
  const send = (to: number) => () => {
    const base = `${local(to)}/api/packages/root/generic/files/${turn++}`
    return rateOf(UPLOADS, 4, (number) => put(`${base}/${number}`, token))
  }
  try {
    const servers = [port, bare.port, registry.port].map(send)
    const [value, reference, complete] = (await inTurns(rounds, servers)) as [number, number, number]
    const sent = { name: 'a file of 1 MiB, sent', unit: 'MiB/s' as const, value }
    const against = 'bare node:http that writes a synced file'
    return [
      { ...sent, reference, against, ...atLeast(0.8, value / reference) },
      { ...sent, reference: complete, against: `${against}, syncs its folder and computes the four digests` },
    ]
  } finally {
    await Promise.all([bare.stop(), registry.stop()])
  }
}

const CREATED = 20

/** Repositories with a first commit, against `git init` and `git fast-import` of such a commit. */
const repositories = async (served: Program, folder: string, rounds: number): Promise<Measurement> => {
  let turn = 0
  const ours = () => {
    const prefix = `n-${turn++}`
    return rateOf(CREATED, 2, (number) =>
      post(served, '/user/repos', { name: `${prefix}-${number}`, auto_init: true }),
    )
  }
  const hand = () => {
    const prefix = join(folder, `hand-${turn++}`)
    return rateOf(CREATED, 2, (number) => initialize(`${prefix}-${number}.git`))
  }
  const compared = { name: 'a repository with its first commit, 2 at once', unit: 'requests/s' as const }
  return compare({ ...compared, against: '`git init` and `git fast-import`', goal: 0.6 }, rounds, ours, hand)
}

/** The writes of clients, against the same work written by hand. */
export const changes: Bench = {
  name: 'changes',
  sendsLoad: true,
  async run({ rounds, say }) {
    const folder = mkdtempSync(join(tmpdir(), 'allot-bench-'))
    // The work by hand runs on all cores, too.
    const served = await program(join(folder, 'd'), { isPinned: false })
    try {
      for (let number = 0; number < REPOSITORIES; number++)
        await post(served, '/user/repos', { name: nameOf(number) })
      const { star, entry } = await keysOf()
      say('writing stars and ledger entries')
      const measured = [
        await batched({ name: 'a star set or taken away', keys: star }, rounds, stars(served)),
        await batched({ name: 'a ledger entry', keys: entry }, rounds, entries(served)),
      ]
      say('sending files, creating repositories and pushing')
      measured.push(...(await uploads(served, folder, rounds)))
      measured.push(await repositories(served, folder, rounds))
      measured.push(await pushes(served, nameOf(0), folder, rounds))
      return measured
    } finally {
      await served.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}
