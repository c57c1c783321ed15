import type * as v from 'valibot'
import { checkScopes } from '../accounts/credentials.ts'
import { checkAccountName, checkEmail } from '../accounts/names.ts'
import { checkTeamTexts } from '../accounts/teams.ts'
import { checkFileName } from '../content/attachment-records.ts'
import { checkIssue } from '../content/issues.ts'
import { checkPackageFileName, checkPackageName, checkVersionName } from '../content/packages/names.ts'
import { checkStatusTexts } from '../content/statuses.ts'
import { AllotError, checkName, invalidMember, NAME_LIMIT } from '../errors.ts'
import { isStoredName } from '../files/index.ts'
import { checkBranchName, isRefName } from '../git/ref-names.ts'
import { checkRule } from '../quota/rules.ts'
import {
  accounts,
  assignments,
  attachments,
  auditRecords,
  comments,
  commitStatuses,
  deliveries,
  files,
  formerNames,
  gpgKeys,
  groups,
  hookLeases,
  hookPayloads,
  hooks,
  issueEvents,
  issues,
  ledgerEntries,
  migrationRecords,
  packageFiles,
  packageVersions,
  pushJournal,
  quotaOwners,
  type Rule,
  redirects,
  releases,
  removedGroups,
  repositories,
  rules,
  sessions,
  sshKeys,
  teams,
  tokens,
} from '../records/schema/index.ts'
import { BODY_LIMIT, checkTexts } from '../records/text-limits.ts'
import { checkLedgerKey } from '../repositories/ledger/ledger-checks.ts'
import { MAX_NAME } from '../repositories/migration-log.ts'
import { checkRepositoryName } from '../repositories/names.ts'
import { checkTopics } from '../repositories/topics.ts'
import { checkHook } from '../webhooks/hook-checks.ts'
import { MAX_PAYLOAD } from '../webhooks/outbox.ts'
import { MAX_ANSWER } from '../webhooks/post.ts'

/**
 * Checks names, texts and hashes of a record by the rules of the API: other names would lead to paths and
 * keys that nothing can reach or remove. References are checked by `allot verify`.
 * @param record must fit the schema of the collection
 * @throws AllotError invalid, which names the member
 */
export const checkRecord = (collection: string, record: unknown): void => {
  try {
    CHECKS.get(collection)?.(record as never)
  } catch (cause) {
    if (!(cause instanceof AllotError)) throw cause
    throw new AllotError('invalid', `${collection}: ${cause.message}`, { cause })
  }
}

const UUID = /^[0-9a-f-]{36}$/
const SHA256 = /^[0-9a-f]{64}$/
const SHA1 = /^[0-9a-f]{40}$/
/** As a client sends it: git has not looked at it yet. */
const PUSHED_ID = /^[0-9a-f]{40,64}$/
const NONCE = /^[0-9a-f]{16}$/

const checkCreated = ({ created }: Pick<Rule, 'created'>): void => {
  requireMatch('created.nonce', created.nonce, NONCE)
}
/** The form that lib/accounts/login.ts writes. */
const PASSWORD = /^scrypt(?:\$\d{1,9}){3}(?:\$[A-Za-z0-9+/=]{1,200}){2}$/

const requireMatch = (member: string, text: string, pattern: RegExp): void => {
  if (!pattern.test(text)) throw invalidMember(member, `${quote(text)} does not match ${pattern}`)
}

const requireStoredName = (member: string, name: string): void => {
  if (!isStoredName(name)) throw invalidMember(member, `${quote(name)} cannot be the name of a stored file`)
}

/** A text in a message; a long one is cut. */
export const quote = (text: string): string =>
  JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text)

const requireAtMost = (member: string, text: string, limit: number): void => {
  if (text.length > limit) throw invalidMember(member, `must have at most ${limit} characters`)
}

const checkKeyPart = ({ keyId, publicKey }: { keyId: string; publicKey: string }): void => {
  requireMatch('keyId', keyId, /^[0-9A-F]{16}$/)
  requireAtMost('publicKey', publicKey, 2 * BODY_LIMIT)
}

type Check = readonly [collection: string, check: (record: never) => void]

const checkOf = <R>(
  { options }: { options: { name: string; schema: v.GenericSchema<R> } },
  check: (record: R) => void,
): Check => [options.name, check]

