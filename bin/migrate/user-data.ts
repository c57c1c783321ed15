import { createHash } from 'node:crypto'
import type { Account } from '../../lib/records/schema/index.ts'
import { follow, type Things, type Wanted } from './follow.ts'
import { collect, ifAvailable, type Migration, pathOf, reportErrorsFor } from './migration.ts'
import { SourceGpgKey, SourceKey } from './source-types.ts'

const UNTOLD = 'keys, which the source does not show'
const UNSIGNED =
  'GPG keys without their signatures, which the source does not give: their owners add them again'

/** More than anybody has. */
const ALL = { offset: 0, limit: 10_000 }

export const copyKeys = (migration: Migration, login: string): Promise<void> =>
  reportErrorsFor(migration, `the keys of ${login}`, login, async (account) => {
    const { source, report } = migration
    const ssh = await ifAvailable(collect(source.list(SourceKey, pathOf(account.name, 'keys'))))
    if (ssh === undefined) report.behind(UNTOLD, account.name)
    else await follow(migration, sshKeysOf(migration, account), ssh.map(sshKeyFor(migration, account)))
    const gpg = await ifAvailable(collect(source.list(SourceGpgKey, pathOf(account.name, 'gpg_keys'))))
    if (gpg === undefined) report.behind(UNTOLD, account.name)
    else await follow(migration, gpgKeysOf(migration, account), gpg.map(gpgKeyFor(migration, account)))
  })

/** Those of an account that is gone at the source. */
export const dropKeys = async (migration: Migration, account: Account): Promise<void> => {
  await follow(migration, sshKeysOf(migration, account), [])
  await follow(migration, gpgKeysOf(migration, account), [])
}

const sshKeysOf = ({ allot }: Migration, { id, name }: Account): Things => {
  const { sshKeys } = allot.hosting
  return {
    ...{ kind: 'sshKey', scope: name.toLowerCase(), parts: async () => [id] },
    async find(fingerprint) {
      const { items } = await sshKeys.list(id, ALL)
      const found = items.find((one) => one.fingerprint === fingerprint)
      return found && [id, found.id]
    },
    remove: async (_, ids) => void (await sshKeys.remove(id, ids[1]!)),
  }
}

const sshKeyFor =
  ({ allot }: Migration, { id }: Account) =>
  ({ key, title }: SourceKey): Wanted => ({
    name: fingerprintOf(key),
    label: title?.trim() || fingerprintOf(key),
    async bring() {
      await allot.hosting.sshKeys.add(id, { title: title?.trim() || 'a key', key })
      return true
    },
  })

/** Of the key itself, without the kind in front of it and the comment behind. */
const fingerprintOf = (key: string): string => {
  const bytes = Buffer.from(key.split(' ')[1] ?? key, 'base64')
  return `SHA256:${createHash('sha256').update(bytes).digest('base64').replace(/=+$/, '')}`
}

const gpgKeysOf = ({ allot }: Migration, { id, name }: Account): Things => {
  const { gpgKeys } = allot.hosting
  return {
    ...{ kind: 'gpgKey', scope: name.toLowerCase(), parts: async () => [id] },
    async find(keyId) {
      const { items } = await gpgKeys.list(id, ALL)
      const found = items.find((one) => one.keyId === keyId)
      return found && [id, found.id]
    },
    remove: async (_, ids) => void (await gpgKeys.remove(id, ids[1]!)),
  }
}

/**
 * The API has the bare packets of a key, which prove nothing; a Gitea and a Forgejo give the whole ones beside it, as far
 * as they may be seen by anybody.
 */
const gpgKeyFor = ({ source, allot, report }: Migration, { id, name }: Account) => {
  let whole: Promise<Map<string, string>> | undefined
  return ({ key_id }: SourceGpgKey): Wanted => {
    const keyId = key_id.toUpperCase()
    return {
      name: keyId,
      label: keyId,
      async bring() {
        whole ??= source.page(`/${encodeURIComponent(name)}.gpg`).then(keysIn)
        const armored = (await whole).get(keyId)
        if (armored === undefined) report.behind(UNSIGNED, `${keyId} of ${name}`)
        else await allot.hosting.gpgKeys.add(id, { armored })
        return armored !== undefined
      },
    }
  }
}

/** Each key of a block in a block of its own, by its id. */
const keysIn = async (text: string | undefined): Promise<Map<string, string>> => {
  const { readKeys } = await import('openpgp')
  const keys = text === undefined ? [] : await readKeys({ armoredKeys: text }).catch(() => [])
  return new Map(keys.map((key) => [key.getKeyID().toHex().toUpperCase(), key.toPublic().armor()]))
}
