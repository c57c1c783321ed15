import { add, subtract } from '../integers.ts'
import { type Errands, isUnderWay, type Work } from '../records/errands.ts'
import { paced } from '../records/paced.ts'
import {
  type Container,
  containers,
  type LedgerEntry,
  ledgerEntries,
  nothingKept,
} from '../records/schema.ts'
import type { Change } from '../records/store.ts'
import type { Tally, UsageDelta } from './tally.ts'

/**
 * Repositories as quota sees them. "A repository that turns private, is renamed, transferred or deleted moves or removes
 * its usage in the same atomic write": every operation here works within the caller's transaction, and changes no more
 * entries than one write may, for a repository lends no more to its owner's shelf (see shelves.ts).
 */
export interface Containers {
  /** @param git bytes of git data, without LFS. */
  open(tx: Change, container: { id: number; owner: number; private: boolean; git: number }): Promise<void>
  resize(tx: Change, id: number, git: number): Promise<void>
  setPrivate(tx: Change, id: number, isPrivate: boolean): Promise<void>
  move(tx: Change, id: number, owner: number): Promise<void>
  /** Removes the container, and with it every ledger entry in it: at most so many now. @returns how many now */
  close(tx: Change, id: number, limit: number): Promise<number>
}

export const createContainers = (tally: Tally, errands: Errands): Containers => {
  /** Replaces a container and takes the difference to the owner's usage (or both owners', when it moves). */
  const replace = async (tx: Change, id: number, edit: (before: Container) => Container) => {
    const before = await existing(tx, id)
    const after = edit(before)
    if (after.owner === before.owner) {
      await tally.add(tx, after.owner, plus(usageOf(after), negative(usageOf(before))))
    } else {
      await tally.add(tx, before.owner, negative(usageOf(before)))
      await tally.add(tx, after.owner, usageOf(after))
    }
    await containers.save(tx, after)
  }

  return {
    async open(tx, { id, owner, private: isPrivate, git }) {
      const container = { id, owner, private: isPrivate, git, ...empty }
      await containers.save(tx, container)
      await tally.add(tx, owner, usageOf(container))
    },
    resize: (tx, id, git) => replace(tx, id, (before) => ({ ...before, git })),
    setPrivate: (tx, id, isPrivate) => replace(tx, id, (before) => ({ ...before, private: isPrivate })),
    async move(tx, id, owner) {
      await replace(tx, id, (before) => ({ ...before, owner }))
      for await (const entry of paced(await lentBy(tx, id))) await ledgerEntries.save(tx, { ...entry, owner })
    },
    async close(tx, id, limit) {
      const container = await existing(tx, id)
      await containers.remove(tx, [id])
      await tally.add(tx, container.owner, negative(usageOf(container)))
      // Nobody reads the shelf of an owner that is gone, so there is no hurry.
      if (await isUnderWay(tx, 'owner', container.owner)) return errands.begin(tx, 'entries', id, limit)
      const did = await removeAll(tx, await lentBy(tx, id))
      return did + (await errands.begin(tx, 'entries', id, limit - did))
    },
  }
}

/** Removes the entries of a container that is gone. */
export const removingEntries: Work = {
  async step(tx, id, limit) {
    if ((await containers.get(tx, [id])) !== undefined) return 0
    const lent = await removeAll(tx, await lentBy(tx, id, limit))
    if (lent === limit) return lent
    const kept = await ledgerEntries.list(tx, 'shelf', { prefix: [id], limit: limit - lent })
    return lent + (await removeAll(tx, kept))
  },
}

const removeAll = async (tx: Change, entries: readonly LedgerEntry[]): Promise<number> => {
  for await (const { kind, key } of paced(entries)) await ledgerEntries.remove(tx, [kind, key])
  return entries.length
}

/** What a container has lent to its owner's shelf. */
const lentBy = (tx: Change, id: number, limit?: number): Promise<LedgerEntry[]> =>
  ledgerEntries.list(tx, 'container', { prefix: [id], ...(limit === undefined ? {} : { limit }) })

const empty = { lfs: 0, issues: 0, releases: 0, artifacts: 0, packages: 0, lent: 0, ...nothingKept }

const existing = async (tx: Change, id: number): Promise<Container> => {
  const container = await containers.get(tx, [id])
  if (container === undefined) throw new Error(`no container ${id}`)
  return container
}

const usageOf = ({ lfs, issues, releases, artifacts, packages, ...container }: Container): UsageDelta => ({
  lfs,
  issues,
  releases,
  artifacts,
  packages,
  [container.private ? 'reposPrivate' : 'reposPublic']: container.git,
})

const negative = (delta: UsageDelta): UsageDelta =>
  Object.fromEntries(Object.entries(delta).map(([kind, size]) => [kind, subtract(0, size)]))

const plus = (one: UsageDelta, other: UsageDelta): UsageDelta => {
  const sum: UsageDelta = { ...one }
  for (const kind of Object.keys(other) as (keyof UsageDelta)[])
    sum[kind] = add(sum[kind] ?? 0, other[kind] ?? 0)
  return sum
}
