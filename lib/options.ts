import * as v from 'valibot'
import type { HostAuthenticate } from './accounts/host-identity.ts'
import { AllotError } from './errors.ts'
import type { Log } from './http/index.ts'
import { count, DAY, HOUR, milliseconds, Size } from './option-types.ts'
import type { Push } from './repositories/push-journal.ts'
import type { StorageDriver } from './storage/index.ts'

const QuotaOptions = v.strictObject({
  defaultGroups: v.pipe(
    v.optional(v.array(v.string()), []),
    v.description('Names of the quota groups for users and organizations without an explicit one.'),
  ),
  defaultTotal: v.pipe(
    v.optional(Size),
    v.description(
      'Bytes over everything for owners with no group at all: a number, or `"2 GiB"`. -1 is unlimited.',
    ),
  ),
  warnAt: v.pipe(
    v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(1)), 0.8),
    v.description(
      "The share of a rule's limit at which hosts are told that an owner is near it; 1 is never.",
    ),
  ),
})

const RepositoryOptions = v.strictObject({
  directory: v.pipe(
    v.optional(v.string(), 'data/repositories'),
    v.description('The folder of the bare repositories.'),
  ),
  git: v.pipe(v.optional(v.string(), 'git'), v.description('The `git` command.')),
})

const FileOptions = v.strictObject({
  directory: v.pipe(
    v.optional(v.string(), 'data/files'),
    v.description('The folder of the files that are no git data.'),
  ),
})

const AttachmentOptions = v.strictObject({
  maxSize: v.pipe(
    v.optional(v.pipe(Size, v.minValue(1)), 100 * 1024 * 1024),
    v.description('Bytes that one attachment may have: a number, or `"100 MiB"`. More is 413.'),
  ),
})

const maxFileSize = v.optional(v.pipe(Size, v.minValue(1)))

const LfsOptions = v.strictObject({
  maxSize: v.pipe(
    maxFileSize,
    v.description('Bytes that one LFS object may have: a number, or `"2 GiB"`. Any number when absent.'),
  ),
})

const PackageOptions = v.strictObject({
  maxSize: v.pipe(
    maxFileSize,
    v.description(
      'Bytes that one file of a package may have: a number, or `"2 GiB"`. Any number when absent.',
    ),
  ),
})

const GitOptions = v.strictObject({
  http: v.pipe(
    v.optional(v.boolean(), true),
    v.description('Whether clients clone, fetch and push over HTTP, at `clone_url`.'),
  ),
  maxConcurrent: v.pipe(
    v.optional(count(10_000), 32),
    v.description('How many of them at once; what waits longer than 1.5 seconds for its turn gets 503.'),
  ),
  maxConcurrentPerClient: v.pipe(
    v.optional(count(10_000)),
    v.description(
      'How many of them one account or address has at once; a quarter of `maxConcurrent` when absent.',
    ),
  ),
  idleTimeout: v.pipe(
    milliseconds(DAY, 60_000),
    v.description('Milliseconds without a byte in either direction after which one is given up.'),
  ),
  timeout: v.pipe(
    milliseconds(DAY, HOUR),
    v.description('Milliseconds after which one is given up whatever it does.'),
  ),
  maxPushSize: v.pipe(
    v.optional(v.pipe(Size, v.minValue(1))),
    v.description(
      'Bytes that one push may bring, as it is sent and when it is unpacked (deltas count as deltas): a number, or `"2 GiB"`. Any number when absent.',
    ),
  ),
  maxMemory: v.pipe(
    v.optional(v.pipe(Size, v.minValue(64 * 1024 * 1024)), 1024 * 1024 * 1024),
    v.description(
      'Bytes of memory that each git process may take, where the system can limit it: a number, or `"1 GiB"`. Repositories of many million objects need more.',
    ),
  ),
})

const MarkdownOptions = v.strictObject({
  timeout: v.pipe(
    v.optional(count(60_000), 2000),
    v.description('Milliseconds after which a text that is still being rendered is given up with 422.'),
  ),
})

const CorsOptions = v.strictObject({
  origins: v.pipe(
    v.optional(v.array(v.string()), []),
    v.description(
      'Origins whose pages may read the answers, such as `https://app.example.org`; `*` is every one.',
    ),
  ),
})

const LoginOptions = v.strictObject({
  failures: v.pipe(
    v.optional(count(1_000_000), 20),
    v.description('Failed logins that are taken for one name from one address within the window; then 429.'),
  ),
  failuresFromAddress: v.pipe(
    v.optional(count(1_000_000), 100),
    v.description('The same from one address (of IPv6: one /64) for whatever names.'),
  ),
  failuresForName: v.pipe(
    v.optional(count(1_000_000), 100),
    v.description(
      'The same for one name from everywhere: above it each address has one try at a time, and no one is locked out.',
    ),
  ),
  wrongTokens: v.pipe(
    v.optional(count(1_000_000), 1000),
    v.description('Wrong tokens that are taken from one address; a right one always is.'),
  ),
  window: v.pipe(
    milliseconds(DAY, 15 * 60_000),
    v.description('Milliseconds in which all failures are forgotten, one after another.'),
  ),
})

