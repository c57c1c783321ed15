import * as v from 'valibot'
import type { HostAuthenticate } from '../accounts/host-users.ts'
import { DAY_MS, HOUR_MS } from '../clock.ts'
import { BrandOptions } from '../host-pages/brand.ts'
import { AvatarUrl, type HtmlUrlFunction, HtmlUrlOptions } from '../host-pages/html-urls.ts'
import type { Log } from '../http/index.ts'
import type { OnBeforeStore } from '../quota/before-store.ts'
import type { Push } from '../repositories/push-journal.ts'
import type { StorageDriver } from '../storage/index.ts'
import {
  count,
  described,
  enabled,
  milliseconds,
  nonEmptyText,
  optionalFunction,
  optionalObject,
  Size,
} from './checks.ts'
import { ContentsOptions, GitOptions } from './git.ts'
import { SshOptions } from './ssh.ts'
import type { DataOptions } from './types.ts'
import { WebhookOptions } from './webhooks.ts'

/** The option `quota`. `QuotaOptions` are those of `createQuota`. */
export const QuotaSettings = v.strictObject({
  defaultGroups: described(
    v.optional(v.array(v.string()), []),
    'Names of the quota groups of users and organizations that have no assigned group.',
  ),
  defaultTotal: described(
    v.optional(Size),
    'Limit on `size:all` for owners without any group: bytes, or `"2 GiB"`; -1 is unlimited.',
  ),
  warnAt: described(
    v.optional(v.pipe(v.number(), v.gtValue(0), v.maxValue(1)), 0.8),
    "Share of a rule's limit from which an owner is near it, on the pages and for the event `quota`; with 1, no owner is near a limit.",
  ),
})

const RepositoryOptions = v.strictObject({
  directory: described(
    v.optional(nonEmptyText('a folder')),
    'Folder of the bare repositories; `repositories` in the data folder when absent.',
  ),
  git: described(v.optional(nonEmptyText('a command'), 'git'), 'Name or path of the `git` command.'),
})

const FilesOptions = v.strictObject({
  directory: described(
    v.optional(nonEmptyText('a folder')),
    'Folder of LFS objects, packages and attachments; `files` in the data folder when absent.',
  ),
})

const AttachmentsOptions = v.strictObject({
  maxSize: described(
    v.optional(v.pipe(Size, v.minValue(1)), 100 * 1024 * 1024),
    'Maximum size of an attachment: bytes, or `"100 MiB"`. Larger uploads get 413.',
  ),
  maxGuestBytesPerDay: described(
    v.optional(Size, 100 * 1024 * 1024),
    'What a user without write permission can attach to issues and comments in repositories of one owner, whose quota pays for it, in a day (UTC): bytes, or `"100 MiB"`. More gets 413; 0 refuses all of it.',
  ),
})

const maxFileSize = v.optional(v.pipe(Size, v.minValue(1)))

const LfsOptions = v.strictObject({
  maxSize: described(
    maxFileSize,
    'Maximum size of an LFS object: bytes, or `"2 GiB"`; unlimited when absent.',
  ),
})

const PackageOptions = v.strictObject({
  maxSize: described(
    maxFileSize,
    'Maximum size of a file of a package: bytes, or `"2 GiB"`; unlimited when absent.',
  ),
})

const MarkdownOptions = v.strictObject({
  timeout: described(
    milliseconds(60_000, 2000),
    'Milliseconds after which rendering a text is ended with 422.',
  ),
})

const CorsOptions = v.strictObject({
  origins: described(
    v.optional(v.array(v.string()), []),
    'Origins whose pages may read responses, such as `https://app.example.org`; `*` allows every origin.',
  ),
})

const LoginOptions = v.strictObject({
  failures: described(
    v.optional(count(1_000_000), 20),
    'Failed logins for one name from one address within the window, after which logins get 429.',
  ),
  failuresFromAddress: described(
    v.optional(count(1_000_000), 100),
    'Failed logins from one address (for IPv6: one /64) for any names within the window.',
  ),
  failuresForName: described(
    v.optional(count(1_000_000), 100),
    'Failed logins for one name from all addresses within the window. Beyond it, each address has one try at a time, so an attack cannot lock the user out.',
  ),
  wrongTokens: described(
    v.optional(count(1_000_000), 1000),
    'Wrong tokens from one address within the window. Correct tokens are always accepted.',
  ),
  window: described(
    milliseconds(DAY_MS, 15 * 60_000),
    'Milliseconds in which all failures expire, one after another.',
  ),
})

