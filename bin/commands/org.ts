import type { Organization } from '../../lib/resources/organization.ts'
import { part } from '../api.ts'
import { note, type PrintFlags, printJson } from '../print.ts'
import { type ReachFlags, withApi } from '../reach.ts'

interface Flags extends ReachFlags, PrintFlags {
  owner: string
}

export const deleteOrganization = (
  name: string,
  { purge, ...flags }: ReachFlags & { purge?: boolean },
): Promise<void> => {
  const path = `/orgs/${part(name)}${purge ? '?purge=true' : ''}`
  return withApi(flags, async (api) => {
    await api.send('DELETE', path, undefined, `there is no organization named ${name}`)
    note(`deleted the organization ${name}`)
  })
}

export const addOrganization = (name: string, { owner, json, ...flags }: Flags): Promise<void> => {
  const path = `/admin/users/${part(owner)}/orgs`
  return withApi(
    flags,
    async (api) => {
      const body = { username: name }
      const made = await api.send<Organization>('POST', path, body, `there is no user named ${owner}`)
      if (json) printJson(made)
      note(`added the organization ${made.name}, owned by ${owner}`)
    },
    { mayMake: true },
  )
}
