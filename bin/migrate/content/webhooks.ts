import * as v from 'valibot'
import type { Authorizer } from '../../../lib/accounts/authorize.ts'
import type { Actor } from '../../../lib/audit.ts'
import { AllotError } from '../../../lib/errors.ts'
import { allItems } from '../../../lib/records/pages.ts'
import { type Account, type Hook, HookType } from '../../../lib/records/schema/index.ts'
import type { HookPlace } from '../../../lib/webhooks/places.ts'
import { isEvent } from '../../../lib/webhooks/recipients.ts'
import { Copies } from '../copies.ts'
import { apiPath, each, ifAvailable, type Migration, OPERATOR, reportErrors } from '../migration.ts'
import { type CopiedRepository, repositoryPath } from '../repositories.ts'
import type { Item, Things } from '../things.ts'

const INACTIVE =
  'webhooks without their secrets: they are inactive here, so that no receiver gets an event twice; set the secret and `active` when this server takes over'
const OTHER_TYPE =
  'webhooks of other types than gitea, gogs and forgejo, or without an event that Allot knows'
const REFUSED = 'webhooks that are refused here'

const text = v.nullish(v.string(), '')

const SourceHook = v.object({
  id: v.number(),
  type: text,
  config: v.nullish(v.object({ url: text, content_type: text, http_method: text }), {}),
  branch_filter: text,
  events: v.nullish(v.array(v.string()), []),
})
type SourceHook = v.InferOutput<typeof SourceHook>

/** Webhooks of one repository, account or of the instance. */
interface HookList {
  /** In the migration log. */
  readonly scope: string
  /** In the report. */
  readonly label: string
  readonly place: Authorizer<HookPlace>
  /** The receivers get what this account can see. The audit log names the command line. */
  readonly creator: Actor
  /** List of the source. */
  readonly path: string
  /** User to read it as. */
  readonly sudo?: string
}

/**
 * Copies the webhooks of repositories, of users and organizations, and with everything also those of the
 * instance.
 */
export const copyWebhooks = async (
  migration: Migration,
  accounts: readonly { kind: Account['kind']; name: string }[],
  repositories: readonly CopiedRepository[],
  isWhole: boolean,
): Promise<void> => {
  const found: HookList[] = []
  const add = (place: HookPlace, creator: Actor, list: Omit<HookList, 'place' | 'creator'>) =>
    found.push({ ...list, creator, place: async () => place })
  for (const { kind, name: label } of accounts) {
    const account = await migration.names.accountOf(label)
    if (account?.kind !== kind) continue
    const { id: target, name } = account
    const list =
      kind === 'user' ? { path: '/user/hooks', sudo: label } : { path: `${apiPath('orgs', label)}/hooks` }
    // A repository can have the same id.
    const scope = `account/${migration.names.keyHere(account)}`
    add({ scope: 'account', target, name }, createdFor(account), { scope, label, ...list })
  }
  for (const { owner, repository, given, key: scope } of repositories) {
    const place = {
      scope: 'repository',
      target: repository.id,
      name: `${owner.name}/${repository.name}`,
    } as const
    add(place, createdFor(owner), { scope, label: given.full_name, path: `${repositoryPath(given)}/hooks` })
  }
  const instance = { scope: 'instance', target: 0, name: 'the instance' } as const
  if (isWhole) add(instance, OPERATOR, { scope: '', label: 'the instance', path: '/admin/hooks' })
  await each('webhooks', found, (one) => copyList(migration, one))
}

const createdFor = ({ id, name }: Account): Actor => ({ id, username: name, administrator: OPERATOR })

