import type { SignedIn } from '../accounts/access.ts'
import type { Authorizer } from '../accounts/authorize.ts'
import { type Actor, recordAudit } from '../audit.ts'
import { AllotError } from '../errors.ts'
import { creationTimes, savedMembers, withEdit } from '../records/edits.ts'
import type { Jobs } from '../records/jobs.ts'
import type { Page, Slice } from '../records/pages.ts'
import {
  type Delivery,
  deliveries,
  type Hook,
  hookPayloads,
  hooks,
  repositories,
} from '../records/schema/index.ts'
import { type Store, takeNumber, type WriteContext } from '../records/store.ts'
import { requireScopes } from '../scopes.ts'
import type { ReadTransaction } from '../storage/index.ts'
import type { AllowedAddresses } from './addresses.ts'
import type { WebhookEvent } from './events.ts'
import { checkHook, HOOK_EDITED, type HookEdit } from './hook-checks.ts'
import { removeHook } from './kept.ts'
import type { Outbox } from './outbox.ts'
import { type HookPlace, hookAt } from './places.ts'
import { keptScopes, requireToRead, type Sent, scopesOfHook, whyOff } from './readers.ts'

export interface NewHook extends HookEdit {
  type: Hook['type']
  url: string
  baseUrl: string
}

/** Who makes or changes a webhook. */
type HookActor = Actor & { readonly scopes?: ReadonlySet<string> | undefined }

/** A webhook, and why nothing may be sent to it; undefined while it may. */
export type ShownHook = Hook & { readonly inactiveReason: string | undefined }

/** A delivery with the text of its payload; `{}` when it is not kept any more. */
export type ShownDelivery = Delivery & { readonly text: string }

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

  list(place: Authorizer<HookPlace>, slice: Slice): Promise<Page<ShownHook> | undefined> {
    return this.#options.store.read(async (tx) => {
      const found = await place(tx)
      if (found === undefined) return undefined
      const page = await hooks.page(tx, 'target', { prefix: [found.scope, found.target], ...slice })
      return { ...page, items: await Promise.all(page.items.map((hook) => shown(tx, hook))) }
    })
  }

  find(place: Authorizer<HookPlace>, id: number): Promise<ShownHook | undefined> {
    return this.#options.store.read(async (tx) => {
      const found = await hookAt(tx, place, id)
      return found && shown(tx, found.hook)
    })
  }

  /**
   * Checks a new webhook as {@link create} does, except for the scopes of who creates it. Saves nothing.
   * @throws AllotError invalid; conflict when there are {@link MAX_HOOKS} already
   */
  check(place: Authorizer<HookPlace>, given: NewHook): Promise<void> {
    return this.#options.store.read(async (tx) => {
      const found = await place(tx)
      if (found !== undefined) await this.#checkNew(tx, found, given)
    })
  }

  async #checkNew(tx: ReadTransaction, { scope, target }: HookPlace, given: NewHook): Promise<void> {
    checkHook(given, this.#options.addresses)
    if ((await hooks.count(tx, 'target', [scope, target])) >= MAX_HOOKS)
      throw new AllotError('conflict', `there are ${MAX_HOOKS} webhooks already: delete one of them first`)
  }

  /**
   * @throws AllotError invalid; conflict when there are {@link MAX_HOOKS} already; forbidden for credentials
   * without the scopes of what the webhook sends
   */
  async create(by: HookActor, place: Authorizer<HookPlace>, given: NewHook): Promise<ShownHook | undefined> {
    return this.#options.store.write(async (tx) => {
      const found = await place(tx)
      if (found === undefined) return undefined
      await this.#checkNew(tx, found, given)
      const { scope, target } = found
      const id = await takeNumber(tx, 'hook')
      const hook = newHook({ id, scope, target, creator: by.id, scopes: keptScopes(by) }, given)
      requireScopes(by, { scope: scopesOfHook(hook) })
      await hooks.add(tx, hook)
      await audit(tx, by, 'webhook created', found, { after: hook })
      return shown(tx, hook)
    })
  }

  /**
   * Changes a webhook, which then acts for the user who changes it.
   * @throws AllotError invalid; forbidden as `create`
   */
  async edit(
    by: HookActor,
    place: Authorizer<HookPlace>,
    id: number,
    edit: HookEdit,
  ): Promise<ShownHook | undefined> {
    const { store, addresses, outbox } = this.#options
    return store.write(async (tx) => {
      const found = await hookAt(tx, place, id)
      if (found === undefined) return undefined
      checkHook(edit, addresses)
      const hook = edited(found.hook, by, edit)
      requireScopes(by, { scope: scopesOfHook(hook) })
      if (hook !== found.hook) {
        await hooks.save(tx, hook)
        await audit(tx, by, 'webhook changed', found.place, { before: found.hook, after: hook })
      }
      // It may be able now to send what failed before.
      await outbox.retryNow(tx, hook)
      return shown(tx, hook)
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

  /** @throws AllotError forbidden when the viewer may not read the payload ({@link requireToRead}) */
  delivery(
    viewer: SignedIn,
    place: Authorizer<HookPlace>,
    id: number,
    number: number,
  ): Promise<ShownDelivery | undefined> {
    return this.#options.store.read(async (tx) => {
      if ((await hookAt(tx, place, id)) === undefined) return undefined
      const delivery = await deliveries.get(tx, [id, number])
      if (delivery === undefined) return undefined
      requireToRead(viewer, delivery)
      return { ...delivery, text: (await hookPayloads.get(tx, [delivery.payload ?? '']))?.text ?? '{}' }
    })
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
      await requireActive(tx, found.hook, delivery)
      if (delivery.payload === null)
        throw new AllotError('conflict', 'the payload of the delivery is not kept any more')
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
      const event = await testEvent(tx, found.hook, by, push)
      await requireActive(tx, found.hook, event)
      await outbox.test(tx, found.hook, event)
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

const newHook = (
  ids: Pick<Hook, 'id' | 'scope' | 'target' | 'creator' | 'scopes'>,
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

/**
 * The header `Authorization` is for one receiver only: an edit that changes the receiver must give it again.
 */
const edited = (before: Hook, by: HookActor, edit: HookEdit): Hook => {
  const baseUrl = before.baseUrl || (edit.baseUrl ?? '')
  const actsFor = { creator: by.id, scopes: keptScopes(by) }
  const after = withEdit(before, { ...savedMembers(edit, HOOK_EDITED), baseUrl, ...actsFor })
  const isSameReceiver = new URL(after.url).origin === new URL(before.url).origin
  return isSameReceiver || edit.authorization !== undefined ? after : { ...after, authorization: '' }
}

const shown = async (tx: ReadTransaction, hook: Hook): Promise<ShownHook> => ({
  ...hook,
  inactiveReason: await whyOff(tx, hook),
})

const requireActive = async (
  tx: ReadTransaction,
  hook: Hook,
  { event, creator }: Pick<Sent, 'event' | 'creator'>,
): Promise<void> => {
  const reason = hook.active ? await whyOff(tx, hook, { event, creator }) : 'set active to true first'
  if (reason !== undefined) throw new AllotError('conflict', `the webhook is not active: ${reason}`)
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
