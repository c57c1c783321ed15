import * as v from 'valibot'
import { DAY_MS } from '../clock.ts'
import { count, described, milliseconds, nonEmptyText } from './checks.ts'

const MINUTE = 60_000

const Settings = v.strictObject({
  allowedHosts: described(
    v.optional(v.array(nonEmptyText('a host or an address')), []),
    'Receivers that may have addresses which are not public: addresses, networks such as `10.0.0.0/8`, and host names such as `ci.internal` or `*.corp.example`.',
  ),
  timeout: described(milliseconds(MINUTE, 10_000), 'Milliseconds within which a receiver must answer.'),
  maxConcurrent: described(
    v.optional(count(10_000), 100),
    'Maximum number of deliveries that are sent at a time.',
  ),
  maxConcurrentPerReceiver: described(
    v.optional(count(10_000), 5),
    'Maximum number of deliveries that are sent to one host at a time.',
  ),
  retryFor: described(
    milliseconds(7 * DAY_MS, DAY_MS),
    'Milliseconds after the change that caused it in which a delivery that fails is tried again, with growing pauses. Later deliveries of the webhook wait for it.',
  ),
  keepFor: described(
    milliseconds(90 * DAY_MS, 7 * DAY_MS),
    'Milliseconds for which deliveries are kept after they were sent or given up.',
  ),
})

/** The option `webhooks`: `true` is every setting with its default. */
export const WebhookOptions = v.union([
  v.pipe(
    v.boolean(),
    v.transform((isOn): false | v.InferOutput<typeof Settings> => isOn && v.parse(Settings, {})),
  ),
  Settings,
])
