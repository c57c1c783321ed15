/** The wire format of webhooks and their deliveries. */
import * as v from 'valibot'
import { fraction } from '../../http/index.ts'
import {
  type Delivery as DeliveryRecord,
  type Hook as HookRecord,
  HookType,
} from '../../records/schema/index.ts'
import { HOOK_LIMITS, type HookEdit, MAX_EVENTS } from '../../webhooks/hook-checks.ts'
import type { NewHook, ShownDelivery, ShownHook } from '../../webhooks/hooks.ts'
import * as f from '../fields.ts'
import { resource, view } from '../view.ts'

const RECEIVER = 'https://ci.example.org/hooks'

/** The secret and the header `Authorization` are never shown. */
export const hookView = resource<HookRecord & Partial<Pick<ShownHook, 'inactiveReason'>>>()({
  id: [f.number(15), ({ id }) => id],
  type: [f.text('gitea'), ({ type }) => type],
  config: [
    v.object({ url: f.text(RECEIVER), content_type: f.text('json') }),
    ({ url, contentType }) => ({ url, content_type: contentType }),
  ],
  branch_filter: [f.text(''), ({ branchFilter }) => branchFilter],
  events: [f.example(v.array(v.string()), ['push']), ({ events }) => events],
  /** Always empty, since the value that was set is never shown. */
  authorization_header: [f.text(''), () => ''],
  active: [
    f.example(v.boolean(), true),
    ({ active, inactiveReason }) => active && inactiveReason === undefined,
  ],
  /**
   * Why nothing is sent although it was made active: the user who made or last changed it may not read the
   * events any more. Empty otherwise.
   */
  inactive_reason: [f.text(''), ({ inactiveReason }) => inactiveReason ?? ''],
  is_system_webhook: [v.boolean(), ({ scope }) => scope === 'instance'],
  created_at: [f.Time, ({ createdAt }) => f.timestamp(createdAt)],
  updated_at: [f.Time, ({ updatedAt }) => f.timestamp(updatedAt)],
})

/** Clients written in Go send an empty string for a member that is not set. */
const ContentType = v.optional(f.example(v.picklist(['json', 'form', '']), 'json'))
const config = {
  content_type: ContentType,
  secret: v.optional(f.example(f.shortText, 'a long random text')),
  /** Deliveries are always sent with POST. */
  http_method: v.optional(v.picklist(['POST', 'post', ''])),
}
const url = f.example(v.pipe(v.string(), v.maxLength(HOOK_LIMITS.url)), RECEIVER)

const optionalMembers = {
  events: v.optional(f.example(v.pipe(v.array(f.shortText), v.maxLength(MAX_EVENTS)), ['push', 'release'])),
  branch_filter: v.optional(f.shortText),
  authorization_header: v.optional(v.pipe(v.string(), v.maxLength(HOOK_LIMITS.authorization))),
  active: v.optional(f.example(v.boolean(), true)),
  is_system_webhook: v.optional(v.boolean()),
}

export const CreateHookOption = v.object({
  type: f.example(HookType, 'gitea'),
  config: v.object({ url, ...config }),
  ...optionalMembers,
})

export const EditHookOption = v.object({
  config: v.optional(v.object({ url: v.optional(url), ...config })),
  ...optionalMembers,
})

export const editIn = (
  body: v.InferOutput<typeof EditHookOption>,
): f.Complete<Omit<HookEdit, 'baseUrl'>> => ({
  url: body.config?.url || undefined,
  contentType: body.config?.content_type || undefined,
  secret: body.config?.secret || undefined,
  // Like the secret: an empty text keeps what is set, since clients send back what they were shown.
  authorization: body.authorization_header || undefined,
  events: body.events?.length === 0 ? undefined : body.events,
  branchFilter: body.branch_filter,
  active: body.active,
})

export const newHookIn = (body: v.InferOutput<typeof CreateHookOption>, baseUrl: string): NewHook => ({
  ...editIn(body),
  type: body.type,
  url: body.config.url,
  baseUrl,
})

const nextAttempt = ({ nextAt, createdAt }: DeliveryRecord): number =>
  Math.max(createdAt, Math.ceil(nextAt / 1000))

export const deliveryView = resource<DeliveryRecord>()({
  /** Number of the delivery; the deliveries of a webhook are sent in this order. */
  id: [f.number(3), ({ number }) => number],
  /** Sent as `X-Gitea-Delivery`. A repetition has the same. */
  guid: [f.text('0b989ba4-242f-11e5-81e1-c7b6966d2516'), ({ uuid }) => uuid],
  event: [f.text('push'), ({ event }) => event],
  /** The action, such as `opened`; empty for events of one kind. */
  action: [f.text(''), ({ action }) => action],
  /** Whether it repeats an earlier delivery. */
  redelivery: [v.boolean(), ({ repeats }) => repeats !== null],
  status: [f.example(v.picklist(['waiting', 'delivered', 'failed']), 'delivered'), ({ state }) => state],
  /** Of the receiver's last answer; 0 when there was none. */
  status_code: [f.number(200), ({ status }) => status ?? 0],
  attempts: [f.number(1), ({ attempts }) => attempts],
  /** Seconds of the last attempt. */
  duration: [f.example(fraction, 0.05), ({ duration }) => (duration ?? 0) / 1000],
  /** Why the last attempt failed. */
  error: [f.text(''), ({ error }) => error],
  created_at: [f.Time, ({ createdAt }) => f.timestamp(createdAt)],
  /** When it was delivered or given up. */
  finished_at: [v.nullable(f.Time), ({ finishedAt }) => f.timeOrNull(finishedAt)],
  /** Of one that waits. */
  next_attempt_at: [
    v.nullable(f.Time),
    (record) => (record.state === 'waiting' ? f.timestamp(nextAttempt(record)) : null),
  ],
})

/** With what was sent and the answer. */
export const deliveryDetailsView = view(
  v.object({
    ...deliveryView.schema.entries,
    request: v.object({ payload: v.looseObject({}) }),
    /** Beginning of the receiver's last answer. */
    response: v.object({ body: f.text('OK') }),
  }),
  (record: ShownDelivery, recipient) => ({
    ...deliveryView.present(record, recipient),
    request: { payload: JSON.parse(record.text) as Record<string, unknown> },
    response: { body: record.answer },
  }),
)

export const hookId = f.idParameter('Id of the webhook.', 15)
export const deliveryId = f.idParameter('Number of the delivery.', 3)