const copyList = (migration: Migration, list: HookList): Promise<void> =>
  reportErrors(migration.report, `the webhooks of ${list.label}`, async () => {
    const { source, report, allot, migrationLog } = migration
    const found = await ifAvailable(source.listAs(SourceHook, list.path, list.sudo))
    if (found === undefined || found.isRefused) return
    const wanted = found.items.filter((hook) => typeOf(hook) !== undefined && eventsOf(hook).length > 0)
    for (const hook of found.items)
      if (!wanted.includes(hook)) report.note('notCopied', OTHER_TYPE, labelOf(list, hook))
    const items = wanted.map((hook) => itemFor(migration, list, hook))
    await new Copies(migration, hooksOf(migration, list, wanted)).synchronize(items)
    for (const hook of wanted) {
      const record = await migrationLog.get('hook', list.scope, String(hook.id))
      const copy = await allot.hosting.hooks.find(list.place, record?.copy?.id ?? 0)
      if (copy?.active === false) report.note('notCopied', INACTIVE, labelOf(list, hook))
    }
  })

const labelOf = ({ label }: HookList, { id }: SourceHook): string => `webhook ${id} of ${label}`

/** The type that a webhook here can have. */
const typeOf = ({ type, config }: SourceHook): Hook['type'] | undefined =>
  v.is(HookType, type) && !/^get$/i.test(config.http_method) ? type : undefined

/** The events that Allot knows the name of; some of them never happen here. */
const eventsOf = ({ events }: SourceHook): string[] => [...new Set(events)].filter(isEvent).sort()

/** The members that are followed. */
const membersOf = ({
  url,
  contentType,
  events,
  branchFilter,
}: Pick<Hook, 'url' | 'contentType' | 'events' | 'branchFilter'>) => ({
  url,
  contentType,
  events: [...events].sort(),
  branchFilter,
})

const hooksOf = (
  { allot, migrationLog }: Migration,
  { place, scope, label, creator }: HookList,
  wanted: readonly SourceHook[],
): Things => {
  const { hooks } = allot.hosting
  const all = () => allItems((slice) => hooks.list(place, slice))
  return {
    kind: 'hook',
    scope,
    ...(scope !== '' && { within: label }),
    async find(name, copy) {
      if (copy !== undefined) return (await hooks.find(place, copy.id!)) && copy
      if ((await migrationLog.get('hook', scope, name)) === undefined) return undefined
      // A run that was killed has created it, and not recorded that.
      const copies = new Set((await migrationLog.list('hook', scope)).map((record) => record.copy?.id))
      const url = wanted.find(({ id }) => String(id) === name)?.config.url
      const own = (await all()).find((one) => one.url === url && !copies.has(one.id))
      return own && { id: own.id }
    },
    members: async ({ id }) => membersOf((await hooks.find(place, id!))!),
    list: async () => (await all()).map(({ id, url }) => ({ copy: { id }, label: url })),
    /** A copy comes inactive, and without a secret and a header `Authorization`. */
    async isNeeded({ id }) {
      const { active, secret, authorization } = (await hooks.find(place, id!))!
      return active || secret + authorization !== ''
    },
    remove: (_, { id }) => hooks.remove(creator, place, id!),
  }
}

const itemFor = ({ allot, report, baseUrl = '' }: Migration, list: HookList, hook: SourceHook): Item => {
  const { hooks } = allot.hosting
  const { config, branch_filter: branchFilter } = hook
  const contentType = config.content_type === 'form' ? 'form' : 'json'
  const values = membersOf({ url: config.url, contentType, events: eventsOf(hook), branchFilter })
  const given = { ...values, type: typeOf(hook)!, baseUrl, active: false }
  return {
    name: String(hook.id),
    label: String(hook.id),
    values,
    async isPossible() {
      try {
        await hooks.check(list.place, given)
        return true
      } catch (error) {
        if (!(error instanceof AllotError)) throw error
        report.note('notCopied', REFUSED, `${labelOf(list, hook)} (${error.message})`)
        return false
      }
    },
    create: async () => (await hooks.create(list.creator, list.place, given)) !== undefined,
    edit: ({ id }, edit: Partial<typeof values>) => hooks.edit(list.creator, list.place, id!, edit),
  }
}
