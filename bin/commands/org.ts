import type { Organization } from '../../lib/api/organization-schema.ts'
import { type ApiFlags, withApi } from '../client/api-access.ts'
import { pathSegment } from '../client/api-client.ts'
import { type PrintFlags, printJson, printNote } from '../terminal/print.ts'

interface Flags extends ApiFlags, PrintFlags {
  owner: string
}

export const deleteOrganization = (
  name: string,
  { purge, ...flags }: ApiFlags & { purge?: boolean },
): Promise<void> => {
  const path = `/orgs/${pathSegment(name)}${purge ? '?purge=true' : ''}`
  return withApi(flags, async (api) => {
    await api.send('DELETE', path, undefined, `there is no organization named ${name}`)
    printNote(`deleted the organization ${name}`)
  })
}

export const addOrganization = (name: string, { owner, json, ...flags }: Flags): Promise<void> => {
  const path = `/admin/users/${pathSegment(owner)}/orgs`
  return withApi(
    flags,
    async (api) => {
      const body = { username: name }
      const made = await api.send<Organization>('POST', path, body, `there is no user named ${owner}`)
      if (json) printJson(made)
      printNote(`added the organization ${made.name}, owned by ${owner}`)
    },
    { mayMake: true },
  )
}
