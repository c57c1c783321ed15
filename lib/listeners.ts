import type { Identity } from './accounts/access.ts'
import { movedPath } from './api/former-names.ts'
import { lfsAuthenticator } from './api/git/lfs.ts'
import { routesWith, streamRoutesFor } from './api/index.ts'
import { accountQuotaOwners } from './api/quota/services.ts'
import { NOT_FOUND, type Services } from './api/route.ts'
import { documentOf } from './api/server.ts'
import { clientOf } from './clients.ts'
import { Dispatcher, JsonEndpoints, referenceOrNext, StreamEndpoints } from './http/index.ts'

/**
 * The listener of the API: JSON below the base path, and streams at the root of the service.
 * @param app with what only the API has
 */
export const createApiListener = (app: Omit<Services, 'documentFor'>): Dispatcher<Identity> => {
  const { options, host, hosting, settings } = app
  const routes = routesWith({ ...options, tokens: host.tokens })
  const { name: brand } = options.pages
  const documentFor = documentOf(routes, brand)
  const services = { ...app, documentFor, owners: accountQuotaOwners(hosting) }
  const json = new JsonEndpoints({
    services,
    routes,
    keptSender: (req) => hosting.identities.kept(req),
    basePath: options.basePath,
    signInMessage: host.tokens ? 'token is required' : 'sign in first',
    // In the dialect `specification` the body of a 404 is empty.
    notFoundMessage: options.dialect === 'forgejo' ? NOT_FOUND : undefined,
    bodyLimit: options.maxBodySize,
    pageLimits: settings.pageLimits,
  })
  const streams = new StreamEndpoints({
    services,
    auth: options.requireSignIn ? 'required' : 'optional',
    signInMessage: settings.signInMessage,
    realm: brand,
    authenticate: lfsAuthenticator(app.lfsTokens),
    routes: streamRoutesFor({
      git: settings.clones,
      contents: hosting.contents !== undefined,
      // A host that stores repositories itself serves URLs below their clone_url itself.
      lfs: settings.hasLfs,
      packages: options.packages !== false,
      issues: options.issues,
    }),
  })
  return new Dispatcher({
    endpoints: [json, streams],
    authenticate: (req) => hosting.identities.authenticate(req),
    userNow: (user) => hosting.identities.now(user),
    clientOf: (req, user) => clientOf(req, user, options.trustedProxies),
    baseUrl: options.baseUrl,
    trustedProxies: options.trustedProxies,
    corsOrigins: options.cors.origins,
    runHandler: (handle) => hosting.beforeStore.runVia('http', handle),
    movedPath: movedPath(hosting),
    unmatched: referenceOrNext({ basePath: options.basePath, brand, prepare: () => documentFor('') }),
    log: host.log,
  })
}
