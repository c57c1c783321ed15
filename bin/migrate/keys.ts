import type { Account } from '../../lib/records/schema.ts'
import { allOf, attempt, attemptFor, ifTold, type Moving, pathOf } from './moving.ts'
import { SourceGpgKey, SourceKey } from './shapes.ts'

const UNTOLD = 'keys, which the source does not show'
const UNSIGNED =
  'GPG keys without their signatures, which the source does not give: their owners add them again'

/** More than anybody has. */
const ALL = { offset: 0, limit: 10_000 }

export const copyKeys = (moving: Moving, login: string): Promise<void> =>
  attemptFor(moving, `the keys of ${login}`, login, async (account) => {
    await copySshKeys(moving, account)
    await copyGpgKeys(moving, account)
  })

const copySshKeys = async ({ source, allot, report }: Moving, { id, name }: Account): Promise<void> => {
  const { sshKeys } = allot.hosting
  const given = await ifTold(allOf(source.list(SourceKey, pathOf(name, 'keys'))))
  if (given === undefined) return report.behind(UNTOLD, name)
  const { items } = given.length === 0 ? { items: [] } : await sshKeys.list(id, ALL)
  const there = new Set(items.map(({ key }) => bodyOf(key)))
  for (const { key, title } of given)
    if (there.has(bodyOf(key))) report.found('SSH keys')
    else
      await attempt(report, `the SSH key ${title} of ${name}`, async () => {
        await sshKeys.add(id, { title: title?.trim() || 'a key', key })
        report.copied('SSH keys')
      })
}

/** Without the kind in front of it and the comment behind. */
const bodyOf = (key: string): string => key.split(' ')[1] ?? key

/**
 * The API has the bare packets of a key, which prove nothing; a Gitea and a Forgejo give the whole ones beside it, as far
 * as they may be seen by anybody.
 */
const copyGpgKeys = async ({ source, allot, report }: Moving, { id, name }: Account): Promise<void> => {
  const { gpgKeys } = allot.hosting
  const given = await ifTold(allOf(source.list(SourceGpgKey, pathOf(name, 'gpg_keys'))))
  if (given === undefined) return report.behind(UNTOLD, name)
  if (given.length === 0) return
  const { items } = await gpgKeys.list(id, ALL)
  const there = new Set(items.map(({ keyId }) => keyId))
  const missing = given.map((one) => one.key_id.toUpperCase()).filter((one) => !there.has(one))
  for (let found = given.length - missing.length; found > 0; found--) report.found('GPG keys')
  const whole =
    missing.length === 0
      ? new Map<string, string>()
      : await keysIn(await source.page(`/${encodeURIComponent(name)}.gpg`))
  for (const keyId of missing) {
    const armored = whole.get(keyId)
    if (armored === undefined) report.behind(UNSIGNED, `${keyId} of ${name}`)
    else
      await attempt(report, `the GPG key ${keyId} of ${name}`, async () => {
        await gpgKeys.add(id, { armored })
        report.copied('GPG keys')
      })
  }
}

/** Each key of a block in a block of its own, by its id. */
const keysIn = async (text: string | undefined): Promise<Map<string, string>> => {
  const { readKeys } = await import('openpgp')
  const keys = text === undefined ? [] : await readKeys({ armoredKeys: text }).catch(() => [])
  return new Map(keys.map((key) => [key.getKeyID().toHex().toUpperCase(), key.toPublic().armor()]))
}
