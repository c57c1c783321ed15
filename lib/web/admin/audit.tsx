/** The page of the audit log, with a filter. */

import { AUDIT_DAYS, AUDIT_SEARCHED, readAudit, searchAudit } from '../../audit.ts'
import type { AuditRecord } from '../../records/schema/index.ts'
import { Empty, formatCount, Link, Search, Submit } from '../parts/components.tsx'
import { ChoiceFilter, NameFilter, WholeNameFilter } from '../parts/fields.tsx'
import { type Column, List, Table } from '../parts/list.tsx'
import { pageNumber, sliceOf, withQuery } from '../parts/paging.tsx'
import { type PageServices, page } from '../parts/route.ts'
import { Minute } from '../parts/times.tsx'
import { type AuditWord, actorPaths, auditWord } from './audit-names.ts'
import { AuditActor, AuditDetails, AuditSubject, auditAction } from './audit-record.tsx'
import { adminPage, adminView } from './form.tsx'

/**
 * The choices of the filter, by the first word of the actions that each has: its value in the query, and its
 * name.
 */
const KINDS: Readonly<Record<AuditWord, readonly [value: string, name: string]>> = {
  rule: ['rule', 'Rules'],
  group: ['group', 'Groups'],
  groups: ['assignment', 'Assignments'],
  account: ['account', 'Accounts'],
  password: ['password', 'Passwords'],
  token: ['token', 'Tokens'],
  webhook: ['webhook', 'Webhooks'],
}

/** What the query asks for; an empty text stands for all. */
interface Filter {
  readonly actor: string
  readonly kind: string
  readonly subject: string
  /** Number of newer records that an earlier search has looked at. */
  readonly from: number
}

const filterIn = (query: URLSearchParams): Filter => {
  const text = (name: string) => (query.get(name) ?? '').trim().slice(0, 255)
  const from = text('from')
  const kind = text('kind')
  return {
    actor: text('actor'),
    kind: Object.values(KINDS).some(([value]) => value === kind) ? kind : '',
    subject: text('subject'),
    from: /^\d{1,9}$/.test(from) ? Number(from) : 0,
  }
}

const isEmpty = ({ actor, kind, subject }: Filter): boolean => actor + kind + subject === ''

/** Accounts have names without regard to case. */
const matches =
  ({ actor, kind, subject }: Filter) =>
  (record: AuditRecord): boolean =>
    (actor === '' || record.actorName.toLowerCase() === actor.toLowerCase()) &&
    (kind === '' || (KINDS as Partial<typeof KINDS>)[auditWord(record)]?.[0] === kind) &&
    record.subject.toLowerCase().includes(subject.toLowerCase())

export const auditPageRoutes = [
  page({
    ...adminPage,
    path: '/-/admin/audit',
    async handle({ query }, services) {
      const filter = filterIn(query)
      const number = pageNumber(query)
      const found = await find(services, filter, number)
      const actors = await actorPaths(services, found.items)
      return adminView('Audit log', <Changes filter={filter} found={found} actors={actors} number={number} />)
    },
  }),
]

interface Found {
  readonly items: readonly AuditRecord[]
  readonly total: number
  readonly hasOlder: boolean
}

const find = async ({ store }: PageServices, filter: Filter, number: number): Promise<Found> => {
  const slice = sliceOf(number)
  if (isEmpty(filter)) return { ...(await readAudit(store, slice)), hasOlder: false }
  const { items, hasOlder } = await searchAudit(store, matches(filter), filter.from)
  return { items: items.slice(slice.offset, slice.offset + slice.limit), total: items.length, hasOlder }
}

interface ChangesProps {
  filter: Filter
  found: Found
  actors: ReadonlyMap<number, string>
  number: number
}

const Changes = ({ filter, found, actors, number }: ChangesProps) => {
  const { items, total, hasOlder } = found
  const to = (from: number, page = 1) => withQuery('/-/admin/audit', { ...filter, from, page })
  const searched = `the ${AUDIT_SEARCHED.toLocaleString('en')} changes ${filter.from === 0 ? 'that are newest' : `after the newest ${filter.from.toLocaleString('en')}`}`
  return (
    <List
      id="audit"
      title="Changes"
      aside={total > 0 && <span class="small">{`${formatCount(total, 'change')}, newest first`}</span>}
      above={<Filters filter={filter} />}
      items={items}
      total={total}
      page={number}
      to={(page) => to(filter.from, page)}
      empty={<NoChanges filter={filter} hasOlder={hasOlder} />}
      below={
        <>
          {hasOlder && (
            <p class="small">
              Found in {searched}. <Link to={to(filter.from + AUDIT_SEARCHED)}>Search older changes</Link>
            </p>
          )}
          <p class="small">
            Changes are kept for {AUDIT_DAYS} days. The API lists them at <code>GET /admin/audit</code>.
          </p>
        </>
      }
    >
      <Table items={items} keyOf={({ at, nonce }) => `${at} ${nonce}`} columns={columnsWith(actors)} />
    </List>
  )
}

const columnsWith = (actors: ChangesProps['actors']): Column<AuditRecord>[] => [
  {
    head: 'Change',
    cell: (record) => (
      <>
        <AuditSubject record={record} /> <span class="tag">{auditAction(record)}</span>
        <div class="small">
          <AuditDetails record={record} />
        </div>
      </>
    ),
  },
  { head: 'By', class: 'wide', cell: (record) => <AuditActor record={record} actors={actors} /> },
  {
    head: 'When (UTC)',
    class: 'number',
    cell: (record) => (
      <>
        <Minute seconds={record.at} />
        <div class="small slim">
          by <AuditActor record={record} actors={actors} />
        </div>
      </>
    ),
  },
]

const NoChanges = ({ filter, hasOlder }: { filter: Filter; hasOlder: boolean }) =>
  isEmpty(filter) ? (
    <Empty title="No changes yet" icon="audit">
      <p>Changes of rules, groups, assignments, accounts, passwords, tokens and webhooks are listed here.</p>
    </Empty>
  ) : (
    <Empty title="No change matches" icon="search">
      <p>
        {hasOlder ? 'Older changes may: search them, or ' : 'Try another filter, or '}
        <Link to="/-/admin/audit">show all changes</Link>.
      </p>
    </Empty>
  )

const Filters = ({ filter: { actor, kind, subject } }: { filter: Filter }) => (
  <Search to="/-/admin/audit">
    <NameFilter id="subject" value={subject} maxLength={255} />
    <ChoiceFilter id="kind" label="Kind" any="All kinds" choices={Object.values(KINDS)} chosen={kind} />
    <WholeNameFilter id="actor" label="Changed by" value={actor} maxLength={255} />
    <Submit kind="secondary">Filter</Submit>
  </Search>
)
