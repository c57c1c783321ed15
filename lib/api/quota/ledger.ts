/**
 * The ledger over HTTP: what counts toward quota and is stored in another system, such as in a bucket or a CI
 * system.
 */
import * as v from 'valibot'
import { AllotError, withLineNumber } from '../../errors.ts'
import { parseJson, validate, withoutNulls } from '../../http/index.ts'
import { Subject } from '../../quota/subjects.ts'
import { paced } from '../../records/pacing.ts'
import { LedgerKind } from '../../records/schema/index.ts'
import { checkExpiry, LedgerItem, type NamedEntry } from '../../repositories/ledger/ledger-checks.ts'
import type { LedgerOperation } from '../../repositories/ledger/ledger-types.ts'
import * as f from '../fields.ts'
import { Otherwise } from '../kit.ts'
import { adminRules } from '../route.ts'
import { view } from '../view.ts'
import { QuotaExplanationInfo } from './schema.ts'
import { quotaAt } from './services.ts'

const params = v.object({ kind: LedgerKind, key: v.string() })

const ITEM = { repository: 'alice/app', name: 'log', size: 1500, run: 1 }
const ENTRY = { kind: 'artifacts', key: 'build-1', ...ITEM } as const

/** For a reservation: when the entry is gone. */
const expires_at = v.optional(f.example(f.Moment, '2026-11-21T04:09:00Z'))
const Item = v.object({ ...LedgerItem.entries, expires_at })
const LedgerEntry = f.example(v.object({ ...params.entries, ...Item.entries }), ENTRY)

/** @throws AllotError invalid for a time that has passed */
const withExpiry = <E extends { expires_at?: string | undefined }>({ expires_at, ...entry }: E) => {
  if (!expires_at) return entry
  const expiresAt = Date.parse(expires_at)
  checkExpiry('expires_at', expiresAt)
  return { ...entry, expiresAt }
}

const presentEntry = ({ expiresAt, ...entry }: NamedEntry): v.InferOutput<typeof LedgerEntry> =>
  expiresAt === undefined ? entry : { ...entry, expires_at: f.timestamp(Math.ceil(Number(expiresAt) / 1000)) }

const LINE_LIMIT = 10_000

/** Bytes: far above what {@link LINE_LIMIT} lines of well-formed operations need. */
const BODY_LIMIT = 8 * 1024 * 1024

const Operation = v.variant('op', [
  v.object({ op: v.literal('put'), ...params.entries, ...Item.entries }),
  v.object({ op: v.literal('delete'), ...params.entries }),
])

/** `true`, `false`, or subjects. */
const within = v.pipe(
  f.parameter(
    f.text('true'),
    'Store the entries only if each owner is within quota afterwards, and answer 413 otherwise: `true` for every subject that an entry counts toward, or subjects separated by commas. Usage that is equal to the limit fits.',
  ),
  v.transform((given) => (given === 'true' || given === 'false' ? given === 'true' : given.split(','))),
  v.union([v.boolean(), v.array(Subject)]),
)
const WithinQuery = v.object({ within: v.optional(within) })

/** The body has `explanation` when an owner would be over quota, and not when the body is too large. */
const OverQuota = v.object({
  message: f.text('the body must not be larger than 8388608 bytes'),
  url: f.link('/api/swagger'),
  explanation: v.optional(QuotaExplanationInfo),
})

/** @throws AllotError too_large for too many lines, invalid with the number of the first bad line */
const operationsIn = async (body: string): Promise<LedgerOperation<NamedEntry>[]> => {
  const lines = body.split('\n')
  if (lines.at(-1)?.trim() === '') lines.pop()
  if (lines.length > LINE_LIMIT)
    throw new AllotError('too_large', `at most ${LINE_LIMIT} lines are taken at once`)
  const operations: LedgerOperation<NamedEntry>[] = []
  for await (const [index, line] of paced(lines.entries()))
    operations.push(await withLineNumber(index + 1, () => operationIn(line)))
  return operations
}

const operationIn = (line: string): LedgerOperation<NamedEntry> => {
  const value = parseJson(line)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const operation = validate(Operation, isObject ? withoutNulls(value) : value)
  return operation.op === 'put' ? withExpiry(operation) : operation
}

const entryView = view(LedgerEntry, presentEntry)
const ledger = quotaAt('/admin/ledger', { ...adminRules, ids: params.entries })

export const ledgerRoutes = [
  ledger.get('adminGetLedgerEntry', '/{kind}/{key}', {
    summary: 'A ledger entry',
    of: entryView,
    run: ({ params }, { hosting }) => hosting.ledger.get(params),
  }),
  ledger.put('adminPutLedgerEntry', '/{kind}/{key}', {
    summary: 'Record a resource that counts toward quota: 201 when it is new, 200 when it replaced one',
    body: f.example(Item, ITEM),
    query: WithinQuery,
    of: entryView,
    status: [201, 200],
    also: { 413: OverQuota },
    run: async ({ params: { kind, key }, body, query }, { hosting }) => {
      const { replaced, entry } = await hosting.ledger.put({ kind, key, ...withExpiry(body) }, query)
      return replaced ? new Otherwise(entry) : entry
    },
  }),
  ledger.delete('adminDeleteLedgerEntry', '/{kind}/{key}', {
    summary: 'Take a resource off the ledger',
    run: ({ params }, { hosting }) => hosting.ledger.delete(params),
  }),
  ledger.post('adminApplyLedger', '', {
    summary: 'Apply up to 10,000 ledger operations, one JSON object a line: all or nothing',
    accepts: 'application/x-ndjson',
    body: f.text(`${JSON.stringify({ op: 'put', ...ENTRY })}\n`),
    bodyLimit: BODY_LIMIT,
    query: WithinQuery,
    of: v.object({ applied: f.number(1) }),
    status: 200,
    also: { 413: OverQuota },
    run: async ({ body, query }, { hosting }) => ({
      applied: await hosting.ledger.batch(await operationsIn(body), query, 'line'),
    }),
  }),
]
