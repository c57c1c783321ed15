import type { Chance } from './chance.ts'
import type { Known, Maker } from './deed.ts'
import { type Entry, type Family, pathOf } from './family.ts'

const KINDS = ['attachments', 'artifacts', 'packages', 'lfs'] as const

/** Few keys, so that most writes replace an entry, often in another repository. */
const newEntry = (family: Family, chance: Chance, known: Known): Entry | undefined => {
  const kind = chance.pick(KINDS)!
  const owned = kind === 'packages' && chance.likely(0.5)
  const lies = owned
    ? { owner: chance.pick([...family.people.keys(), family.organization])! }
    : chance.pick([...family.repositories.keys()])
  if (lies === undefined) return undefined
  const key = `${family.name}-${chance.below(5)}`
  const on = chance.pick(['issue', 'release'] as const)!
  return {
    kind,
    key,
    lies,
    name: `n${known.next()}`,
    size: chance.below(1e9),
    ...(kind === 'attachments' ? { on } : {}),
  }
}

const itemOf = (family: Family, { kind, lies, name, size, on }: Entry) => ({
  ...(typeof lies === 'string' ? { repository: pathOf(family, lies) } : lies),
  name,
  size,
  ...(on === undefined ? {} : { on, index: 1 }),
  ...(kind === 'packages' ? { type: 'npm', version: '1' } : {}),
})

const entryPath = ({ kind, key }: Entry) => `/admin/ledger/${kind}/${key}`
const at = ({ kind, key }: Entry) => `${kind}/${key}`

const putEntry: Maker = (family, chance, known) => {
  const entry = newEntry(family, chance, known)
  return (
    entry && {
      method: 'PUT',
      path: entryPath(entry),
      body: itemOf(family, entry),
      change: (after) => void after.entries.set(at(entry), entry),
    }
  )
}

/** More than one write removes or moves at once, so that the rest of it is done later, in steps. */
const HOARD = 600

const hoard: Maker = (family, chance, known) => {
  const lies = chance.pick([...family.repositories.keys()])
  if (lies === undefined || [...family.entries.values()].some(isHoard)) return undefined
  const number = known.next()
  const key = `${family.name}-hoard${number}`
  const entry: Entry = {
    kind: 'lfs',
    key,
    lies,
    name: `n${number}`,
    size: 1 + chance.below(1e6),
    times: HOARD,
  }
  const item = itemOf(family, entry)
  const lines = Array.from({ length: HOARD }, (_, one) =>
    JSON.stringify({ op: 'put', kind: 'lfs', key: `${key}-${one}`, ...item }),
  )
  return {
    method: 'POST',
    path: '/admin/ledger',
    headers: { 'content-type': 'application/x-ndjson' },
    body: lines.join('\n'),
    change: (after) => void after.entries.set(at(entry), entry),
  }
}

const isHoard = ({ times = 1 }: Entry): boolean => times > 1

const deleteEntry: Maker = (family, chance) => {
  const entry = chance.pick([...family.entries.values()].filter((one) => !isHoard(one)))
  return (
    entry && {
      method: 'DELETE',
      path: entryPath(entry),
      change: (after) => void after.entries.delete(at(entry)),
    }
  )
}

const batch: Maker = (family, chance, known) => {
  const entries = Array.from({ length: 5 + chance.below(40) }, () => newEntry(family, chance, known))
  const made = entries.filter((entry) => entry !== undefined)
  const operations = made.map((entry) => ({ entry, op: chance.likely(0.75) ? 'put' : 'delete' }))
  if (operations.length === 0) return undefined
  const lines = operations.map(({ entry, op }) => {
    const { kind, key } = entry
    return JSON.stringify({ op, kind, key, ...(op === 'put' ? itemOf(family, entry) : {}) })
  })
  return {
    method: 'POST',
    path: '/admin/ledger',
    headers: { 'content-type': 'application/x-ndjson' },
    body: lines.join('\n'),
    change(after) {
      for (const { entry, op } of operations)
        if (op === 'put') after.entries.set(at(entry), entry)
        else after.entries.delete(at(entry))
    },
  }
}

export const ledgerMakers: { weight: number; make: Maker }[] = [
  { weight: 8, make: putEntry },
  { weight: 3, make: deleteEntry },
  { weight: 4, make: batch },
  { weight: 1, make: hoard },
]
