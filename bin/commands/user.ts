import { type StoreFlags, withStore } from '../open.ts'

interface Flags extends StoreFlags {
  admin?: boolean
  email?: string
  password?: string
  token?: boolean
}

export const addUser = (name: string, { admin, email, password, token, ...store }: Flags): Promise<void> =>
  withStore(store, async ({ hosting }) => {
    const account = await hosting.accounts.createUser({ name, admin, email, password })
    process.stderr.write(`added the ${admin ? 'administrator' : 'user'} ${account.name}\n`)
    if (!token) return
    const { secret } = await hosting.tokens.create(account.id, 'cli', ['all'])
    process.stdout.write(`${secret}\n`)
  })
