import * as v from 'valibot'
import { DAY_MS } from '../clock.ts'
import { mayBeReceiver } from '../webhooks/addresses.ts'
import { Bytes, count, milliseconds, nonEmptyText, Size } from './checks.ts'

const Webhooks = v.strictObject({
  /**
   * Receivers that may have addresses which are not public: addresses, networks such as `10.0.0.0/8`, and
   * host names such as `ci.internal` or `*.corp.example`. Default: `[]`.
   */
  allowedHosts: v.optional(
    v.array(
      v.pipe(
        v.string(),
        v.check(
          mayBeReceiver,
          'expected an address, a network such as 10.0.0.0/8, or a host name such as ci.internal, without a scheme and a port',
        ),
      ),
    ),
    [],
  ),
  /** Milliseconds within which a receiver must answer. Default: `10000`. */
  timeout: milliseconds(60_000, 10_000),
  /** Maximum number of deliveries that are sent at a time. Default: `100`. */
  maxConcurrent: v.optional(count(10_000), 100),
  /** Maximum number of deliveries that are sent to one host at a time. Default: `5`. */
  maxConcurrentPerReceiver: v.optional(count(10_000), 5),
  /**
   * Milliseconds after the change that caused it in which a delivery that fails is tried again, with growing
   * pauses. Later deliveries of the webhook wait for it. Default: `86400000`.
   */
  retryFor: milliseconds(7 * DAY_MS, DAY_MS),
  /** Milliseconds for which deliveries are kept after they were sent or given up. Default: `604800000`. */
  keepFor: milliseconds(90 * DAY_MS, 7 * DAY_MS),
})

/** The option `quota`. `QuotaOptions` are those of `createQuota`. */
export const QuotaSettings = v.strictObject({
  /** Names of the quota groups of users and organizations that have no assigned group. Default: `[]`. */
  defaultGroups: v.optional(v.array(v.string()), []),
  /** Limit on `size:all` for owners without any group: bytes, or `"2 GiB"`; -1 is unlimited. */
  defaultTotal: v.optional(Size),
  /**
   * Share of a rule's limit from which an owner is near it, on the pages and for the event `quota`; with 1,
   * no owner is near a limit. Default: `0.8`.
   */
  warnAt: v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(1)), 0.8),
})

/** Whether browsers send this text as an origin; also `*`. */
const isOrigin = (text: string): boolean => {
  if (text.includes('*') || !URL.canParse(text)) return text === '*'
  const { protocol, host } = new URL(text)
  return text === `${protocol}//${host}`
}

/** The sections about what is stored besides git data, and about other services. */
export const ServiceSections = v.strictObject({
  /** Limits of owners without a group, and warnings. */
  quota: v.optional(QuotaSettings, {}),
  /** Files other than git data. */
  files: v.optional(
    v.strictObject({
      /** Folder of LFS objects, packages and attachments; `files` in the data folder when absent. */
      directory: v.optional(nonEmptyText('a folder')),
    }),
    {},
  ),
  /** Attachments of issues and releases. */
  attachments: v.optional(
    v.strictObject({
      /**
       * Maximum size of an attachment: bytes, or `"100 MiB"`. Larger uploads get 413. Default: `104857600`.
       */
      maxSize: v.optional(v.pipe(Size, v.minValue(1)), 100 * 1024 * 1024),
      /**
       * What a user without write permission can attach to issues and comments in repositories of one owner,
       * whose quota pays for it, in a day (UTC): bytes, or `"100 MiB"`. More gets 413; 0 refuses all of it.
       * Default: `104857600`.
       */
      maxGuestBytesPerDay: v.optional(Bytes, 100 * 1024 * 1024),
    }),
    {},
  ),
  /** The package registry; `false` turns it off. */
  packages: v.optional(
    v.union([
      v.literal(false),
      v.strictObject({
        /** Maximum size of a file of a package: bytes, or `"2 GiB"`; unlimited when absent. */
        maxSize: v.optional(v.pipe(Size, v.minValue(1))),
      }),
    ]),
    {},
  ),
  /** Webhooks: `true`, or how their deliveries are sent, turns them on. Default: `false`. */
  webhooks: v.optional(
    v.union([
      v.pipe(
        v.boolean(),
        v.transform((isOn): false | v.InferOutput<typeof Webhooks> => isOn && v.parse(Webhooks, {})),
      ),
      Webhooks,
    ]),
    false,
  ),
  /** Rendering of markdown. */
  markdown: v.optional(
    v.strictObject({
      /** Milliseconds after which rendering a text is ended with 422. Default: `2000`. */
      timeout: milliseconds(60_000, 2000),
    }),
    {},
  ),
  /** Requests from pages of other origins. */
  cors: v.optional(
    v.strictObject({
      /**
       * Origins whose pages may read responses, such as `https://app.example.org`; `*` allows every origin,
       * whose pages must send a token to change something.
       * Default: `[]`.
       */
      origins: v.optional(
        v.array(
          v.pipe(
            v.string(),
            v.check(
              isOrigin,
              'expected * or an origin as browsers send it, such as https://app.example.org, without a slash at the end',
            ),
          ),
        ),
        [],
      ),
    }),
    {},
  ),
  /** Limits of failed logins; `false` when the host limits them itself. */
  login: v.optional(
    v.union([
      v.literal(false),
      v.strictObject({
        /**
         * Failed logins for one name from one address within the window, after which logins get 429. Default:
         * `20`.
         */
        failures: v.optional(count(1_000_000), 20),
        /**
         * Failed logins from one address (for IPv6: one /64) for any names within the window. Default: `100`.
         */
        failuresFromAddress: v.optional(count(1_000_000), 100),
        /**
         * Failed logins for one name from all addresses within the window. Beyond it, each address has one
         * try at a time, so an attack cannot lock the user out. Default: `100`.
         */
        failuresForName: v.optional(count(1_000_000), 100),
        /**
         * Wrong tokens from one address within the window. Correct tokens are always accepted. Default:
         * `1000`.
         */
        wrongTokens: v.optional(count(1_000_000), 1000),
        /** Milliseconds in which all failures expire, one after another. Default: `900000`. */
        window: milliseconds(DAY_MS, 15 * 60_000),
      }),
    ]),
    {},
  ),
})
