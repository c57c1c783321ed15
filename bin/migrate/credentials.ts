import { open, rm } from 'node:fs/promises'
import { allItems } from '../../lib/records/pages.ts'
import type { Account } from '../../lib/records/schema/index.ts'
import { passwordLinkPath } from '../../lib/web/parts/password-link.ts'
import { writeFault } from '../errors.ts'
import { type CredentialsSink, each, forUserHere, type Migration, OPERATOR } from './migration.ts'

/** Name of the token of `--tokens`. */
const TOKEN = 'migration'

/**
 * Creates the file of `--tokens`: a line of JSON with name, token and link for each user. Only its owner may
 * read it. It is created before anything is copied, and a file that exists is not replaced: it can have the
 * only tokens of an earlier run. No empty file is left behind.
 * @param file undefined: no credentials are made
 * @throws Error before `body` runs when the file exists, or cannot be written
 */
export const withCredentialsFile = async (
  file: string | undefined,
  body: (credentials: CredentialsSink | undefined) => Promise<void>,
): Promise<void> => {
  if (file === undefined) return body(undefined)
  const handle = await open(file, 'wx', 0o600).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'EEXIST') throw new Error(`--tokens ${file}: the file exists: name another one`)
    throw new Error(`--tokens ${file}: the file cannot be written: ${writeFault(cause)}`)
  })
  let lines = 0
  try {
    await body({
      async add(line) {
        lines++
        await handle.appendFile(`${JSON.stringify(line)}\n`)
      },
    })
  } finally {
    if (lines > 0) await handle.sync()
    await handle.close()
    if (lines === 0) await rm(file, { force: true })
  }
}

/**
 * Gives each copied user who cannot sign in yet a token with all scopes, and a link that sets a password
 * once. These are the users without a password whose only token is one of an earlier migration that was never
 * used: it is replaced.
 * @param logins names at the source
 */
export const giveCredentials = (
  migration: Migration,
  file: CredentialsSink,
  logins: readonly string[],
): Promise<void> =>
  each('tokens', logins, (login) =>
    forUserHere(migration, `the token of ${login}`, login, async (user) => {
      if (!(await isCopied(migration, user)) || !user.active || user.password !== null) return
      const { allot, report, baseUrl = '' } = migration
      const { tokens, passwordLinks } = allot.hosting
      const existing = await allItems((slice) => tokens.list(user.id, slice))
      if (existing.some(({ name, lastUsedAt }) => name !== TOKEN || lastUsedAt !== undefined)) return
      for (const { id } of existing) await tokens.remove(user.id, id, OPERATOR)
      const { secret: token } = await tokens.create(user.id, TOKEN, ['all'], OPERATOR)
      const link = await passwordLinks.create(user.id, OPERATOR)
      if (link === undefined) return
      await file.add({ name: user.name, token, link: baseUrl + passwordLinkPath(link) })
      report.count('tokens and links', 'copied')
    }),
  )

const isCopied = async ({ migrationLog, names }: Migration, user: Account): Promise<boolean> =>
  (await migrationLog.get('account', '', names.keyHere(user)))?.copy?.id === user.id
