import type { SignedIn } from '../accounts/access.ts'
import { type Authorizer, authorizeOrganization, authorizeRepositoryAdmin } from '../accounts/authorize.ts'
import { type Actor, recordAudit } from '../audit.ts'
import { AllotError } from '../errors.ts'
import { creationTimes, savedMembers, withEdit } from '../records/edits.ts'
import type { Jobs } from '../records/jobs.ts'
import type { Page, Slice } from '../records/pages.ts'
import {
  accounts,
  type Delivery,
  deliveries,
  type Hook,
  type HookScope,
  hooks,
  repositories,
} from '../records/schema/index.ts'
import { type Store, takeNumber, type WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { AllowedAddresses } from './addresses.ts'
import type { WebhookEvent } from './events.ts'
import { checkHook, type HookEdit } from './hook-checks.ts'
import type { Outbox } from './outbox.ts'
import { removeHook } from './removal.ts'

/** The repository or the account of webhooks, or the instance. */
export interface HookPlace {
  readonly scope: HookScope
  /** Id of the repository or the account; 0 for the instance. */
  readonly target: number
  /** Its name, for the audit log. */
  readonly name: string
}

export interface NewHook extends HookEdit {
  type: Hook['type']
  url: string
  baseUrl: string
}

/** Webhooks of a repository, an account or the instance: each of them may be sent a copy of every event. */
const MAX_HOOKS = 20

interface HooksOptions {
  readonly store: Store
  readonly jobs: Jobs
  readonly outbox: Outbox
  readonly addresses: AllowedAddresses
}

/**
 * Webhooks, for users who administer the repository, account or instance. Methods return undefined when one
 * does not exist.
 */
export class Hooks {
  readonly #options: HooksOptions

  constructor(options: HooksOptions) {
    this.#options = options
  }

  list(place: Authorizer<HookPlace>, slice: Slice): Promise<Page<Hook> | undefined> {
    return this.#options.store.read(async (tx) => {
      const found = await place(tx)
      return found && hooks.page(tx, 'target', { prefix: [found.scope, found.target], ...slice })
    })
  }

  find(place: Authorizer<HookPlace>, id: number): Promise<Hook | undefined> {
    return this.#options.store.read(async (tx) => (await hookAt(tx, place, id))?.hook)
  }

  /** @throws AllotError invalid; conflict when there are {@link MAX_HOOKS} already */
  async create(by: Actor, place: Authorizer<HookPlace>, given: NewHook): Promise<Hook | undefined> {
    const { store, addresses, outbox } = this.#options
    return store.write(async (tx) => {
      const found = await place(tx)
      if (found === undefined) return undefined
      const { scope, target } = found
      checkHook(given, addresses)
      if ((await hooks.count(tx, 'target', [scope, target])) >= MAX_HOOKS)
        throw new AllotError('conflict', `there are ${MAX_HOOKS} webhooks already: delete one of them first`)
      const id = await takeNumber(tx, 'hook')
      const hook = newHook({ id, scope, target, creator: by.id }, given)
      await hooks.add(tx, hook)
      outbox.hookCreated(tx)
      await audit(tx, by, 'webhook created', found, { after: hook })
      return hook
    })
  }

  async edit(by: Actor, place: Authorizer<HookPlace>, id: number, edit: HookEdit): Promise<Hook | undefined> {
    const { store, addresses, outbox } = this.#options
    return store.write(async (tx) => {
      const found = await hookAt(tx, place, id)
      if (found === undefined) return undefined
      checkHook(edit, addresses)
      const hook = edited(found.hook, edit)
      if (hook !== found.hook) {
        await hooks.save(tx, hook)
        await audit(tx, by, 'webhook changed', found.place, { before: found.hook, after: hook })
      }
      // It may be able now to send what failed before.
      await outbox.retryNow(tx, hook)
      return hook
    })
  }

  remove(by: Actor, place: Authorizer<HookPlace>, id: number): Promise<boolean> {
    const { store, jobs } = this.#options
    return store.write(async (tx) => {
      const found = await hookAt(tx, place, id)
      if (found === undefined) return false
      await removeHook(tx, jobs, found.hook, jobs.limits.maxPerTransaction)
      await audit(tx, by, 'webhook deleted', found.place, { before: found.hook })
      return true
    })
  }

  /** Deliveries of a webhook, the newest first. */
  deliveries(place: Authorizer<HookPlace>, id: number, slice: Slice): Promise<Page<Delivery> | undefined> {
    return this.#options.store.read(async (tx) => {
      if ((await hookAt(tx, place, id)) === undefined) return undefined
      return deliveries.page(tx, 'hook', { prefix: [id], reverse: true, ...slice })
    })
  }

  delivery(place: Authorizer<HookPlace>, id: number, number: number): Promise<Delivery | undefined> {
    return this.#options.store.read(async (tx) =>
      (await hookAt(tx, place, id)) === undefined ? undefined : deliveries.get(tx, [id, number]),
    )
  }

  /**
   * Sends a delivery again, after those that wait.
   * @returns the new delivery
   */
  resend(place: Authorizer<HookPlace>, id: number, number: number): Promise<Delivery | undefined> {
    const { store, outbox } = this.#options
    return store.write(async (tx) => {
      const found = await hookAt(tx, place, id)
      const delivery = found && (await deliveries.get(tx, [id, number]))
      if (found === undefined || delivery === undefined) return undefined
      requireActive(found.hook)
      await outbox.retryNow(tx, found.hook)
      return outbox.repeat(tx, found.hook, delivery)
    })
  }

  /**
   * Sends a webhook something to test the receiver with.
   * @param push the push to send; absent: a `ping`
   * @returns whether there is such a webhook
   */
  test(by: Actor, place: Authorizer<HookPlace>, id: number, push?: TestPush): Promise<boolean> {
    const { store, outbox } = this.#options
    return store.write(async (tx) => {
      const found = await hookAt(tx, place, id)
      if (found === undefined) return false
      requireActive(found.hook)
      await outbox.test(tx, found.hook, await testEvent(tx, found.hook, by, push))
      return true
    })
  }
}

