import type { Command } from 'commander'
import type { Organization } from '../../lib/api/organizations.ts'
import { type ApiFlags, withApi } from '../client/api-access.ts'
import { pathSegment } from '../client/api-client.ts'
import { type Column, type ListFlags, printList } from '../client/list.ts'
import { printJson, printNote } from '../terminal.ts'
import { apiOptions, examples } from './options.ts'

export const addOrganizationCommands = (program: Command): void => {
  const organization = program.command('org').description('manage organizations')
  apiOptions(organization.command('add'))
    .argument('<name>')
    .description('add an organization')
    .requiredOption('--owner <user>', 'user who becomes its first owner')
    .addHelpText('after', examples('allot org add acme --owner alice'))
    .action(addOrganization)
  apiOptions(organization.command('delete'))
    .argument('<name>')
    .description('delete an organization')
    .option('--purge', 'also delete the repositories and packages that the organization owns')
    .addHelpText('after', examples('allot org delete acme', 'allot org delete acme --purge'))
    .action(deleteOrganization)
  apiOptions(organization.command('list'))
    .description('list all organizations')
    .addHelpText('after', examples('allot org list'))
    .action(listOrganizations)
}

const addOrganization = (
  name: string,
  { owner, json, ...flags }: ListFlags & { owner: string },
): Promise<void> => {
  const path = `/admin/users/${pathSegment(owner)}/orgs`
  return withApi(
    flags,
    async (api) => {
      const body = { username: name }
      const added = await api.send<Organization>('POST', path, body, `there is no user named ${owner}`)
      if (json) printJson(added)
      printNote(`added the organization ${added.name}, owned by ${owner}`)
    },
    { createStore: true },
  )
}

const deleteOrganization = (
  name: string,
  { purge, ...flags }: ApiFlags & { purge?: boolean },
): Promise<void> => {
  const path = `/orgs/${pathSegment(name)}${purge ? '?purge=true' : ''}`
  return withApi(flags, async (api) => {
    await api.send('DELETE', path, undefined, `there is no organization named ${name}`)
    printNote(`deleted the organization ${name}`)
  })
}

const COLUMNS: readonly Column<Organization>[] = [
  { title: 'ID', cell: ({ id }) => id },
  { title: 'NAME', cell: ({ name }) => name },
  { title: 'SEEN BY', cell: ({ visibility }) => visibility },
  { title: 'FULL NAME', cell: ({ full_name }) => full_name },
  { title: 'NOTE', cell: ({ owners_count }) => (owners_count === 0 ? 'no owner' : '') },
]

const listOrganizations = (flags: ListFlags): Promise<void> =>
  printList(flags, { path: '/admin/orgs', columns: COLUMNS, empty: 'there are no organizations yet' })
