import * as v from 'valibot'
import type { Authorizer } from '../../../lib/accounts/authorize.ts'
import type { Actor } from '../../../lib/audit.ts'
import { AllotError } from '../../../lib/errors.ts'
import { allItems } from '../../../lib/records/pages.ts'
import { type Account, type Hook, HookType } from '../../../lib/records/schema/index.ts'
import type { NewHook } from '../../../lib/webhooks/hooks.ts'
import type { HookPlace } from '../../../lib/webhooks/places.ts'
import { isEvent } from '../../../lib/webhooks/recipients.ts'
import { Copies } from '../copies.ts'
import { apiPath, each, ifAvailable, type Migration, OPERATOR, reportErrors } from '../migration.ts'
import type { Report } from '../report.ts'
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
  active: v.nullish(v.boolean(), false),
})
type SourceHook = v.InferOutput<typeof SourceHook>

/** Webhooks of one repository, account or of the instance. */
interface HookList {
  /** In the migration log. */
  readonly scope: string
  /** In the report. */
  readonly label: string
  readonly place: HookPlace
  /** The receivers get what this account can see. */
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
  for (const { kind, name } of accounts) {
    const account = await migration.names.accountOf(name)
    if (account?.kind === kind) found.push(ofAccount(migration, account, name))
  }
  found.push(...repositories.map(ofRepository))
  const place: HookPlace = { scope: 'instance', target: 0, name: 'the instance' }
  if (isWhole)
    found.push({ scope: '', label: 'the instance', place, creator: OPERATOR, path: '/admin/hooks' })
  await each('webhooks', found, (one) => copyList(migration, one))
}

const ofAccount = ({ names }: Migration, account: Account, login: string): HookList => ({
  scope: names.keyHere(account),
  label: login,
  place: { scope: 'account', target: account.id, name: account.name },
  creator: createdFor(account),
  ...(account.kind === 'user'
    ? { path: '/user/hooks', sudo: login }
    : { path: `${apiPath('orgs', login)}/hooks` }),
})

const ofRepository = ({ owner, repository, given, key }: CopiedRepository): HookList => ({
  scope: key,
  label: given.full_name,
  place: { scope: 'repository', target: repository.id, name: `${owner.name}/${repository.name}` },
  creator: createdFor(owner),
  path: `${repositoryPath(given)}/hooks`,
})

/** The account that a webhook is for. The audit log names the command line. */
const createdFor = ({ id, name }: Account): Actor => ({ id, username: name, administrator: OPERATOR })

const copyList = (migration: Migration, list: HookList): Promise<void> =>
  reportErrors(migration.report, `the webhooks of ${list.label}`, async () => {
    const { source, report } = migration
    const found = await ifAvailable(source.listAs(SourceHook, list.path, list.sudo))
    if (found === undefined || found.isRefused) return
    const wanted = possibleHooks(report, list, found.items)
    const things = hooksOf(migration, list, wanted)
    const items = wanted.map((hook) => itemFor(migration, list, hook))
    await new Copies(migration, things).synchronize(items)
    for (const hook of wanted) await reportInactive(migration, list, things, hook)
  })

const labelOf = ({ label }: HookList, { id }: SourceHook): string => `webhook ${id} of ${label}`

/** Those whose type and one of whose events webhooks here can have; the others are noted. */
const possibleHooks = (report: Report, list: HookList, hooks: readonly SourceHook[]): SourceHook[] =>
  hooks.filter((hook) => {
    const isPossible = kindOf(hook) !== undefined && eventsOf(hook).length > 0
    if (!isPossible) report.note('notCopied', OTHER_TYPE, labelOf(list, hook))
    return isPossible
  })

const kindOf = ({ type, config }: SourceHook): Hook['type'] | undefined =>
  v.is(HookType, type) && !/^get$/i.test(config.http_method) ? type : undefined

/** The events that Allot knows the name of; some of them never happen here. */
const eventsOf = ({ events }: SourceHook): string[] => [...new Set(events)].filter(isEvent)

const placeOf =
  ({ place }: HookList): Authorizer<HookPlace> =>
  async () =>
    place

const contentTypeOf = ({ config }: SourceHook): Hook['contentType'] =>
  config.content_type === 'form' ? 'form' : 'json'

/** The members of a webhook that its copy has. */
const editOf = (hook: SourceHook) => ({
  url: hook.config.url,
  contentType: contentTypeOf(hook),
  events: eventsOf(hook).sort(),
  branchFilter: hook.branch_filter,
})
type Members = ReturnType<typeof editOf>

const hooksOf = (
  { allot, migrationLog }: Migration,
  list: HookList,
  wanted: readonly SourceHook[],
): Things => {
  const { hooks } = allot.hosting
  const urls = new Map(wanted.map(({ id, config }) => [String(id), config.url]))
  const hookWith = async (id: number | undefined) => (await hooks.find(placeOf(list), id ?? 0))!
  return {
    ...{ kind: 'hook', scope: list.scope, ...(list.scope !== '' && { within: list.label }) },
    async find(name, copy) {
      if (copy !== undefined) return (await hooks.find(placeOf(list), copy.id!)) && copy
      if ((await migrationLog.get('hook', list.scope, name)) === undefined) return undefined
      // A run that was killed has created it, and not recorded that.
      const copies = new Set((await migrationLog.list('hook', list.scope)).map((record) => record.copy?.id))
      const all = await allItems((slice) => hooks.list(placeOf(list), slice))
      const own = all.find((one) => one.url === urls.get(name) && !copies.has(one.id))
      return own && { id: own.id }
    },
    async members({ id }): Promise<Members> {
      const { url, contentType, events, branchFilter } = await hookWith(id)
      return { url, contentType, events: [...events].sort(), branchFilter }
    },
    async list() {
      const all = await allItems((slice) => hooks.list(placeOf(list), slice))
      return all.map(({ id, url }) => ({ copy: { id }, label: url }))
    },
    /** A copy comes inactive, and without a secret and a header `Authorization`. */
    async isNeeded({ id }) {
      const { active, secret, authorization } = await hookWith(id)
      return active || secret + authorization !== ''
    },
    remove: (_, { id }) => hooks.remove(list.creator, placeOf(list), id!),
  }
}

const itemFor = (migration: Migration, list: HookList, hook: SourceHook): Item => {
  const { allot, report, baseUrl = '' } = migration
  const { hooks } = allot.hosting
  const values = editOf(hook)
  return {
    ...{ name: String(hook.id), label: String(hook.id), values },
    async create() {
      const given: NewHook = { ...values, type: kindOf(hook)!, baseUrl, active: false }
      try {
        return (await hooks.create(list.creator, placeOf(list), given)) !== undefined
      } catch (error) {
        if (!(error instanceof AllotError)) throw error
        report.note('notCopied', REFUSED, `${labelOf(list, hook)} (${error.message})`)
        return false
      }
    },
    edit: ({ id }, edit: Partial<Members>) => hooks.edit(list.creator, placeOf(list), id!, edit),
  }
}

const reportInactive = async (
  { allot, report, migrationLog }: Migration,
  list: HookList,
  { kind, scope }: Things,
  hook: SourceHook,
): Promise<void> => {
  const id = (await migrationLog.get(kind, scope, String(hook.id)))?.copy?.id
  const copy = id === undefined ? undefined : await allot.hosting.hooks.find(placeOf(list), id)
  if (copy?.active === false) report.note('notCopied', INACTIVE, labelOf(list, hook))
}
