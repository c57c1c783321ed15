/** The wire format of repositories, how a record is presented in it, and replies with repositories. */
import * as v from 'valibot'
import { type RepositoryDetails, repositoryDetails } from '../content/details.ts'
import { existing } from '../errors.ts'
import type { Repository as RepositoryRecord } from '../records/schema/index.ts'
import type { ReadTransaction } from '../storage/index.ts'
import * as f from './fields.ts'
import type { Recipient, Services } from './route.ts'
import { hostNameOf, userView } from './users.ts'
import { resource, shown, type View } from './view.ts'

export const Permission = v.object({
  admin: v.boolean(),
  push: v.boolean(),
  pull: f.example(v.boolean(), true),
})

const offer = resource<NonNullable<RepositoryDetails['offer']>>()({
  doer: shown(userView, ({ doer }) => doer),
  recipient: shown(userView, ({ recipient }) => recipient),
  teams: [v.array(v.never()), () => []],
})

const withoutParent = resource<RepositoryDetails>()({
  id: [f.number(7), ({ repository }) => repository.id],
  owner: shown(userView, ({ owner }) => owner),
  name: [f.text('app'), ({ repository }) => repository.name],
  full_name: [f.text('alice/app'), (details) => pathOf(details)],
  description: [f.text('An application'), ({ repository }) => repository.description],
  empty: [v.boolean(), ({ repository }) => repository.empty],
  private: [v.boolean(), ({ repository }) => repository.private],
  fork: [v.boolean(), ({ repository }) => repository.parent !== null],
  mirror: [v.boolean(), () => false],
  /** KiB of git data and LFS objects, rounded down, as on Gitea and Forgejo. */
  size: [f.number(12), ({ repository: { size, lfs } }) => Math.floor((size + lfs) / 1024)],
  html_url: [f.link('/alice/app'), (details, to) => pageOf(details, to)],
  url: [f.link('/api/v1/repos/alice/app'), (details, { apiUrl }) => `${apiUrl}/repos/${pathOf(details)}`],
  ssh_url: [
    f.text('git@code.example.org:alice/app.git'),
    (details, { htmlUrls, baseUrl }) => htmlUrls.ssh.of(pathOf(details), hostNameOf(baseUrl)),
  ],
  clone_url: [f.link('/alice/app.git'), (details, { baseUrl }) => `${baseUrl}/${pathOf(details)}.git`],
  website: [f.text(''), ({ repository }) => repository.website],
  stars_count: [f.number(3), ({ repository }) => repository.stars],
  forks_count: [f.number(0), ({ repository }) => repository.forks],
  watchers_count: [f.number(1), ({ repository }) => repository.watchers],
  open_issues_count: [f.number(1), ({ openIssues }) => openIssues],
  /** Drafts are not counted. */
  release_counter: [f.number(1), ({ releases }) => releases],
  default_branch: [f.text('main'), ({ repository }) => repository.defaultBranch],
  archived: [v.boolean(), ({ repository }) => repository.archived],
  /** Always false, for clients of Gitea and Forgejo. */
  template: [v.boolean(), () => false],
  topics: [f.example(v.array(v.string()), ['git']), ({ repository }) => repository.topics ?? []],
  created_at: [f.Time, ({ repository }) => f.timestamp(repository.createdAt)],
  updated_at: [f.Time, ({ repository }) => f.timestamp(repository.updatedAt)],
  permissions: [Permission, ({ permissions }) => permissions],
  /** The offer to a new owner, for those who give or take it. */
  repo_transfer: [
    v.nullable(offer.schema),
    (details, to) => details.offer && offer.present(details.offer, to),
  ],
})

export interface Repository extends v.InferOutput<typeof withoutParent.schema> {
  /** The parent of a fork, shown without its own parent. */
  parent: Repository | null
}
export const Repository: v.GenericSchema<Repository> = v.object({
  ...withoutParent.schema.entries,
  parent: v.nullable(v.lazy(() => Repository)),
})

export const repositoryView: View<typeof Repository, RepositoryRecord> = {
  schema: Repository,
  all: (records, recipient, read) => read((tx) => presentRepositories(tx, recipient, records)),
}

export const presentRepository = (details: RepositoryDetails, recipient: Recipient): Repository => ({
  ...withoutParent.present(details, recipient),
  parent: details.parent && { ...withoutParent.present(details.parent, recipient), parent: null },
})

type Named = Pick<RepositoryDetails, 'owner' | 'repository'>

const pathOf = ({ owner, repository }: Named): string => `${owner.name}/${repository.name}`

const pageOf = ({ owner, repository }: Named, { htmlUrls, baseUrl }: Recipient): string =>
  htmlUrls.of({ kind: 'repository', owner: owner.name, repo: repository.name }, baseUrl)

/** The URLs of a repository that those of its contents begin with. */
export interface RepositoryUrls {
  readonly api: string
  /** URL of its page. */
  readonly html: string
  /** URL below the service, at which archives are. */
  readonly base: string
}

export const repositoryUrls = (named: Named, recipient: Recipient): RepositoryUrls => ({
  api: `${recipient.apiUrl}/repos/${pathOf(named)}`,
  html: pageOf(named, recipient),
  base: `${recipient.baseUrl}/${pathOf(named)}`,
})

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
  return existing(repository, 'the repository was deleted')
}

export const presentRepositories = async (
  tx: ReadTransaction,
  recipient: Recipient,
  records: readonly RepositoryRecord[],
): Promise<Repository[]> => {
  const details = await repositoryDetails(tx, recipient.user, records)
  return details.map((repository) => presentRepository(repository, recipient))
}