const testEvent = async (
  tx: ReadTransaction,
  hook: Hook,
  { id: by }: Actor,
  push: TestPush | undefined,
): Promise<WebhookEvent> => {
  const repository = hook.scope === 'repository' ? await repositories.get(tx, [hook.target]) : undefined
  if (repository === undefined || push === undefined) return { event: 'ping', hook, by }
  const { ref, commit } = push
  return { event: 'push', repository, by, ref, before: commit, after: commit }
}

/** A reference or the id of a commit in the webhook's repository, and the commit that it names. */
export interface TestPush {
  readonly ref: string
  readonly commit: string
}

/**
 * Finds the place of webhooks, and checks that the viewer administers it; routes of the instance check that
 * themselves.
 */
export const hookPlaces = {
  repository:
    (viewer: SignedIn, owner: string, name: string): Authorizer<HookPlace> =>
    async (tx) => {
      const repository = await authorizeRepositoryAdmin(viewer, owner, name)(tx)
      if (repository === undefined) return undefined
      const account = (await accounts.get(tx, [repository.owner]))!
      return { scope: 'repository', target: repository.id, name: `${account.name}/${repository.name}` }
    },
  organization:
    (viewer: SignedIn, name: string): Authorizer<HookPlace> =>
    async (tx) => {
      const account = await authorizeOrganization(viewer, name)(tx)
      return account && { scope: 'account', target: account.id, name: account.name }
    },
  user:
    (viewer: SignedIn): Authorizer<HookPlace> =>
    async (tx) => {
      const account = await accounts.get(tx, [viewer.id])
      return account && { scope: 'account', target: account.id, name: account.name }
    },
  instance: (): Authorizer<HookPlace> => async () => ({ scope: 'instance', target: 0, name: 'the instance' }),
}

const hookAt = async (
  tx: ReadTransaction,
  place: Authorizer<HookPlace>,
  id: number,
): Promise<{ place: HookPlace; hook: Hook } | undefined> => {
  const found = await place(tx)
  const hook = found && (await hooks.get(tx, [id]))
  if (found === undefined || hook?.scope !== found.scope || hook.target !== found.target) return undefined
  return { place: found, hook }
}

const newHook = (
  ids: Pick<Hook, 'id' | 'scope' | 'target' | 'creator'>,
  { type, url, baseUrl, contentType = 'json', secret = '', authorization = '', ...given }: NewHook,
): Hook => ({
  ...ids,
  type,
  url,
  baseUrl,
  contentType,
  secret,
  authorization,
  // As on Gitea: events that are not chosen are pushes.
  events: given.events === undefined || given.events.length === 0 ? ['push'] : given.events,
  branchFilter: given.branchFilter ?? '',
  active: given.active ?? false,
  ...creationTimes(),
})

const SAVED: Readonly<Record<keyof HookEdit, true>> = {
  url: true,
  contentType: true,
  secret: true,
  authorization: true,
  events: true,
  branchFilter: true,
  active: true,
  baseUrl: true,
}

/**
 * The header `Authorization` is for one receiver only: an edit that changes the receiver must give it again.
 */
const edited = (before: Hook, edit: HookEdit): Hook => {
  const baseUrl = before.baseUrl || (edit.baseUrl ?? '')
  const after = withEdit(before, { ...savedMembers(edit, SAVED), baseUrl })
  const isSameReceiver = new URL(after.url).origin === new URL(before.url).origin
  return isSameReceiver || edit.authorization !== undefined ? after : { ...after, authorization: '' }
}

const requireActive = ({ active }: Hook): void => {
  if (!active) throw new AllotError('conflict', 'the webhook is not active: set active to true first')
}

/** The members of a webhook in the audit log: no secrets, and no URL, whose query may have some. */
const auditedPart = ({ id, url, events, active, secret, authorization }: Hook) => ({
  id,
  host: new URL(url).host,
  events,
  active,
  hasSecret: secret !== '',
  hasAuthorization: authorization !== '',
})

const audit = (
  tx: WriteContext,
  by: Actor,
  action: 'webhook created' | 'webhook changed' | 'webhook deleted',
  { name }: HookPlace,
  { before, after }: { before?: Hook; after?: Hook },
): Promise<void> =>
  recordAudit(tx, by, {
    action,
    subject: name,
    before: before && auditedPart(before),
    after: after && auditedPart(after),
  })
