import * as v from 'valibot'
import { AllotError, invalid } from '../../errors.ts'
import { Empty, Forbidden, NotFound, parseJson, ValidationError, withoutNulls } from '../../http/index.ts'
import { paced } from '../../records/pacing.ts'
import { LedgerKind } from '../../records/schema/index.ts'
import { LedgerItem, type LedgerOperation, withLineNumber } from '../../repositories/named-ledger.ts'
import { reply, route } from '../route.ts'

const LedgerEntry = v.object({ kind: LedgerKind, key: v.string(), ...LedgerItem.entries })

const LINES = 10_000

/** The longest line that a well-formed operation needs is far below this, so the body is bounded by its lines. */
const BODY_LIMIT = 8 * 1024 * 1024

const Operation = v.variant('op', [
  v.object({ op: v.literal('put'), kind: LedgerKind, key: v.string(), ...LedgerItem.entries }),
  v.object({ op: v.literal('delete'), kind: LedgerKind, key: v.string() }),
])

const operationsIn = async (text: string): Promise<LedgerOperation[]> => {
  const lines = text.split('\n')
  if (lines.at(-1)?.trim() === '') lines.pop()
  if (lines.length > LINES) throw new AllotError('too_large', `at most ${LINES} lines are taken at once`)
  const operations: LedgerOperation[] = []
  for await (const [at, line] of paced(lines.entries()))
    operations.push(await withLineNumber(at + 1, () => operationOf(line)))
  return operations
}

const operationOf = (line: string): LedgerOperation => {
  const value = parseJson(line)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const result = v.safeParse(Operation, isObject ? withoutNulls(value) : value)
  if (result.success) return result.output
  const [issue] = result.issues
  throw invalid(`${v.getDotPath(issue) ?? 'the line'}: ${issue.message}`)
}

export const ledgerRoutes = [
  route({
    method: 'GET',
    path: '/admin/ledger/{kind}/{key}',
    operationId: 'adminGetLedgerEntry',
    tag: 'admin',
    summary: 'A ledger entry',
    auth: 'admin',
    scope: 'read:admin',
    params: v.object({ kind: LedgerKind, key: v.string() }),
    responses: { 200: LedgerEntry, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { hosting }) => {
      const entry = await hosting.ledger.get(params)
      return entry === undefined ? reply(404) : reply(200, entry)
    },
  }),
  route({
    method: 'PUT',
    path: '/admin/ledger/{kind}/{key}',
    operationId: 'adminPutLedgerEntry',
    tag: 'admin',
    summary: 'Record a resource that counts toward quota: 201 when it is new, 200 when it replaced one',
    auth: 'admin',
    scope: 'write:admin',
    params: v.object({ kind: LedgerKind, key: v.string() }),
    body: LedgerItem,
    responses: { 200: LedgerEntry, 201: LedgerEntry, 403: Forbidden, 404: NotFound, 422: ValidationError },
    handle: async ({ params, body }, { hosting }) => {
      const { replaced, entry } = await hosting.ledger.put({ ...params, ...body })
      return replaced ? reply(200, entry) : reply(201, entry)
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/ledger/{kind}/{key}',
    operationId: 'adminDeleteLedgerEntry',
    tag: 'admin',
    summary: 'Take a resource off the ledger',
    auth: 'admin',
    scope: 'write:admin',
    params: v.object({ kind: LedgerKind, key: v.string() }),
    responses: { 204: Empty, 403: Forbidden, 404: NotFound },
    handle: async ({ params }, { hosting }) =>
      (await hosting.ledger.delete(params)) ? reply(204) : reply(404),
  }),
  route({
    method: 'POST',
    path: '/admin/ledger',
    operationId: 'adminApplyLedger',
    tag: 'admin',
    summary: 'Apply up to 10,000 ledger operations, one JSON object a line: all or nothing',
    auth: 'admin',
    scope: 'write:admin',
    accepts: 'application/x-ndjson',
    bodyLimit: BODY_LIMIT,
    body: v.string(),
    responses: { 200: v.object({ applied: v.number() }), 403: Forbidden, 422: ValidationError },
    handle: async ({ body }, { hosting }) =>
      reply(200, { applied: await hosting.ledger.batch(await operationsIn(body)) }),
  }),
]
