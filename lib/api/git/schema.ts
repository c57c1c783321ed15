/** The wire schemas of commits, tags and references, and how they are presented. */
import * as v from 'valibot'
import { accountsByAddress, authorAmong } from '../../accounts/find.ts'
import type { Commit as GitCommit, PersonAtTime } from '../../git/objects/parse.ts'
import type { Account, Repository } from '../../records/schema/index.ts'
import { accounts } from '../../records/schema/index.ts'
import type { CommitChanges } from '../../repositories/contents/changes.ts'
import { readCommits } from '../../repositories/contents/commits.ts'
import type { OpenRepository } from '../../repositories/contents/open-repository.ts'
import * as f from '../fields.ts'
import { type RepositoryUrls, repositoryUrls } from '../repository-presenter.ts'
import type { Recipient, Services } from '../route.ts'
import { presentUser, User } from '../users.ts'
import { resource, shown } from '../view.ts'

export const API = '/api/v1/repos/alice/app'
export const ID = '2e1cfa82b035c26cbbbdae632cea070514eb8b77'

export const Sha = f.text(ID)

export const CommitMeta = v.object({ url: f.link(`${API}/git/commits/${ID}`), sha: Sha, created: f.Time })

export const CommitUser = v.object({
  name: f.text('Alice'),
  email: f.text('alice@noreply.code.example.org'),
  date: f.Time,
})

/** A signature of a commit is shown, and never verified. */
export const Verification = v.object({
  verified: v.boolean(),
  reason: f.text('gpg.error.not_signed_commit'),
  signature: f.text(''),
  signer: v.null(),
  payload: f.text(''),
})

const FileChange = v.object({
  filename: f.text('README.md'),
  status: f.example(v.picklist(['added', 'removed', 'modified']), 'modified'),
})

export const CommitFiles = v.array(FileChange)

/** The URLs of a repository for the recipient. */
export const urlsOf = async (
  { store }: Pick<Services, 'store'>,
  repository: Repository,
  recipient: Recipient,
): Promise<RepositoryUrls> => {
  const owner = await store.read((tx) => accounts.get(tx, [repository.owner]))
  return repositoryUrls({ owner: owner!, repository }, recipient)
}

export const commitUrl = ({ api }: RepositoryUrls, id: string): string => `${api}/git/commits/${id}`

export const metaOf = (urls: RepositoryUrls, { id, committer }: GitCommit) => ({
  url: commitUrl(urls, id),
  sha: id,
  created: f.timestamp(committer.time),
})

export const presentPerson = ({ name, email, time }: PersonAtTime): v.InferOutput<typeof CommitUser> => ({
  name,
  email,
  date: f.timestamp(time),
})

export const presentVerification = (
  signature: GitCommit['signature'],
): v.InferOutput<typeof Verification> => ({
  verified: false,
  // The reasons of Forgejo are results of a verification.
  reason: signature === undefined ? 'gpg.error.not_signed_commit' : 'this server does not verify signatures',
  signature: signature?.text ?? '',
  signer: null,
  payload: signature?.payload ?? '',
})

/** The fields of a commit that a client wants. */
export interface CommitFields {
  readonly stat: boolean
  readonly files: boolean
  readonly verification: boolean
}

/** A commit with what it is presented with. */
interface CommitDetails extends GitCommit {
  readonly urls: RepositoryUrls
  readonly fields: CommitFields
  readonly changes: CommitChanges | undefined
  /** Accounts by the addresses of authors and committers. */
  readonly people: ReadonlyMap<string, Account>
  /** Times of parents, in seconds since 1970. */
  readonly times: ReadonlyMap<string, number>
}

const metaOfCommit = {
  url: [f.link(`${API}/git/commits/${ID}`), ({ id, urls }: CommitDetails) => commitUrl(urls, id)],
  sha: [Sha, ({ id }: CommitDetails) => id],
  created: [f.Time, ({ committer }: CommitDetails) => f.timestamp(committer.time)],
} as const

const gitCommit = resource<CommitDetails>()({
  url: metaOfCommit.url,
  author: [CommitUser, ({ author }) => presentPerson(author)],
  committer: [CommitUser, ({ committer }) => presentPerson(committer)],
  message: [f.text('Initial commit\n'), ({ message }) => message],
  tree: [
    CommitMeta,
    ({ urls, tree, committer }) => ({
      url: `${urls.api}/git/trees/${tree}`,
      sha: tree,
      created: f.timestamp(committer.time),
    }),
  ],
  verification: [
    v.nullable(Verification),
    ({ fields, signature }) => (fields.verification ? presentVerification(signature) : null),
  ],
})

const userWith = ({ people }: CommitDetails, person: PersonAtTime, recipient: Recipient) => {
  const account = authorAmong(people, person)
  return account === undefined ? null : presentUser(account, recipient)
}

const commitView = resource<CommitDetails>()({
  ...metaOfCommit,
  html_url: [f.link(`/alice/app/commit/${ID}`), ({ id, urls }) => `${urls.html}/commit/${id}`],
  commit: shown(gitCommit, (details) => details),
  author: [v.nullable(User), (details, recipient) => userWith(details, details.author, recipient)],
  committer: [v.nullable(User), (details, recipient) => userWith(details, details.committer, recipient)],
  parents: [
    v.array(CommitMeta),
    ({ parents, urls, times, committer }) =>
      parents.map((sha) => ({
        url: commitUrl(urls, sha),
        sha,
        created: f.timestamp(times.get(sha) ?? committer.time),
      })),
  ],
  files: [
    v.nullable(CommitFiles),
    ({ changes, fields }) => (changes && fields.files ? [...changes.files] : null),
  ],
  stats: [
    v.nullable(v.object({ total: f.number(3), additions: f.number(2), deletions: f.number(1) })),
    ({ changes, fields }) => {
      if (changes === undefined || !fields.stat) return null
      const { additions, deletions } = changes
      return { total: additions + deletions, additions, deletions }
    },
  ],
})
export const Commit = commitView.schema

/** Parents whose times one list gives. Pages of normal commits have a few hundred. */
const MAX_PARENTS = 1000

/**
 * Presents commits with their users and parents.
 * @param changes of the commits, when a client wants them
 */
export const presentCommits = async (
  services: Services,
  recipient: Recipient,
  open: OpenRepository,
  commits: readonly GitCommit[],
  fields: CommitFields & { readonly changes: ReadonlyMap<string, CommitChanges> },
): Promise<v.InferOutput<typeof Commit>[]> => {
  const { store } = services
  const parentIds = new Set(commits.flatMap((commit) => commit.parents))
  const parents = await readCommits(open, [...parentIds].slice(0, MAX_PARENTS))
  const context = {
    urls: await urlsOf(services, open.repository, recipient),
    fields,
    people: await store.read((tx) => accountsByAddress(tx, recipient.user, commits, recipient.baseUrl)),
    times: new Map(parents.map(({ id, committer }) => [id, committer.time])),
  }
  return commits.map((commit) =>
    commitView.present({ ...commit, ...context, changes: fields.changes.get(commit.id) }, recipient),
  )
}
