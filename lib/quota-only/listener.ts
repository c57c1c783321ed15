import type { IncomingMessage } from 'node:http'
import * as v from 'valibot'
import type { Identity } from '../accounts/access.ts'
import { askHost, checkHostIdentity, type HostAuthenticate } from '../accounts/host-users.ts'
import { actingAs } from '../accounts/identity.ts'
import { quotaRoutes } from '../api/index.ts'
import { namedQuotaOwners, type QuotaServices } from '../api/quota/services.ts'
import { documentOf } from '../api/server.ts'
import { addressOf, clientOfAddress, clientOfName } from '../clients.ts'
import { AllotError, isOwnerName } from '../errors.ts'
import { HtmlUrls } from '../host-pages/html-urls.ts'
import { Dispatcher, JsonEndpoints, type Log, referenceOrNext } from '../http/index.ts'
import type { Options } from '../options/index.ts'
import { PageSections } from '../options/pages.ts'
import { hostOwnerDirectory } from '../quota/host-owners.ts'
import type { QuotaEngine } from '../quota/index.ts'
import type { Store } from '../records/store.ts'
import { ALL_SCOPES } from '../scopes.ts'

interface QuotaApiDependencies {
  readonly options: Pick<
    Options,
    'basePath' | 'baseUrl' | 'maxBodySize' | 'pageSize' | 'maxPageSize' | 'cors'
  >
  readonly authenticate: HostAuthenticate | undefined
  readonly store: Store
  readonly quota: QuotaEngine
  readonly hosting: QuotaServices['hosting']
  readonly log: Log
}

/** `createQuota` has no pages, whose brand the reference would have. */
const NAME = 'Allot'

/** The listener of what `createQuota` opens: the quota routes of the API, for owners that the host names. */
export const createQuotaApi = ({
  options,
  authenticate = refuse,
  store,
  quota,
  hosting,
  log,
}: QuotaApiDependencies): Dispatcher<Identity> => {
  const { basePath, baseUrl, cors, pageSize, maxPageSize } = options
  const services: QuotaServices = {
    store,
    quota,
    hosting,
    owners: namedQuotaOwners(store),
    options: { dialect: 'specification' },
    htmlUrls: new HtmlUrls(v.parse(PageSections, {}).htmlUrls),
    documentFor: documentOf(quotaRoutes, NAME),
  }
  const json = new JsonEndpoints({
    routes: quotaRoutes,
    services,
    basePath,
    signInMessage: 'sign in first',
    notFoundMessage: undefined,
    bodyLimit: options.maxBodySize,
    pageLimits: { default: Math.min(pageSize, maxPageSize), max: maxPageSize },
  })
  return new Dispatcher({
    endpoints: [json],
    authenticate: authenticator(store, authenticate),
    userNow: async (user) => user,
    clientOf,
    baseUrl,
    trustedProxies: 0,
    corsOrigins: cors.origins,
    unmatched: referenceOrNext({ basePath, brand: NAME, prepare: () => services.documentFor('') }),
    log,
  })
}

const clientOf = (req: IncomingMessage, user: Pick<Identity, 'username'> | null): string =>
  user === null ? clientOfAddress(addressOf(req, 0)) : clientOfName(user.username)

const refuse: HostAuthenticate = () => {
  throw new AllotError(
    'unauthenticated',
    'nobody can sign in: createQuota was given no authenticate function',
  )
}

/** Finds the sender of a request with the host's function. */
const authenticator = (store: Store, authenticate: HostAuthenticate) => {
  const identityOf = async (name: string): Promise<Identity> => {
    const { id } = (await store.read((tx) => hostOwnerDirectory.find(tx, name)))!
    return { id, username: name, admin: false, scopes: ALL_SCOPES }
  }
  const senderOf = async (req: IncomingMessage): Promise<Identity | null> => {
    const answer = await askHost(authenticate, req)
    if (answer === null || answer === undefined) return null
    const { id, admin = false, scopes } = checkHostIdentity(answer)
    return { ...(await identityOf(id)), admin, scopes }
  }
  return (req: IncomingMessage) =>
    actingAs(req, senderOf(req), async (name) => (isOwnerName(name) ? identityOf(name) : undefined))
}
