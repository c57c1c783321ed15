import * as v from 'valibot'
import { isEvent } from '../../../lib/webhooks/events.ts'
import { apiPath, ifAvailable, reportErrors } from '../migration.ts'
import { repositoryPath } from '../repositories.ts'
import type { Source } from '../source.ts'
import type { Item } from './comparison.ts'
import type { RepositoryPair } from './repositories.ts'
import type { Sides } from './sides.ts'

const OTHER_TYPE =
  'webhooks of other types than gitea, gogs and forgejo, or without an event that happens here'

const text = v.nullish(v.string(), '')
const SourceHook = v.object({
  type: text,
  config: v.nullish(v.object({ url: text, content_type: text, http_method: text }), {}),
  branch_filter: text,
  events: v.nullish(v.array(v.string()), []),
})
type SourceHook = v.InferOutput<typeof SourceHook>

/** Compares the webhooks of a repository. */
export const compareRepositoryHooks = (
  sides: Sides,
  { given, owner, repository }: RepositoryPair,
): Promise<void> =>
  compareHooks(sides, given.full_name, `${repositoryPath(given)}/hooks`, {
    path: `${apiPath('repos', owner.name, repository.name)}/hooks`,
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
    const possible = given.filter(isCopied)
    for (const { config } of given.filter((hook) => !isCopied(hook)))
      report.note('notCopied', OTHER_TYPE, `${label}: ${config.url}`)
    report.count('webhook', possible.length)
    report.lists('webhook', label, possible.map(itemOf), found.map(itemOf))
  })

/** Undefined when the server does not show them, or refuses to show them to the user. */
const readHooks = async (side: Source, path: string, sudo: string | undefined) => {
  let isRefused = false
  const onRefused = () => {
    isRefused = true
  }
  const found = await ifAvailable(side.list(SourceHook, path, sudo, onRefused))
  // Then the list is that of the token's owner.
  return isRefused ? undefined : found
}

const isCopied = ({ type, config, events }: SourceHook): boolean =>
  ['gitea', 'gogs', 'forgejo'].includes(type) && !/^get$/i.test(config.http_method) && events.some(isEvent)

/** The copy is inactive and without the secret, so these are not compared. */
const itemOf = ({ config, events, branch_filter: branches }: SourceHook): Item => ({
  name: config.url,
  fields: {
    'content type': config.content_type === 'form' ? 'form' : 'json',
    events: [...new Set(events)].filter(isEvent).sort(),
    branches,
  },
})