export const PageOptions = v.strictObject({
  sessionLifetime: described(
    milliseconds(90 * DAY_MS, 12 * HOUR_MS),
    'Milliseconds after which a user of the pages must sign in again.',
  ),
  links: described(
    v.optional(v.boolean(), false),
    'Whether the pages link owners, repositories, attachments, packages and artifacts to their `html_url`: for hosts that show them there. Allot shows none of them itself then.',
  ),
  ...BrandOptions.entries,
})

const Creators = v.picklist(['users', 'administrators'])

/**
 * Every option that is data, with its default. In a configuration file, those without a section are under
 * `[api]`, except `data`, which is in `[server]`.
 */
export const Options = v.strictObject({
  data: described(
    v.optional(nonEmptyText('a folder'), './data'),
    'Data folder, with the folders `store` (records, unless another driver stores them), `repositories` (git data) and `files`.',
  ),
  basePath: described(
    v.optional(v.pipe(v.string(), v.regex(/^(?:\/[\w.-]+)+$/, 'expected a path such as /api/v1')), '/api/v1'),
    'Path below which all routes are.',
  ),
  baseUrl: described(
    v.optional(
      v.pipe(
        v.string(),
        v.regex(
          /^https?:\/\/[^/?#]+(?:\/[^?#]*[^/?#])?$(?<!\/api\/v1)/,
          'expected an address that begins with https:// or http://, such as https://git.example.org, without a slash or /api/v1 at the end',
        ),
      ),
    ),
    'Public URL of the service, for links in responses; taken from the headers of a request when absent. `allot serve` serves below its path.',
  ),
  avatarUrl: described(
    v.optional(AvatarUrl),
    'URL of the picture of an account, such as `https://people.example.org/{username}.png`; a picture with the first letter of the name when absent.',
  ),
  dialect: described(
    v.optional(v.picklist(['specification', 'forgejo']), 'specification'),
    'With `forgejo`, responses are those of a Forgejo where they differ from the specification that Allot was written to. Clients of Gitea accept them, too.',
  ),
  maxBodySize: described(
    v.optional(v.pipe(Size, v.minValue(1)), 1024 * 1024),
    'Maximum size of a request body, for routes without a limit of their own: bytes, or `"1 MiB"`. Larger bodies get 413.',
  ),
  pageSize: described(v.optional(count(1000), 30), 'Number of items on a page when `limit` is absent.'),
  maxPageSize: described(v.optional(count(1000), 50), 'Maximum value of `limit`.'),
  trustedProxies: described(
    v.optional(v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100)), 0),
    'Number of reverse proxies in front of the server, whose `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host` are trusted.',
  ),
  requireSignIn: described(
    v.optional(v.boolean(), false),
    'Whether clients must sign in to read anything: the API, git, downloads and the pages. The OpenAPI document and the avatars stay open.',
  ),
  newRepositories: described(
    v.optional(v.picklist(['public', 'private']), 'public'),
    'Whether a new repository is public or private when its creator does not say. Forks are as private as what they are made of.',
  ),
  repositoryCreators: described(
    v.optional(Creators, 'users'),
    'Who may create and fork repositories by the API: `users`, where they have the right to, or `administrators`.',
  ),
  organizationCreators: described(
    v.optional(Creators, 'users'),
    'Who may create organizations by the API: all `users`, or `administrators`.',
  ),
  issues: enabled(
    'Whether issues, comments, releases and their attachments are served; `false` is for hosts that store them themselves.',
  ),
  statuses: enabled('Whether commit statuses are served, which CI systems set; needs `contents`.'),
  sharing: enabled('Whether the routes of collaborators and teams are served; rights that were given stay.'),
  webhooks: described(
    v.optional(WebhookOptions, false),
    'Webhooks: `true`, or how their deliveries are sent, turns them on.',
  ),
  forks: enabled('Whether repositories can be forked.'),
  quota: described(v.optional(QuotaSettings, {}), 'Limits of owners without a group, and warnings.'),
  repositories: described(
    v.optional(v.union([v.literal(false), RepositoryOptions]), {}),
    'Git data on this disk; `false` when the host stores repositories itself.',
  ),
  git: described(v.optional(GitOptions, {}), 'Git over HTTP and its limits.'),
  ssh: described(
    v.optional(SshOptions, {}),
    'Git over SSH, with the SSH keys of the accounts. The limits in `git` apply, too.',
  ),
  contents: described(
    v.optional(v.union([v.literal(false), ContentsOptions]), {}),
    'Files, commits, branches and tags over the API; `false` turns it off.',
  ),
  files: described(v.optional(FilesOptions, {}), 'Files other than git data.'),
  attachments: described(v.optional(AttachmentsOptions, {}), 'Attachments of issues and releases.'),
  lfs: described(v.optional(v.union([v.literal(false), LfsOptions]), {}), 'Git LFS; `false` turns it off.'),
  packages: described(
    v.optional(v.union([v.literal(false), PackageOptions]), {}),
    'The package registry; `false` turns it off.',
  ),
  markdown: described(v.optional(MarkdownOptions, {}), 'Rendering of markdown.'),
  cors: described(v.optional(CorsOptions, {}), 'Requests from pages of other origins.'),
  login: described(
    v.optional(v.union([v.literal(false), LoginOptions]), {}),
    'Limits of failed logins; `false` when the host limits them itself.',
  ),
  pages: described(v.optional(PageOptions, {}), 'The web pages.'),
  htmlUrls: described(
    v.optional(HtmlUrlOptions, {}),
    'Templates of `html_url`, for hosts with pages of their own.',
  ),
})
export type Options = v.InferOutput<typeof Options>

