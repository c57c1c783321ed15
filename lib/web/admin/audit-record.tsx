/** One change of the audit log in words, with links to what it names. */
import type { VNode } from 'preact'
import { formatExactLimit } from '../../byte-sizes.ts'
import type { AuditRecord } from '../../records/schema/index.ts'
import { NameLink, usePageContext } from '../parts/components.tsx'
import { Joined } from '../parts/inline.tsx'
import { wordFor } from '../parts/labels.ts'
import { detailsOf, isAssignment, kindInList, listOf, pathOfNamed, subjectKind } from './audit-names.ts'

interface AuditProps {
  record: AuditRecord
}

/** A name, with a link to its page when there is one. */
const Name = ({ name, to }: { name: string; to: string | undefined }) =>
  to === undefined ? <bdi>{name}</bdi> : <NameLink to={to}>{name}</NameLink>

/** What was changed. */
export const AuditSubject = ({ record }: AuditProps) => {
  const { servedPages } = usePageContext()
  const kind = subjectKind(record)
  const hasPage = kind !== undefined && (kind !== 'repository' || servedPages.has('repository'))
  return <Name name={record.subject} to={hasPage ? pathOfNamed(kind, record.subject) : undefined} />
}

/** Who made the change: the command line has no account. */
export const AuditActor = ({ record, actors }: AuditProps & { actors: ReadonlyMap<number, string> }) => (
  <Name name={record.actorName} to={actors.get(record.actor)} />
)

/** The action; of an assignment, whether groups were added, removed or both. */
export const auditAction = (record: AuditRecord): string => {
  if (!isAssignment(record)) return record.action
  const [before, after] = [detailsOf(record.before), detailsOf(record.after)]
  // Lists of groups that the log has only the beginning of (lib/audit.ts) cannot be compared.
  if (before === undefined || after === undefined) return 'groups changed'
  const { added, removed } = differenceOf(listOf(before['']), listOf(after['']))
  if (removed.length === 0) return 'groups added'
  return added.length === 0 ? 'groups removed' : 'groups changed'
}

/** What was added, removed or has another value now. */
export const AuditDetails = ({ record }: AuditProps) => {
  const [before, after] = [detailsOf(record.before), detailsOf(record.after)]
  if (before === undefined || after === undefined) return <span>details too long for the log</span>
  const parts = [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const kind = kindInList(record, name)
    const pathOf = kind && ((one: string) => pathOfNamed(kind, one))
    const [old, now] = [before[name], after[name]]
    if (isAssignment(record) || (Array.isArray(old) && Array.isArray(now)))
      return listParts(wordFor(name), listOf(old), listOf(now), pathOf)
    if (Array.isArray(old ?? now))
      return [<Names key={name} label={wordFor(name)} names={listOf(old ?? now)} pathOf={pathOf} />]
    const texts = [old, now].filter((one) => one !== undefined).map((one) => textOf(name, one))
    return texts[0] === texts[1]
      ? []
      : [<span key={name}>{`${wordFor(name)} ${texts.join(' → ')}`.trim()}</span>]
  })
  return <Joined by="; " parts={parts} />
}

type PathOf = ((name: string) => string) | undefined

const listParts = (
  name: string,
  before: readonly string[],
  after: readonly string[],
  pathOf: PathOf,
): VNode[] =>
  Object.entries(differenceOf(before, after))
    .filter(([, names]) => names.length > 0)
    .map(([change, names], _index, { length }) => {
      // The action of an assignment says it already, unless groups were both added and removed.
      const label = name === '' && length === 1 ? '' : `${name} ${change}`.trim()
      return <Names key={name + change} label={label} names={names} pathOf={pathOf} />
    })

const Names = ({ label, names, pathOf }: { label: string; names: readonly string[]; pathOf: PathOf }) => (
  <span>
    {label} {names.length === 0 && 'none'}
    <Joined parts={names.map((name) => <Name name={name} to={pathOf?.(name)} />)} />
  </span>
)

const differenceOf = (before: readonly string[], after: readonly string[]) => ({
  added: after.filter((name) => !before.includes(name)),
  removed: before.filter((name) => !after.includes(name)),
})

const textOf = (name: string, value: unknown): string => {
  if (name === 'limit' && typeof value === 'number') return formatExactLimit(value)
  if (Array.isArray(value)) return value.join(', ')
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return value === '' ? '“”' : String(value)
}
