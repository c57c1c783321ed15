/** @jsxRuntime automatic @jsxImportSource preact */
/** One change of the audit log in words, with links to what it names. */
import type { VNode } from 'preact'
import { formatExactLimit } from '../../byte-sizes.ts'
import type { AuditRecord } from '../../records/schema/index.ts'
import { accountPath, Link, usePageContext } from '../parts/components.tsx'
import { groupPath, rulePath } from '../parts/quota-paths.ts'

/** `rule`, `group`, `groups`, `account`, `password`, `token` or `webhook` */
const kindOf = ({ action }: AuditRecord): string => action.split(' ', 1)[0]!

/** A name, with a link to its page when there is one. */
const Name = ({ name, to }: { name: string; to: string | undefined }) =>
  to === undefined ? (
    <bdi>{name}</bdi>
  ) : (
    <Link to={to}>
      <bdi>{name}</bdi>
    </Link>
  )

/** What was changed. What the change deleted has no page. */
export const AuditSubject = ({ record }: { record: AuditRecord }) => {
  const { servedPages } = usePageContext()
  const { subject, action } = record
  const pages: Readonly<Record<string, (name: string) => string>> = {
    rule: rulePath,
    group: groupPath,
    webhook: (name) => `/${name}`,
  }
  // A repository's webhook names `owner/name`; an id stands for an owner whose account was deleted.
  const isRepository = subject.includes('/')
  const hasPage = !action.endsWith('deleted') || kindOf(record) === 'webhook'
  const isLinked = kindOf(record) === 'webhook' ? isRepository && servedPages.has('repository') : hasPage
  const pathOf = pages[kindOf(record)] ?? accountPath
  return <Name name={subject} to={isLinked && !subject.startsWith('#') ? pathOf(subject) : undefined} />
}

/** Who made the change: the command line has no account. */
export const AuditActor = ({ record: { actor, actorName } }: { record: AuditRecord }) => (
  <Name name={actorName} to={actor === 0 ? undefined : accountPath(actorName)} />
)

/** The action; of an assignment, whether groups were added, removed or both. */
export const auditAction = (record: AuditRecord): string => {
  if (record.action !== 'groups assigned') return record.action
  if (isCut(record)) return 'groups changed'
  const { added, removed } = differenceOf(listIn(record.before), listIn(record.after))
  if (removed.length === 0) return 'groups added'
  return added.length === 0 ? 'groups removed' : 'groups changed'
}

/** Whether the log has only the beginning of the lists of groups (lib/audit.ts), which cannot be compared. */
const isCut = ({ before, after }: AuditRecord): boolean =>
  [before, after].some((json) => typeof valuesIn(json)[''] === 'string')

/** What was added, removed or has another value now. */
export const AuditDetails = ({ record }: { record: AuditRecord }) => {
  if (record.action === 'groups assigned' && isCut(record)) return <span>details cut</span>
  const [before, after] = [valuesIn(record.before), valuesIn(record.after)]
  const isAssignment = record.action === 'groups assigned'
  const parts = [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name) => {
    const pathOf = isAssignment ? groupPath : name === 'rules' ? rulePath : undefined
    const [old, now] = [before[name], after[name]]
    if (isAssignment || (Array.isArray(old) && Array.isArray(now)))
      return listParts(name, listOf(old), listOf(now), pathOf)
    if (Array.isArray(old ?? now))
      return [<Names key={name} label={name} names={listOf(old ?? now)} pathOf={pathOf} />]
    const texts = [old, now].filter((one) => one !== undefined).map((one) => textOf(name, one))
    return texts[0] === texts[1] ? [] : [<span key={name}>{`${name} ${texts.join(' → ')}`.trim()}</span>]
  })
  return (
    <>
      {parts.map((part, index) => (
        <>
          {index > 0 && '; '}
          {part}
        </>
      ))}
    </>
  )
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
    {names.map((name, index) => (
      <>
        {index > 0 && ', '}
        <Name name={name} to={pathOf?.(name)} />
      </>
    ))}
  </span>
)

const differenceOf = (before: readonly string[], after: readonly string[]) => ({
  added: after.filter((name) => !before.includes(name)),
  removed: before.filter((name) => !after.includes(name)),
})

const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])

const listIn = (json: string): readonly string[] => listOf(valuesIn(json)[''])

/** Values by their names; a value without names, and details that were cut off, are under the empty name. */
const valuesIn = (json: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = json === '' ? {} : JSON.parse(json)
    const isObject = !Array.isArray(value) && typeof value === 'object' && value !== null
    return isObject ? (value as Record<string, unknown>) : { '': value }
  } catch {
    return { '': json }
  }
}

const textOf = (name: string, value: unknown): string => {
  if (name === 'limit' && typeof value === 'number') return formatExactLimit(value)
  if (Array.isArray(value)) return value.join(', ')
  return value === '' ? '“”' : String(value)
}
