/**
 * The names in a page of the audit log that still have a page of their own: what a record names stays in the log when it is
 * deleted or renamed.
 */
import {
  type Account,
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

/** Names of each kind that are looked up for one page; others have no link. A record can name hundreds. */
const MAX_NAMES = 500
/** Longest name of an account or a repository. */
const MAX_LENGTH = 255

export interface AuditLinks {
  /**
   * Path of the page of what has the name that a record names; undefined when there is none, and when an account has had the name
   * only since.
   */
  to(kind: Kind, name: string, record: AuditRecord): string | undefined
  /** Path of the page of the account that made a change, which may have another name now. */
  toActor(record: AuditRecord): string | undefined
}

/** `rule`, `group`, `groups`, `account`, `password`, `token` or `webhook` */
const kindOf = ({ action }: AuditRecord): string => action.split(' ', 1)[0]!

/** What a record is about. A webhook is named by its repository, its account or the instance. */
export const subjectKind = (record: AuditRecord): Kind => {
  const kind = kindOf(record)
  if (kind === 'rule' || kind === 'group') return kind
  return kind === 'webhook' && record.subject.includes('/') ? 'repository' : 'account'
}

export const isAssignment = ({ action }: AuditRecord): boolean => action === 'groups assigned'

/** The kind of the names in a list of a record. @param member name of the list; empty for the groups of an assignment */
export const kindInList = (record: AuditRecord, member: string): Kind | undefined =>
  isAssignment(record) ? 'group' : member === 'rules' ? 'rule' : undefined

/**
 * Values by their names; a value without names is under the empty name. Undefined for details that the log has only the beginning
 * of. Stores keep records for long, so that one that cannot be read must not make the page an error.
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
    const [accountNames, actors, ruleNames, groupNames, repositoryNames] = await Promise.all([
      accountsNamed(tx, named.account),
      accounts.byIds(
        tx,
        records.map(({ actor }) => actor),
      ),
      existing(rules.getMany(tx, keysOf(named.rule))),
      existing(groups.getMany(tx, keysOf(named.group))),
      repositoriesNamed(tx, named.repository),
    ])
    const found = { account: accountNames, rule: ruleNames, group: groupNames, repository: repositoryNames }
    const isNewer = (kind: Kind, name: string, { at }: AuditRecord): boolean =>
      kind === 'account' && accountNames.get(keyIn(kind, name))!.createdAt > at
    return {
      to: (kind, name, record) =>
        found[kind].has(keyIn(kind, name)) && !isNewer(kind, name, record) ? PATHS[kind](name) : undefined,
      toActor: ({ actor }) => {
        const account = actors.get(actor)
        return account && accountPath(account.name)
      },
    }
  })

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
  // What the records are about comes first, before the names in their lists.
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

const existing = async (found: Promise<({ name: string } | undefined)[]>): Promise<ReadonlySet<string>> =>
  new Set((await found).flatMap((record) => (record === undefined ? [] : [record.name])))

const accountsNamed = async (
  tx: ReadTransaction,
  names: readonly string[],
): Promise<ReadonlyMap<string, Account>> => {
  const keys = keysOf(names.filter((name) => name.length <= MAX_LENGTH))
  const found = await accounts.findManyBy(tx, 'name', keys)
  return new Map(
    found.flatMap((account) => (account === undefined ? [] : [[account.name.toLowerCase(), account]])),
  )
}

/** @param names `owner/name` in lower case */
const repositoriesNamed = async (
  tx: ReadTransaction,
  names: readonly string[],
): Promise<ReadonlySet<string>> => {
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
  return new Set(keys.filter((_, index) => found[index] !== undefined).map(({ path }) => path))
}