const PageOptions = v.strictObject({
  sessionLifetime: v.pipe(
    milliseconds(90 * DAY, 12 * HOUR),
    v.description('Milliseconds after which whoever is signed in to the pages signs in again.'),
  ),
  links: v.pipe(
    v.optional(v.boolean(), false),
    v.description(
      'Whether the pages link attachments, packages and artifacts to their `html_url`: for hosts that show them there.',
    ),
  ),
})

/** Every option that is data, with its default. In a configuration file those without a section are under `[api]`. */
export const Options = v.strictObject({
  basePath: v.pipe(
    v.optional(v.pipe(v.string(), v.regex(/^(?:\/[\w.-]+)+$/, 'expected a path such as /api/v1')), '/api/v1'),
    v.description('The path that every route is below.'),
  ),
  baseUrl: v.pipe(
    v.optional(
      v.pipe(
        v.string(),
        v.regex(/^https?:\/\/[^/?#]+(?:\/[^?#]*[^/?#])?$/, 'expected a URL without a slash at the end'),
      ),
    ),
    v.description(
      'Where the service is reached, for the links in answers; taken from the Host header when absent.',
    ),
  ),
  dialect: v.pipe(
    v.optional(v.picklist(['document', 'forgejo']), 'document'),
    v.description('`forgejo` answers as a real Forgejo does where the API document differs.'),
  ),
  maxBodySize: v.pipe(
    v.optional(v.pipe(Size, v.minValue(1)), 1024 * 1024),
    v.description('The largest request body: bytes, or `"1 MiB"`. More is 413.'),
  ),
  pageSize: v.pipe(v.optional(count(1000), 30), v.description('Items on a page when `limit` is absent.')),
  maxPageSize: v.pipe(v.optional(count(1000), 50), v.description('The largest `limit`.')),
  trustedProxies: v.pipe(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100)), 0),
    v.description(
      'How many reverse proxies stand in front, whose word in `X-Forwarded-For` on where a request comes from is taken.',
    ),
  ),
  issues: v.pipe(
    v.optional(v.boolean(), true),
    v.description(
      'Issues, comments, releases and their attachments; `false` is for hosts that keep these themselves.',
    ),
  ),
  quota: v.optional(QuotaOptions, {}),
  repositories: v.optional(v.union([v.literal(false), RepositoryOptions]), {}),
  git: v.optional(GitOptions, {}),
  files: v.optional(FileOptions, {}),
  attachments: v.optional(AttachmentOptions, {}),
  lfs: v.optional(v.union([v.literal(false), LfsOptions]), {}),
  packages: v.optional(v.union([v.literal(false), PackageOptions]), {}),
  markdown: v.optional(MarkdownOptions, {}),
  cors: v.optional(CorsOptions, {}),
  login: v.optional(v.union([v.literal(false), LoginOptions]), {}),
  pages: v.optional(PageOptions, {}),
})
export type Options = v.InferOutput<typeof Options>

/** What a host gives besides data. */
export interface HostParts {
  /** Where the records are kept, such as `level('./data')`. */
  driver: StorageDriver
  /** The host's own login in the place of tokens and passwords. */
  authenticate?: HostAuthenticate
  /** Told of every push that changed something, when it is durable and counted. What it throws is logged. */
  onPush?: (push: Push) => void | Promise<void>
  /** Where failures are told; standard error when absent. */
  log?: Log
}

export type AllotOptions = HostParts & v.InferInput<typeof Options>

/** @throws AllotError invalid that names every option that is unknown or wrong. */
export const checked = <S extends v.GenericSchema>(schema: S, input: unknown): v.InferOutput<S> => {
  const result = v.safeParse(schema, input)
  if (result.success) return result.output
  throw new AllotError('invalid', result.issues.map(describeIssue).join('\n'))
}

/** `quota.defaultGroups[0]: expected a string` */
export const describeIssue = (issue: v.BaseIssue<unknown>): string => {
  const path = (issue.path ?? []).reduce(
    (text, { key }) =>
      typeof key === 'number' ? `${text}[${key}]` : text === '' ? String(key) : `${text}.${key}`,
    '',
  )
  if (issue.type === 'strict_object' && issue.expected === 'never') return `${path}: there is no such option`
  if (issue.kind !== 'schema') return `${path}: ${issue.message}`
  return `${path}: expected ${issue.expected?.startsWith('(') ? `one of ${issue.expected.slice(1, -1)}` : `a ${issue.expected?.toLowerCase()}`}`
}
