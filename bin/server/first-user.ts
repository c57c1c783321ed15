import type { OpenAllot } from '../../lib/allot.ts'
import { print } from '../terminal.ts'

type Hosting = OpenAllot['hosting']

/**
 * Creates the administrator `root` in an empty store, and prints its first token once with a `curl` command that uses it.
 * @param page address of the web pages; undefined when they are turned off
 */
export const prepareFirstUser = async (
  { hosting }: OpenAllot,
  api: string,
  page: string | undefined,
): Promise<void> => {
  const users = await hosting.accounts.count('user')
  if (users > 1) return
  const root = users === 0 ? await createRoot(hosting) : await rootWithoutToken(hosting)
  if (root === undefined) return
  const { secret } = await hosting.tokens.create(root.id, 'first run', ['all'])
  const signIn = page === undefined ? '' : `\nor sign in with it at ${page}\n`
  print(`
There is now an administrator named root. This token is shown once; keep it:

  ${secret}

Try it:

  curl -H 'Authorization: token ${secret}' ${api}/user
${signIn}`)
}

/** @returns undefined when another process, which found the same store empty, created it first */
const createRoot = async ({ accounts }: Hosting) => {
  try {
    return await accounts.createUser({ name: 'root', admin: true })
  } catch (error) {
    if ((await accounts.count('user')) > 0) return undefined
    throw error
  }
}

/** The only user, if the first start was killed before it created the token: there is no other way to sign in. */
const rootWithoutToken = async ({ accounts, tokens }: Hosting) => {
  const root = await accounts.byName('root')
  if (root?.admin !== true || root.password !== null) return undefined
  const { total } = await tokens.list(root.id, { offset: 0, limit: 1 })
  return total === 0 ? root : undefined
}
