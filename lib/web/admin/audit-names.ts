/**
 * The names in a page of the audit log that still have a page of their own: what a record names stays in the
 * log when it is deleted or renamed.
 */
import type { Collection } from '../../records/collection.ts'
import {
  type AuditAction,
  type AuditRecord,
  accounts,
  groups,
  repositories,
  rules,
} from '../../records/schema/index.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { accountPath } from '../parts/components.tsx'
import { groupPath, rulePath } from '../parts/quota-paths.ts'
import type { PageServices } from '../parts/route.ts'

type Kind = 'account' | 'rule' | 'group' | 'repository'

/**
 * Names of each kind that are looked up for one page; others have no link. A record can name hundreds, so
 * what the records are about comes first.
 */
const MAX_NAMES = 500

export interface AuditLinks {
  /**
   * Path of the page of what has the name that a record names; undefined when there is none, and when it was
   * created under this name since.
   */
  to(kind: Kind, name: string, record: AuditRecord): string | undefined
  /** Path of the page of the account that made a change, which may have another name now. */
  toActor(record: AuditRecord): string | undefined
}

/** The first word of an action, such as `rule` of `rule created`. */
export type AuditWord = AuditAction extends `${infer Word} ${string}` ? Word : never

export const auditWord = ({ action }: AuditRecord): AuditWord => action.split(' ', 1)[0] as AuditWord

const SUBJECT_KINDS: Readonly<Record<AuditWord, (subject: string) => Kind>> = {
  rule: () => 'rule',
  group: () => 'group',
  groups: () => 'account',
  account: () => 'account',
  password: () => 'account',
  token: () => 'account',
  // A webhook is named by its repository, its account or the instance.
  webhook: (subject) => (subject.includes('/') ? 'repository' : 'account'),
}

/** What a record is about. */
export const subjectKind = (record: AuditRecord): Kind => SUBJECT_KINDS[auditWord(record)](record.subject)

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

/** What exists of all that the records name, in one snapshot. */
export const auditLinksOf = (
  { store }: Pick<PageServices, 'store'>,
  records: readonly AuditRecord[],
): Promise<AuditLinks> =>
  store.read(async (tx) => {
    const named = namesIn(records)
    const [account, rule, group, repository, actors] = await Promise.all([
      accountsNamed(tx, named.account),
      rulesOrGroupsNamed(rules, tx, named.rule),
      rulesOrGroupsNamed(groups, tx, named.group),
      repositoriesNamed(tx, named.repository),
      accounts.byIds(
        tx,
        records.map(({ actor }) => actor),
      ),
    ])
    const found: Readonly<Record<Kind, ReadonlyMap<string, Found>>> = { account, rule, group, repository }
    return {
      to(kind, name, record) {
        const present = found[kind].get(keyIn(kind, name))
        return present !== undefined && !isNewer(present, record) ? PATHS[kind](name) : undefined
      },
      toActor: ({ actor }) => {
        const account = actors.get(actor)
        return account && accountPath(account.name)
      },
    }
  })

/** What has a name now, with the time of its creation: of accounts and repositories to the second. */
interface Found {
  readonly created: { readonly seconds: number; readonly nonce: string }
}

const createdAt = (seconds: number): Found => ({ created: { seconds, nonce: '' } })

/** Whether it was created after the record, which is about another thing of the same name then. */
const isNewer = ({ created }: Found, { at, nonce }: AuditRecord): boolean =>
  created.seconds > at || (created.seconds === at && created.nonce > nonce)

const PATHS: Readonly<Record<Kind, (name: string) => string>> = {
  account: accountPath,
  rule: rulePath,
  group: groupPath,
  repository: (name) => `/${name}`,
}

/** Rules and groups have names with regard to case. */
const keyIn = (kind: Kind, name: string): string =>
  kind === 'rule' || kind === 'group' ? name : name.toLowerCase()

const namesIn = (records: readonly AuditRecord[]): Readonly<Record<Kind, readonly string[]>> => {
  const names = [
    ...records.map((record) => ({ kind: subjectKind(record), name: record.subject })),
    ...records.flatMap(namesInLists),
  ]
  const namesOf = (kind: Kind): string[] => {
    const ofKind = names.filter((one) => one.kind === kind).map(({ name }) => keyIn(kind, name))
    return [...new Set(ofKind)].slice(0, MAX_NAMES)
  }
  return {
    account: namesOf('account'),
    rule: namesOf('rule'),
    group: namesOf('group'),
    repository: namesOf('repository'),
  }
}

const namesInLists = (record: AuditRecord): { kind: Kind; name: string }[] =>
  [record.before, record.after]
    .flatMap((json) => Object.entries(detailsOf(json) ?? {}))
    .flatMap(([member, value]) => {
      const kind = kindInList(record, member)
      return kind === undefined ? [] : listOf(value).map((name) => ({ kind, name }))
    })

const keysOf = (names: readonly string[]) => names.map((name) => [name])

const rulesOrGroupsNamed = async (
  collection: Pick<Collection<Found & { name: string }>, 'byNames'>,
  tx: ReadTransaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, Found>> => {
  const found = await collection.byNames(tx, names)
  return new Map(found.map((one) => [one.name, one]))
}

const accountsNamed = async (
  tx: ReadTransaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, Found & { id: number }>> => {
  const found = await accounts.findManyBy(tx, 'name', keysOf(names))
  return new Map(
    found.flatMap((account) =>
      account === undefined
        ? []
        : [[account.name.toLowerCase(), { id: account.id, ...createdAt(account.createdAt) }]],
    ),
  )
}

/** @param names `owner/name` in lower case */
const repositoriesNamed = async (
  tx: ReadTransaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, Found>> => {
  const pairs = names.map((name) => name.split('/') as [owner: string, name: string])
  const owners = await accountsNamed(tx, [...new Set(pairs.map(([owner]) => owner))])
  const keys = pairs.flatMap(([owner, name]) => {
    const account = owners.get(owner)
    return account === undefined ? [] : [{ path: `${owner}/${name}`, key: [account.id, name] }]
  })
  const found = await repositories.findManyBy(
    tx,
    'name',
    keys.map(({ key }) => key),
  )
  return new Map(
    keys.flatMap(({ path }, index) => {
      const repository = found[index]
      return repository === undefined ? [] : [[path, createdAt(repository.createdAt)]]
    }),
  )
}
