import * as v from 'valibot'
import type { HostAuthenticate } from '../accounts/host-users.ts'
import { AvatarUrl, type HtmlUrlFunction } from '../host-pages/html-urls.ts'
import type { Log } from '../http/index.ts'
import { isPathBelow } from '../http/request-url.ts'
import type { OnBeforeStore } from '../quota/before-store.ts'
import type { StorageDriver } from '../storage/index.ts'
import {
  Bytes,
  count,
  enabled,
  nonEmptyText,
  optionalFunction,
  optionalObject,
  Size,
  trustedProxies,
} from './checks.ts'
import { GitSections } from './git.ts'
import { PageSections } from './pages.ts'
import { ServiceSections } from './services.ts'

const Creators = v.picklist(['users', 'administrators'])

/** Where Allot serves besides the API. */
const OTHER_PATHS = ['/-', '/api/packages', '/api/swagger', '/attachments', '/avatars']

/** Whether no path can belong to the API and to something else. */
const isApart = (basePath: string): boolean =>
  !OTHER_PATHS.some((other) => isPathBelow(other, basePath) || isPathBelow(basePath, other))

const BASE_URL = /^https?:\/\/[^/?#]+(?:\/[^?#]*[^/?#])?$(?<!\/api\/v1)/

/** The options without a section. */
const General = v.strictObject({
  /**
   * Data folder, with the folders `store` (records, unless another driver stores them), `repositories` (git
   * data) and `files`. Default: `"./data"`.
   */
  data: v.optional(nonEmptyText('a folder'), './data'),
  /**
   * Path below which all routes are. It is neither above nor below a path at which Allot serves something
   * else: `/-`, `/api/packages`, `/api/swagger`, `/attachments` and `/avatars`. Default: `"/api/v1"`.
   */
  basePath: v.optional(
    v.pipe(
      v.string(),
      v.regex(/^(?:\/(?!\.\.?(?:\/|$))[\w.-]+)+$/, 'expected a path such as /api/v1'),
      v.check(
        isApart,
        `expected a path neither above nor below another path of Allot (${OTHER_PATHS.join(', ')}), such as /api/v1`,
      ),
    ),
    '/api/v1',
  ),
  /**
   * Public URL of the service, for links in responses; taken from the headers of a request when absent.
   * `allot serve` serves below its path.
   */
  baseUrl: v.optional(
    v.pipe(
      v.string(),
      v.check(
        (text) => BASE_URL.test(text) && URL.canParse(text),
        'expected an address that begins with https:// or http://, such as https://git.example.org, without a slash or /api/v1 at the end',
      ),
    ),
  ),
  /**
   * URL of the picture of an account, such as `https://people.example.org/{username}.png`; a picture with the
   * first letter of the name when absent.
   */
  avatarUrl: v.optional(AvatarUrl),
  /**
   * With `forgejo`, responses are those of a Forgejo where they differ from the specification that Allot was
   * written to. Clients of Gitea accept them, too. Default: `"specification"`.
   */
  dialect: v.optional(v.picklist(['specification', 'forgejo']), 'specification'),
  /**
   * Maximum size of a request body, for routes without a limit of their own: bytes, or `"1 MiB"`. Larger
   * bodies get 413. Default: `1048576`.
   */
  maxBodySize: v.optional(v.pipe(Size, v.minValue(1)), 1024 * 1024),
  /** Number of items on a page when `limit` is absent. Default: `30`. */
  pageSize: v.optional(count(1000), 30),
  /** Maximum value of `limit`. Default: `50`. */
  maxPageSize: v.optional(count(1000), 50),
  /**
   * Number of reverse proxies in front of the server, whose `X-Forwarded-For`, `X-Forwarded-Proto` and
   * `X-Forwarded-Host` are trusted. Default: `0`.
   */
  trustedProxies,
  /**
   * Whether clients must sign in to read anything: the API, git, downloads and the pages. The OpenAPI
   * document and the avatars stay open. Default: `false`.
   */
  requireSignIn: v.optional(v.boolean(), false),
  /**
   * Whether a new repository is public or private when its creator does not say. Forks are as private as what
   * they are made of. Default: `"public"`.
   */
  newRepositories: v.optional(v.picklist(['public', 'private']), 'public'),
  /**
   * Who may create and fork repositories by the API: `users`, where they have the right to, or
   * `administrators`. Default: `"users"`.
   */
  repositoryCreators: v.optional(Creators, 'users'),
  /** Who may create organizations by the API: all `users`, or `administrators`. Default: `"users"`. */
  organizationCreators: v.optional(Creators, 'users'),
  /**
   * Whether issues, comments, releases and their attachments are served; `false` is for hosts that store them
   * themselves. Default: `true`.
   */
  issues: enabled,
  /**
   * Texts of issues, comments, releases and commit statuses that one person can write in a day (UTC): bytes,
   * or `"100 MiB"`. More gets 413. Default: `104857600`.
   */
  maxTextPerDay: v.optional(Bytes, 100 * 1024 * 1024),
  /** Whether commit statuses are served, which CI systems set; needs `contents`. Default: `true`. */
  statuses: enabled,
  /**
   * Whether the routes of collaborators and teams are served; rights that were given stay. Default: `true`.
   */
  sharing: enabled,
  /** Whether repositories can be forked. Default: `true`. */
  forks: enabled,
})

/**
 * Every option that is data, with its default. In a configuration file, those without a section are under
 * `[api]`, except `data`, which is in `[server]`.
 */
export const Options = v.strictObject({
  ...General.entries,
  ...GitSections.entries,
  ...ServiceSections.entries,
  ...PageSections.entries,
})
export type Options = v.InferOutput<typeof Options>

/** The options of `createAllot` that are data. Sizes are bytes, times are milliseconds. */
export type DataOptions = v.InferInput<typeof General> &
  v.InferInput<typeof GitSections> &
  v.InferInput<typeof ServiceSections> &
  v.InferInput<typeof PageSections>
type Section<Name extends keyof DataOptions> = Extract<DataOptions[Name], object>

/** Limits of owners without a group, and warnings. `QuotaOptions` are those of `createQuota`. */
export type QuotaSettings = Section<'quota'>
/** Git data on this disk. */
export type RepositoriesOptions = Section<'repositories'>
/** Git over HTTP and its limits. */
export type GitOptions = Section<'git'>
/** Git over SSH, with the SSH keys of the accounts. */
export type SshOptions = Section<'ssh'>
/** Files, commits, branches and tags over the API. */
export type ContentsOptions = Section<'contents'>
/** Files other than git data. */
export type FilesOptions = Section<'files'>
/** Attachments of issues and releases. */
export type AttachmentsOptions = Section<'attachments'>
/** Git LFS. */
export type LfsOptions = Section<'lfs'>
/** The package registry. */
export type PackagesOptions = Section<'packages'>
/** Webhooks, and how their deliveries are sent. */
export type WebhooksOptions = Section<'webhooks'>
/** Rendering of markdown. */
export type MarkdownOptions = Section<'markdown'>
/** Requests from pages of other origins. */
export type CorsOptions = Section<'cors'>
/** Limits of failed logins. */
export type LoginOptions = Section<'login'>
/** The web pages. */
export type PagesOptions = Section<'pages'>
/** Templates of `html_url`, for hosts with pages of their own. */
export type HtmlUrlsOptions = Section<'htmlUrls'>

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
