import * as v from 'valibot'
import type { Identity } from '../../accounts/access.ts'
import { noreplyAddress } from '../../accounts/names.ts'
import { AllotError } from '../../errors.ts'
import type { GitProcess } from '../../git/process.ts'
import { successOf } from '../../git/processes.ts'
import { SANDBOX, type StreamReply, type StreamRequest } from '../../http/index.ts'
import type { OpenRepository, RepositoryContents } from '../../repositories/contents/open-repository.ts'
import type { Pusher } from '../../repositories/contents/push-changes.ts'
import { requirePush, requireStill } from '../../repositories/write-access.ts'
import { optionalQuery, repositoryNameOf } from '../fields.ts'
import { at, missing, type Recipient, type Services } from '../route.ts'
import { hostNameOf } from '../users.ts'

/** Declares routes about the contents of a repository. */
export const repositories = at('/repos/{owner}/{repo}', { scope: 'repository' })

/** Query of a route that reads the contents of a commit. */
export const refQuery = v.object({
  ref: optionalQuery(v.string(), 'Branch, tag or commit; the default branch when absent.'),
})

/** @throws AllotError not_found when the server has no git data; its routes are not served then */
export const contentsIn = ({ hosting }: Pick<Services, 'hosting'>): RepositoryContents => {
  if (hosting.contents === undefined) throw new AllotError('not_found', 'this server has no git data')
  return hosting.contents
}

/** A download of what a git process writes. It is cut off when git is stopped, so that the client notices. */
export const processReply = (
  start: () => Promise<GitProcess>,
  headers: StreamReply['headers'],
): StreamReply => ({
  status: 200,
  headers: { ...DOWNLOAD_HEADERS, ...headers },
  async body() {
    const child = await start()
    child.stdin.end()
    return { stream: child.stdout, completed: successOf(child) }
  },
})

const DOWNLOAD_HEADERS = {
  'Cache-Control': 'private, no-cache',
  ...SANDBOX,
  'X-Content-Type-Options': 'nosniff',
}

/** A request about the contents of a repository. */
export type ContentsRequest = Recipient & {
  readonly params: { readonly owner: string; readonly repo: string }
  readonly client: () => string
  readonly whileAllowed: StreamRequest<Identity>['whileAllowed']
}

/** The same, and its reply may be large. */
export type LargeRequest = ContentsRequest & {
  readonly inTurn: <T>(bytes: number, make: () => Promise<T>) => Promise<T>
}

/**
 * The repository of a request. A download ends when its user may not read the repository any more.
 * @throws AllotError not_found when the user cannot see it
 */
export const openIn = async (services: Services, request: ContentsRequest): Promise<OpenRepository> => {
  const { user, params, client } = request
  return watched(services, request, await contentsIn(services).open(user, repositoryNameOf(params), client()))
}

/**
 * The repository of a request at a branch, a tag or a commit.
 * @throws AllotError not_found when there is none
 */
export const openAt = async (services: Services, request: ContentsRequest, revision: string) => {
  const { user, params, client } = request
  const open = await contentsIn(services).openAt(user, repositoryNameOf(params), revision, client())
  return watched(services, request, open)
}

const watched = <T extends OpenRepository>(
  { store }: Services,
  { whileAllowed }: ContentsRequest,
  open: T | undefined,
): T => {
  if (open === undefined) throw missing()
  whileAllowed((user) => store.read((tx) => requireStill(tx, user, open.repository.id, 'read')))
  return open
}

/** A repository that the user may push to, and the user as its author. */
export interface Changeable {
  readonly open: OpenRepository
  readonly pusher: Pusher
  /** The user's name and no-reply address, since everybody who can clone can read commits. */
  readonly author: { readonly name: string; readonly email: string }
}

/** @throws AllotError forbidden when the user may not push to it; not_found when the user cannot see it */
export const openForPush = async (
  services: Services,
  request: ContentsRequest & { readonly user: Identity },
): Promise<Changeable> => {
  const { store, hosting } = services
  const { git } = hosting
  const { user, baseUrl, client } = request
  const open = await openIn(services, request)
  if (git === undefined) throw new AllotError('not_found', 'this server has no git data')
  await store.read((tx) => requirePush(tx, user, open.repository))
  const account = await hosting.accounts.byId(user.id)
  const author = {
    name: account?.fullName || user.username,
    email: noreplyAddress(user.username, hostNameOf(baseUrl)),
  }
  return { open, pusher: { pushes: git.pushes, user, client: client() }, author }
}
