/** What the records of the audit log name, and the paths of its pages. */
import { type AuditAction, type AuditRecord, accounts } from '../../records/schema/index.ts'
import { accountPath, groupPath, rulePath } from '../parts/components.tsx'
import type { PageServices } from '../parts/route.ts'

type Kind = 'account' | 'rule' | 'group' | 'repository'

const PATHS: Readonly<Record<Kind, (name: string) => string>> = {
  account: accountPath,
  rule: rulePath,
  group: groupPath,
  repository: (name) => `/${name}`,
}

/** Path of the page of a name: of what has it now, which can be nothing, or newer than a record. */
export const pathOfNamed = (kind: Kind, name: string): string => PATHS[kind](name)

/** Paths of the pages of the accounts that made changes, by their ids: they may have other names now. */
export const actorPaths = (
  { store }: Pick<PageServices, 'store'>,
  records: readonly AuditRecord[],
): Promise<ReadonlyMap<number, string>> =>
  store.read(async (tx) => {
    const ids = records.map(({ actor }) => actor)
    return new Map([...(await accounts.byIds(tx, ids))].map(([id, { name }]) => [id, accountPath(name)]))
  })

/** The first word of an action, such as `rule` of `rule created`. */
export type AuditWord = AuditAction extends `${infer Word} ${string}` ? Word : never

export const auditWord = ({ action }: AuditRecord): AuditWord => action.split(' ', 1)[0] as AuditWord

const SUBJECT_KINDS: Readonly<Record<AuditWord, (subject: string) => Kind | undefined>> = {
  rule: () => 'rule',
  group: () => 'group',
  groups: () => 'account',
  account: () => 'account',
  password: () => 'account',
  token: () => 'account',
  // A webhook is named by its repository, its account or `the instance`, which has no page.
  webhook: (subject) =>
    subject.includes('/') ? 'repository' : subject.includes(' ') ? undefined : 'account',
}

/** The kind of what a record is about; undefined when it has no page, or when a later version wrote it. */
export const subjectKind = (record: AuditRecord): Kind | undefined =>
  (SUBJECT_KINDS as Partial<typeof SUBJECT_KINDS>)[auditWord(record)]?.(record.subject)

export const isAssignment = ({ action }: AuditRecord): boolean => action === 'groups assigned'

/**
 * The kind of the names in a list of a record.
 * @param member name of the list; empty for the groups of an assignment
 */
export const kindInList = (record: AuditRecord, member: string): Kind | undefined =>
  isAssignment(record) ? 'group' : member === 'rules' ? 'rule' : undefined

/**
 * Values by their names; a value without names is under the empty name. Undefined for details that the log
 * has only the beginning of. Stores keep records for long, so that one that cannot be read must not make the
 * page an error.
 */
export const detailsOf = (json: string): Readonly<Record<string, unknown>> | undefined => {
  const value = json === '' ? null : parsed(json)
  if (value === null) return {}
  if (Array.isArray(value)) return { '': value }
  return typeof value === 'object' ? (value as Record<string, unknown>) : undefined
}

const parsed = (json: string): unknown => {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

export const listOf = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : [])
