/** @jsxRuntime automatic @jsxImportSource preact */
/** The page of the audit log. */

import { AUDIT_DAYS, readAudit } from '../../audit.ts'
import { formatExactLimit } from '../../byte-sizes.ts'
import type { AuditRecord } from '../../records/schema/index.ts'
import { Empty, formatCount, Section } from '../components.tsx'
import { Pages, pageNumber, sliceOf } from '../paging.tsx'
import { page } from '../route.ts'
import { Minute } from '../times.tsx'
import { adminPage, adminView } from './form.tsx'

export const auditPageRoutes = [
  page({
    ...adminPage,
    path: '/-/admin/audit',
    async handle({ query }, { store }) {
      const number = pageNumber(query)
      const { items, total } = await readAudit(store, sliceOf(number))
      return adminView(
        'Audit log',
        {},
        <Section
          id="audit"
          title="Changes"
          aside={<span class="small">{`kept for ${AUDIT_DAYS} days, also as GET /admin/audit`}</span>}
        >
          {items.length === 0 ? (
            <Empty title="No changes yet">
              <p>Changes of rules, groups, assignments and accounts are listed here.</p>
            </Empty>
          ) : (
            <>
              <p class="small">{formatCount(total, 'change')}, the newest first.</p>
              <Records records={items} />
            </>
          )}
          <Pages to={(to) => `/-/admin/audit?page=${to}`} page={number} total={total} />
        </Section>,
      )
    },
  }),
]

const Records = ({ records }: { records: readonly AuditRecord[] }) => (
  <table>
    <thead>
      <tr>
        <th scope="col">Change</th>
        <th scope="col" class="wide">
          By
        </th>
        <th scope="col" class="number">
          When (UTC)
        </th>
      </tr>
    </thead>
    <tbody>
      {records.map((record) => (
        <tr key={`${record.at} ${record.nonce}`}>
          <td>
            <bdi>{record.subject}</bdi> <span class="tag">{record.action}</span>
            <div class="small">{detailsOf(record)}</div>
            <div class="small slim">
              by <bdi>{record.actorName}</bdi>
            </div>
          </td>
          <td class="wide">
            <bdi>{record.actorName}</bdi>
          </td>
          <td class="number">
            <Minute seconds={record.at} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

/** `limit 200 MiB → 100 MiB` for each value that changed. */
const detailsOf = ({ before, after }: AuditRecord): string => {
  const [old, changed] = [valuesOf(before), valuesOf(after)]
  const names = [...new Set([...Object.keys(old), ...Object.keys(changed)])]
  return names
    .filter((name) => old[name] !== changed[name])
    .map((name) =>
      [name, [old[name], changed[name]].filter((value) => value !== undefined).join(' → ')].join(' '),
    )
    .join('; ')
}

/** Values by their names, as text; details that were cut off are shown as they are. */
const valuesOf = (json: string): Readonly<Record<string, string>> => {
  try {
    const value: unknown = json === '' ? {} : JSON.parse(json)
    if (Array.isArray(value) || typeof value !== 'object' || value === null) return { '': textOf('', value) }
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, textOf(name, one)]))
  } catch {
    return { '': json }
  }
}

const textOf = (name: string, value: unknown): string => {
  if (name === 'limit' && typeof value === 'number') return formatExactLimit(value)
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.join(', ')
  return value === '' ? '“”' : String(value)
}