/** Checks of the collections whose records have names, texts or hashes. */
const CHECKS: ReadonlyMap<string, (record: never) => void> = new Map([
  checkOf(accounts, (account) => {
    checkAccountName(account.name)
    checkTexts('account', account)
    checkEmail(account.email)
    const { host } = account
    if (host !== undefined) checkName(host.id, 'host.id')
    for (const member of ['username', 'name', 'email'] as const)
      requireAtMost(`host.${member}`, host?.[member] ?? '', NAME_LIMIT)
    const { language = '', theme = '', diffViewStyle = '' } = account.preferences ?? {}
    for (const [member, chosen] of Object.entries({ language, theme, diffViewStyle }))
      requireAtMost(member, chosen, 50)
    if (account.password !== null) requireMatch('password', account.password, PASSWORD)
    if (account.passwordLink !== undefined) requireMatch('passwordLink', account.passwordLink.hash, SHA256)
  }),
  checkOf(formerNames, ({ name }) => checkAccountName(name)),
  checkOf(auditRecords, ({ nonce, actorName, subject, before, after }) => {
    requireMatch('nonce', nonce, NONCE)
    for (const [member, text] of Object.entries({ actorName, subject })) requireAtMost(member, text, 255)
    for (const [member, text] of Object.entries({ before, after })) requireAtMost(member, text, 2000)
  }),
  checkOf(tokens, ({ name, hash, lastEight, scopes }) => {
    checkName(name)
    requireMatch('hash', hash, SHA256)
    requireMatch('lastEight', lastEight, /^[0-9a-f]{8}$/)
    checkScopes(scopes)
  }),
  checkOf(sessions, ({ hash, password, browser = '', address }) => {
    requireMatch('hash', hash, SHA256)
    if (password !== null) requireMatch('password', password, SHA256)
    for (const [member, text] of Object.entries({ browser, address })) requireAtMost(member, text, 100)
  }),
  checkOf(repositories, (repository) => {
    checkRepositoryName(repository.name)
    checkBranchName(repository.defaultBranch)
    checkTopics(repository.topics ?? [])
    checkTexts('repository', repository)
  }),
  checkOf(teams, checkTeamTexts),
  checkOf(pushJournal, ({ push }) => {
    for (const { ref, before, after } of push?.updates ?? []) {
      requireAtMost('ref', ref, 4096)
      for (const commit of [before, after]) if (commit !== null) requireMatch('updates', commit, PUSHED_ID)
    }
  }),
  checkOf(redirects, ({ name }) => checkRepositoryName(name)),
  checkOf(files, ({ name, sha256 }) => {
    requireStoredName('name', name)
    requireMatch('sha256', sha256, SHA256)
  }),
  checkOf(sshKeys, (key) => {
    checkTexts('sshKey', key)
    requireMatch('fingerprint', key.fingerprint, /^SHA256:[A-Za-z0-9+/]{43}$/)
  }),
  checkOf(gpgKeys, (key) => {
    requireMatch('fingerprint', key.fingerprint, /^[0-9A-F]{40,64}$/)
    for (const part of [key, ...key.subkeys]) checkKeyPart(part)
    // The API takes the emails out of the key, whose size is their only limit.
    requireAtMost('emails', key.emails.join(), BODY_LIMIT)
  }),
  checkOf(rules, (rule) => {
    checkRule(rule)
    checkCreated(rule)
  }),
  checkOf(groups, ({ name, rules, created }) => {
    checkName(name)
    checkCreated({ created })
    for (const [index, rule] of rules.entries()) checkName(rule, `rules[${index}]`)
  }),
  checkOf(removedGroups, ({ name }) => checkName(name)),
  checkOf(assignments, ({ group }) => checkName(group, 'group')),
  checkOf(quotaOwners, ({ name }) => checkName(name)),
  checkOf(ledgerEntries, ({ key, partitionOwner, repository, name, type, version }) => {
    checkLedgerKey(key)
    if (partitionOwner === null && repository === null)
      throw invalidMember('partitionOwner', 'must be an id when repository is null')
    for (const [member, text] of Object.entries({ name, type, version }))
      if (text === '' || (text?.length ?? 0) > 255)
        throw invalidMember(member, `must have 1 to 255 characters`)
  }),
  checkOf(issues, checkIssue),
  checkOf(migrationRecords, ({ source, scope, name, digest, original }) => {
    if (digest !== undefined) requireMatch('digest', digest, SHA256)
    const texts = { source, scope, name, original: original?.name ?? '' }
    for (const [member, text] of Object.entries(texts)) requireAtMost(member, text, MAX_NAME)
  }),
  checkOf(comments, (comment) => checkTexts('comment', comment)),
  checkOf(issueEvents, ({ oldTitle, newTitle }) => {
    for (const title of [oldTitle, newTitle]) if (title !== undefined) checkIssue({ title })
  }),
  checkOf(commitStatuses, (status) => {
    requireMatch('sha', status.sha, SHA1)
    checkStatusTexts(status)
  }),
  checkOf(releases, (release) => {
    if (!isRefName(release.tag)) throw invalidMember('tag', `${quote(release.tag)} is not a valid tag name`)
    checkTexts('release', release)
  }),
  checkOf(hooks, (hook) => {
    checkHook(hook)
    if (hook.scopes !== undefined) checkScopes(hook.scopes)
    requireAtMost('baseUrl', hook.baseUrl, 2048)
  }),
  checkOf(deliveries, ({ uuid, event, action, payload, answer, error }) => {
    requireMatch('uuid', uuid, UUID)
    for (const [member, text] of Object.entries({ event, action, error })) requireAtMost(member, text, 255)
    if (payload !== null) requireMatch('payload', payload, UUID)
    requireAtMost('answer', answer, MAX_ANSWER)
  }),
  checkOf(hookPayloads, ({ id, text, commits }) => {
    requireMatch('id', id, UUID)
    requireAtMost('text', text, MAX_PAYLOAD)
    for (const commit of [commits?.before, commits?.after]) if (commit) requireMatch('commits', commit, SHA1)
  }),
  checkOf(hookLeases, ({ task = '', holder = '' }) => {
    requireAtMost('task', task, 255)
    requireAtMost('holder', holder, 255)
  }),
  checkOf(attachments, ({ name, uuid }) => {
    checkFileName(name)
    requireStoredName('uuid', uuid)
  }),
  checkOf(packageVersions, ({ name, version }) => {
    checkPackageName(name)
    checkVersionName(version)
  }),
  checkOf(packageFiles, ({ name, stored, md5, sha1, sha256, sha512 }) => {
    checkPackageFileName(name)
    requireStoredName('stored', stored)
    requireMatch('md5', md5, /^[0-9a-f]{32}$/)
    requireMatch('sha1', sha1, SHA1)
    requireMatch('sha256', sha256, SHA256)
    requireMatch('sha512', sha512, /^[0-9a-f]{128}$/)
  }),
])