/** Options of a host that are not data. */
export interface HostDependencies {
  /** Where the records are stored; in LevelDB, in the data folder, when absent. */
  driver?: StorageDriver
  /** The host's own login, instead of passwords. */
  authenticate?: HostAuthenticate
  /**
   * Whether Allot's own access tokens sign in where `authenticate` returns undefined; true when absent. With
   * `false`, pages and routes have no tokens.
   */
  tokens?: boolean
  /**
   * Called before bytes are stored that count toward a quota, and refuses them by an `AllotError` with the
   * code `over_quota`. It must decide within 30 seconds.
   */
  onBeforeStore?: OnBeforeStore
  /** Called for every push that changed something, once it is durable and counted. Its errors are logged. */
  onPush?: (push: Push) => void | Promise<void>
  /** Makes `html_url`s point to the host's own pages, where a template in `htmlUrls` cannot. */
  htmlUrl?: HtmlUrlFunction
  /** Receives log lines; standard error when absent. */
  log?: Log
}

/** The check of each option that is not data. */
const hostEntries = {
  driver: optionalObject<StorageDriver>(
    "a driver, such as level('./data/store') (for a folder, the option data is enough)",
    ['open', 'read', 'write', 'close'],
  ),
  authenticate: optionalFunction<HostAuthenticate>(),
  tokens: v.optional(v.boolean()),
  onBeforeStore: optionalFunction<OnBeforeStore>(),
  onPush: optionalFunction<NonNullable<HostDependencies['onPush']>>(),
  htmlUrl: optionalFunction<HtmlUrlFunction>(),
  log: optionalObject<Log>(
    'a logger with the functions error(fields, message) and info(fields, message), such as pino()',
    ['error', 'info'],
  ),
} satisfies Record<keyof HostDependencies, unknown>

/** Everything that `createAllot` takes. */
export const HostOptions = v.strictObject({ ...hostEntries, ...Options.entries })

/** Where the data is: a folder for everything, a driver for the records, or both. */
export type DataPlace =
  | {
      /** Data folder. */
      data: string
    }
  | {
      /** Where the records are stored. */
      driver: StorageDriver
    }

/** Options of `createAllot`: at least `data`, a folder for everything, or `driver`. */
export type AllotOptions = HostDependencies & DataOptions & DataPlace
