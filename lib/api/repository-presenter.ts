/** The wire format of repositories, how a record is presented in it, and replies with repositories. */
import * as v from 'valibot'
import { type RepositoryDetails, repositoryDetails } from '../content/details.ts'
import { AllotError } from '../errors.ts'
import type { Repository as RepositoryRecord } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import { example, number, Time, text, timestamp } from './fields.ts'
import type { Recipient, Services } from './route.ts'
import { hostNameOf, presentUser, User } from './users.ts'
import type { View } from './view.ts'

export const Permission = v.object({
  admin: v.boolean(),
  push: v.boolean(),
  pull: example(v.boolean(), true),
})

const members = {
  id: number(7),
  owner: User,
  name: text('app'),
  full_name: text('alice/app'),
  description: text('An application'),
  empty: v.boolean(),
  private: v.boolean(),
  fork: v.boolean(),
  mirror: v.boolean(),
  /** KiB of git data and LFS objects, rounded down, as on Gitea and Forgejo. */
  size: number(12),
  html_url: text('https://code.example.org/alice/app'),
  url: text('https://code.example.org/api/v1/repos/alice/app'),
  ssh_url: text('git@code.example.org:alice/app.git'),
  clone_url: text('https://code.example.org/alice/app.git'),
  website: text(''),
  stars_count: number(3),
  forks_count: number(0),
  watchers_count: number(1),
  open_issues_count: number(1),
  /** Drafts are not counted. */
  release_counter: number(1),
  default_branch: text('main'),
  archived: v.boolean(),
  /** Always false, for clients of Gitea and Forgejo. */
  template: v.boolean(),
  topics: example(v.array(v.string()), ['git']),
  created_at: Time,
  updated_at: Time,
  permissions: Permission,
  /** The offer to a new owner, for those who give or take it. */
  repo_transfer: v.nullable(v.object({ doer: User, recipient: User, teams: v.array(v.never()) })),
}

const withoutParent = v.object(members)
export interface Repository extends v.InferOutput<typeof withoutParent> {
  /** The parent of a fork, shown without its own parent. */
  parent: Repository | null
}
export const Repository: v.GenericSchema<Repository> = v.object({
  ...members,
  parent: v.nullable(v.lazy(() => Repository)),
})

export const repositoryView: View<typeof Repository, RepositoryRecord> = {
  schema: Repository,
  all: (records, recipient, read) => read((tx) => presentRepositories(tx, recipient, records)),
}

export const presentRepository = (details: RepositoryDetails, recipient: Recipient): Repository => ({
  ...presentWithoutParent(details, recipient),
  parent: details.parent && { ...presentWithoutParent(details.parent, recipient), parent: null },
})

const presentWithoutParent = (details: RepositoryDetails, recipient: Recipient) => {
  const { repository, owner, permissions, openIssues, releases, offer } = details
  const { baseUrl, htmlUrls } = recipient
  const { path, name, api } = repositoryUrls(details, recipient)
  return {
    id: repository.id,
    owner: presentUser(owner, recipient),
    name: repository.name,
    full_name: path,
    description: repository.description,
    empty: repository.empty,
    private: repository.private,
    fork: repository.parent !== null,
    mirror: repository.mirror,
    size: kibibytes(repository.size + repository.lfs),
    html_url: htmlUrls.of({ kind: 'repository', ...name }, baseUrl),
    url: api,
    ssh_url: htmlUrls.ssh.of(path, hostNameOf(baseUrl)),
    clone_url: `${baseUrl}/${path}.git`,
    website: repository.website,
    stars_count: repository.stars,
    forks_count: repository.forks,
    watchers_count: repository.watchers,
    open_issues_count: openIssues,
    release_counter: releases,
    default_branch: repository.defaultBranch,
    archived: repository.archived,
    template: false,
    topics: repository.topics ?? [],
    created_at: timestamp(repository.createdAt),
    updated_at: timestamp(repository.updatedAt),
    permissions,
    repo_transfer: offer && {
      doer: presentUser(offer.doer, recipient),
      recipient: presentUser(offer.recipient, recipient),
      teams: [],
    },
  }
}

/**
 * @returns `owner/name`, the same as parameters of a page, and the URL of its API, which those of its
 * contents begin with
 */
export const repositoryUrls = (
  { owner, repository }: Pick<RepositoryDetails, 'owner' | 'repository'>,
  { apiUrl }: Pick<Recipient, 'apiUrl'>,
) => {
  const path = `${owner.name}/${repository.name}`
  const name = { owner: owner.name, repo: repository.name }
  return { path, name, api: `${apiUrl}/repos/${path}` }
}

const kibibytes = (bytes: number): number => Math.floor(bytes / 1024)

/**
 * Reads the details of one repository and presents it.
 * @throws AllotError not_found when it was deleted meanwhile
 */
export const readRepository = async (
  { store }: Services,
  request: Recipient,
  record: RepositoryRecord,
): Promise<Repository> => {
  const [repository] = await store.read((tx) => presentRepositories(tx, request, [record]))
  if (repository === undefined) throw new AllotError('not_found', 'the repository was deleted')
  return repository
}

export const presentRepositories = async (
  tx: ReadTransaction,
  recipient: Recipient,
  records: readonly RepositoryRecord[],
): Promise<Repository[]> => {
  const details = await repositoryDetails(tx, recipient.user, records)
  return details.map((repository) => presentRepository(repository, recipient))
}
