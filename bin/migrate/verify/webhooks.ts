import { contentTypeOf, eventsOf, possibleHooks, readHooks, type SourceHook } from '../content/webhooks.ts'
import { apiPath, reportErrors } from '../migration.ts'
import { repositoryPath } from '../repositories.ts'
import type { Item } from './comparison.ts'
import { pathHere, type RepositoryPair } from './repositories.ts'
import type { Sides } from './sides.ts'

/** Compares the webhooks of a repository. */
export const compareRepositoryHooks = (sides: Sides, pair: RepositoryPair): Promise<void> =>
  compareHooks(sides, pair.given.full_name, `${repositoryPath(pair.given)}/hooks`, {
    path: `${pathHere(pair)}/hooks`,
  })

/** Compares the webhooks of a user or an organization. */
export const compareAccountHooks = async (
  sides: Sides,
  { kind, name }: { kind: 'user' | 'organization'; name: string },
): Promise<void> => {
  const account = await sides.names.account(name)
  if (account?.kind !== kind) return
  if (kind === 'user')
    return compareHooks(sides, name, '/user/hooks', { path: '/user/hooks', sudo: account.name }, name)
  await compareHooks(sides, name, `${apiPath('orgs', name)}/hooks`, {
    path: `${apiPath('orgs', account.name)}/hooks`,
  })
}

/** @param sudo user to read the list of the source as */
const compareHooks = (
  { source, here, report }: Sides,
  label: string,
  path: string,
  copy: { path: string; sudo?: string },
  sudo?: string,
): Promise<void> =>
  reportErrors(report, `the webhooks of ${label}`, async () => {
    const given = await readHooks(source, path, sudo)
    const found = await readHooks(here, copy.path, copy.sudo)
    if (given === undefined || found === undefined) return
    const possible = possibleHooks(report, label, given)
    report.count('webhook', possible.length)
    report.lists('webhook', label, possible.map(itemOf), found.map(itemOf))
  })

/** The copy is inactive and without the secret, so these are not compared. */
const itemOf = (hook: SourceHook): Item => ({
  name: hook.config.url,
  fields: {
    'content type': contentTypeOf(hook),
    events: eventsOf(hook).sort(),
    branches: hook.branch_filter,
  },
})
