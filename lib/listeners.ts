import type { IncomingMessage } from 'node:http'
import type { Identity } from './accounts/access.ts'
import { movedPath } from './api/former-names.ts'
import { lfsAuthenticator } from './api/git/lfs.ts'
import { routesWith, streamRoutesFor } from './api/index.ts'
import { accountQuotaOwners } from './api/quota/services.ts'
import type { Services } from './api/route.ts'
import { documentOf } from './api/server.ts'
import { clientOf } from './clients.ts'
import type { LfsTokens } from './content/lfs-tokens.ts'
import type { Host } from './data-folder.ts'
import type { HtmlUrls, ServedPage } from './host-pages/html-urls.ts'
import type { Hosting } from './hosting/index.ts'
import { BodyTurns, Dispatcher, JsonEndpoints, referenceOrNext, StreamEndpoints } from './http/index.ts'
import type { Markdown } from './markdown/index.ts'
import type { Options } from './options/index.ts'
import type { QuotaEngine } from './quota/index.ts'
import type { Store } from './records/store.ts'
import { VERSION } from './version.ts'
import { createLazyPages } from './web/index.ts'

/*
 * The two listeners of a running Allot, `handler` and `pages`: routes and their services, on the dispatcher.
 */

interface ListenerDependencies {
  readonly options: Options
  readonly host: Host
  /** Undefined while git over SSH or Git LFS is off. */
  readonly lfsTokens: LfsTokens | undefined
  readonly store: Store
  readonly hosting: Hosting
  readonly quota: QuotaEngine
  readonly markdown: Markdown
  readonly htmlUrls: HtmlUrls
  /** Writes an export. */
  readonly write: Services['exportTo']
}

/** The limits that `GET /settings/…` reports. */
const settingsOf = ({ repositories, git, lfs, forks, issues, contents, attachments }: Options) => {
  const isStored = repositories !== false
  return {
    served: {
      attachments: issues,
      gitOverHttp: isStored && git.http,
      lfs: isStored && lfs !== false,
      forks: isStored && forks,
    },
    maxAttachmentBytes: attachments.maxSize,
    maxGuestBytesPerDay: attachments.maxGuestBytesPerDay,
    maxBlobBytes: isStored && contents !== false ? contents.maxObjectSize : 0,
  }
}

/** The listener of the API: JSON below the base path, and streams at the root of the service. */
export const createApiListener = (dependencies: ListenerDependencies): Dispatcher<Identity> => {
  const { options, host, store, hosting, htmlUrls, quota, markdown } = dependencies
  const clientOfRequest = (req: IncomingMessage, user: Identity | null) =>
    clientOf(req, user, options.trustedProxies)
  const routes = routesWith({ ...options, tokens: host.tokens })
  const { name: brand } = options.pages
  const documentFor = documentOf(routes, brand)
  const pageLimits = { default: Math.min(options.pageSize, options.maxPageSize), max: options.maxPageSize }
  const turns = new BodyTurns()
  const json = new JsonEndpoints({
    routes,
    services: {
      ...{ store, hosting, quota, markdown, htmlUrls },
      git: hosting.git,
      owners: accountQuotaOwners(hosting),
      exportTo: dependencies.write,
      version: VERSION,
      dialect: options.dialect,
      pageLimits,
      ...settingsOf(options),
      documentFor,
    },
    htmlUrls,
    clientOf: clientOfRequest,
    keptSender: (req) => hosting.identities.kept(req),
    store,
    basePath: options.basePath,
    signInMessage: signInMessages(host).json,
    // In the dialect `specification` the body of a 404 is empty.
    notFoundMessage: options.dialect === 'forgejo' ? "The target couldn't be found." : undefined,
    bodyLimit: options.maxBodySize,
    pageLimits,
    turns,
  })
  const streams = new StreamEndpoints({ ...streamOptions(dependencies), clientOf: clientOfRequest, turns })
  return new Dispatcher({
    endpoints: [json, streams],
    authenticate: (req) => hosting.identities.authenticate(req),
    userNow: (user) => hosting.identities.now(user),
    clientOf: clientOfRequest,
    baseUrl: options.baseUrl,
    trustedProxies: options.trustedProxies,
    corsOrigins: options.cors.origins,
    readTogether: store.readTogether,
    authenticateFirst: host.authenticate !== undefined,
    runHandler: (handle) => hosting.beforeStore.runVia('http', handle),
    movedPath: movedPath(hosting),
    unmatched: referenceOrNext({ basePath: options.basePath, brand, prepare: () => documentFor('') }),
    log: host.log,
  })
}

/** What a client without credentials is told. It names only what signs in. */
const signInMessages = ({ authenticate, tokens }: Host) => {
  if (!tokens) return { json: 'sign in first', stream: 'sign in first' }
  const stream = authenticate === undefined ? 'a password or a token' : 'an access token as the password'
  return { json: 'token is required', stream: `sign in with ${stream}` }
}

const streamOptions = ({ options, host, lfsTokens, store, hosting }: ListenerDependencies) => ({
  auth: options.requireSignIn ? ('required' as const) : ('optional' as const),
  signInMessage: signInMessages(host).stream,
  realm: options.pages.name,
  authenticate: lfsAuthenticator(lfsTokens),
  routes: streamRoutesFor({
    git: hosting.git !== undefined && options.git.http,
    contents: hosting.contents !== undefined,
    // A host that stores repositories itself serves URLs below their clone_url itself.
    lfs: options.lfs !== false && options.repositories !== false,
    packages: options.packages !== false,
    issues: options.issues,
  }),
  services: {
    store,
    hosting,
    git: hosting.git,
    lfsTokens,
    signInMessage: signInMessages(host).stream,
    maxFileBytes: {
      lfs: options.lfs ? options.lfs.maxSize : undefined,
      packages: options.packages ? options.packages.maxSize : undefined,
    },
  },
})

/** The listener of the pages. */
export const createPagesListener = (dependencies: ListenerDependencies) => {
  const { options, host, store, hosting, quota, htmlUrls, markdown } = dependencies
  return createLazyPages({
    services: {
      store,
      hosting,
      quota,
      htmlUrls,
      markdown,
      settings: {
        warnAt: options.quota.warnAt,
        links: options.pages.links,
        clones: hosting.git !== undefined && options.git.http,
        servedPages: servedPagesOf(dependencies),
        hasSessions: host.authenticate === undefined,
        repositoryCreators: options.repositoryCreators,
        hasTokens: host.tokens,
        hasSsh: options.ssh.port !== undefined,
      },
    },
    brand: options.pages,
    baseUrl: options.baseUrl,
    bodyLimit: options.maxBodySize,
    basePath: options.basePath,
    trustedProxies: options.trustedProxies,
    requireSignIn: options.requireSignIn,
    movedPath: movedPath(hosting),
    log: host.log,
  })
}

/**
 * The pages of people and repositories that are served: not where the host has such pages itself, or a part
 * is turned off.
 */
const servedPagesOf = ({ options, htmlUrls }: ListenerDependencies): ReadonlySet<ServedPage> => {
  const { issues, packages, pages } = options
  const isServed = (kind: ServedPage): boolean => {
    if (kind === 'issue' || kind === 'release') return issues
    return kind !== 'package' || packages !== false
  }
  return new Set(pages.links ? [] : [...htmlUrls.servedPages].filter(isServed))
}
