import { type StoreFlags, withStore } from '../open.ts'

interface Flags extends StoreFlags {
  name?: string
  scopes?: string
}

export const addToken = (
  user: string,
  { name = `cli ${new Date().toISOString()}`, scopes = 'all', ...store }: Flags,
): Promise<void> =>
  withStore(store, async ({ hosting }) => {
    const account = await hosting.accounts.byName(user)
    if (account?.kind !== 'user') throw new Error(`there is no user named ${user}`)
    const wanted = scopes.split(',').map((scope) => scope.trim())
    const { secret } = await hosting.tokens.create(account.id, name, wanted)
    process.stderr.write(`added the token ${name} of ${account.name} with the scopes ${wanted.join(', ')}\n`)
    process.stdout.write(`${secret}\n`)
  })
