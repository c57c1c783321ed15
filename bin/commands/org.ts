import { type StoreFlags, withStore } from '../open.ts'

interface Flags extends StoreFlags {
  owner: string
}

export const addOrganization = (name: string, { owner, ...store }: Flags): Promise<void> =>
  withStore(store, async ({ hosting }) => {
    const account = await hosting.accounts.byName(owner)
    if (account?.kind !== 'user') throw new Error(`there is no user named ${owner}`)
    const organization = await hosting.organizations.create(account.id, { name })
    process.stderr.write(`added the organization ${organization.name}, owned by ${account.name}\n`)
  })
