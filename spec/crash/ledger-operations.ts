import { type ClientModel, type Entry, pathOf } from './client-model.ts'
import type { ClientState, OperationMaker } from './operation.ts'
import type { Random } from './random.ts'

const KINDS = ['attachments', 'artifacts', 'packages', 'lfs'] as const

/** Uses few keys, so that most writes replace an entry, often in another repository. */
const newEntry = (model: ClientModel, random: Random, known: ClientState): Entry | undefined => {
  const kind = random.pick(KINDS)!
  const owned = kind === 'packages' && random.likely(0.5)
  const lies = owned
    ? { owner: random.pick([...model.people.keys(), model.organization])! }
    : random.pick([...model.repositories.keys()])
  if (lies === undefined) return undefined
  const key = `${model.name}-${random.below(5)}`
  const on = random.pick(['issue', 'release'] as const)!
  return {
    kind,
    key,
    location: lies,
    name: `n${known.next()}`,
    size: random.below(1e9),
    ...(kind === 'attachments' ? { on } : {}),
  }
}

const itemOf = (model: ClientModel, { kind, location, name, size, on }: Entry) => ({
  ...(typeof location === 'string' ? { repository: pathOf(model, location) } : location),
  name,
  size,
  ...(on === undefined ? {} : { on, index: 1 }),
  ...(kind === 'packages' ? { type: 'npm', version: '1' } : {}),
})

const entryPath = ({ kind, key }: Entry) => `/admin/ledger/${kind}/${key}`
const keyOf = ({ kind, key }: Entry) => `${kind}/${key}`

const putEntry: OperationMaker = (model, random, known) => {
  const entry = newEntry(model, random, known)
  return (
    entry && {
      method: 'PUT',
      path: entryPath(entry),
      body: itemOf(model, entry),
      change: (after) => void after.entries.set(keyOf(entry), entry),
    }
  )
}

/** Entries of a bulk: more than one transaction removes or moves, so that a background job does the rest. */
const BULK_SIZE = 600

const putBulkEntry: OperationMaker = (model, random, known) => {
  const lies = random.pick([...model.repositories.keys()])
  if (lies === undefined || [...model.entries.values()].some(isBulk)) return undefined
  const number = known.next()
  const key = `${model.name}-bulk${number}`
  const entry: Entry = {
    kind: 'lfs',
    key,
    location: lies,
    name: `n${number}`,
    size: 1 + random.below(1e6),
    count: BULK_SIZE,
  }
  const item = itemOf(model, entry)
  const lines = Array.from({ length: BULK_SIZE }, (_, one) =>
    JSON.stringify({ op: 'put', kind: 'lfs', key: `${key}-${one}`, ...item }),
  )
  return {
    method: 'POST',
    path: '/admin/ledger',
    headers: { 'content-type': 'application/x-ndjson' },
    body: lines.join('\n'),
    change: (after) => void after.entries.set(keyOf(entry), entry),
  }
}

const isBulk = ({ count = 1 }: Entry): boolean => count > 1

const deleteEntry: OperationMaker = (model, random) => {
  const entry = random.pick([...model.entries.values()].filter((one) => !isBulk(one)))
  return (
    entry && {
      method: 'DELETE',
      path: entryPath(entry),
      change: (after) => void after.entries.delete(keyOf(entry)),
    }
  )
}

const batch: OperationMaker = (model, random, known) => {
  const entries = Array.from({ length: 5 + random.below(40) }, () => newEntry(model, random, known))
  const made = entries.filter((entry) => entry !== undefined)
  const operations = made.map((entry) => ({ entry, op: random.likely(0.75) ? 'put' : 'delete' }))
  if (operations.length === 0) return undefined
  const lines = operations.map(({ entry, op }) => {
    const { kind, key } = entry
    return JSON.stringify({ op, kind, key, ...(op === 'put' ? itemOf(model, entry) : {}) })
  })
  return {
    method: 'POST',
    path: '/admin/ledger',
    headers: { 'content-type': 'application/x-ndjson' },
    body: lines.join('\n'),
    change(after) {
      for (const { entry, op } of operations)
        if (op === 'put') after.entries.set(keyOf(entry), entry)
        else after.entries.delete(keyOf(entry))
    },
  }
}

export const ledgerMakers: { weight: number; make: OperationMaker }[] = [
  { weight: 8, make: putEntry },
  { weight: 3, make: deleteEntry },
  { weight: 4, make: batch },
  { weight: 1, make: putBulkEntry },
]
