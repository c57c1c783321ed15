/** The wire schemas of commits, tags and references, and how they are presented. */
import * as v from 'valibot'
import { accountsByAddress } from '../../accounts/find.ts'
import type { Commit as GitCommit, PersonAtTime } from '../../git/objects/parse.ts'
import type { Account, Repository } from '../../records/schema/index.ts'
import { accounts } from '../../records/schema/index.ts'
import type { CommitChanges } from '../../repositories/contents/changes.ts'
import { readCommits } from '../../repositories/contents/commits.ts'
import type { OpenRepository } from '../../repositories/contents/open-repository.ts'
import type { ReadTransaction } from '../../storage/index.ts'
import { example, number, Time, text, timestamp } from '../fields.ts'
import { repositoryUrls } from '../repository-presenter.ts'
import type { Recipient, Services } from '../route.ts'
import { hostNameOf, presentUser, User } from '../users.ts'

const API = 'https://code.example.org/api/v1/repos/alice/app'
export const ID = '2e1cfa82b035c26cbbbdae632cea070514eb8b77'

export const Sha = text(ID)

export const CommitMeta = v.object({ url: text(`${API}/git/commits/${ID}`), sha: Sha, created: Time })

export const CommitUser = v.object({
  name: text('Alice'),
  email: text('alice@noreply.code.example.org'),
  date: Time,
})

/** A signature of a commit is shown, and never verified: `verified` is always false. */
export const Verification = v.object({
  verified: v.boolean(),
  reason: text('gpg.error.not_signed_commit'),
  signature: text(''),
  signer: v.null(),
  payload: text(''),
})

const FileChange = v.object({
  filename: text('README.md'),
  status: example(v.picklist(['added', 'removed', 'modified']), 'modified'),
})

export const CommitFiles = v.array(FileChange)

export const Commit = v.object({
  url: text(`${API}/git/commits/${ID}`),
  sha: Sha,
  created: Time,
  html_url: text(`https://code.example.org/alice/app/commit/${ID}`),
  commit: v.object({
    url: text(`${API}/git/commits/${ID}`),
    author: CommitUser,
    committer: CommitUser,
    message: text('Initial commit\n'),
    tree: CommitMeta,
    verification: v.nullable(Verification),
  }),
  author: v.nullable(User),
  committer: v.nullable(User),
  parents: v.array(CommitMeta),
  files: v.nullable(CommitFiles),
  stats: v.nullable(v.object({ total: number(3), additions: number(2), deletions: number(1) })),
})
export type Commit = v.InferOutput<typeof Commit>

/** The URLs of a repository that those of its contents begin with. */
export interface RepositoryUrls {
  readonly api: string
  /** URL of its page. */
  readonly html: string
  /** URL below the service, at which archives are. */
  readonly base: string
}

/** The URLs of a repository for the recipient. */
export const urlsOf = async (
  { store }: Pick<Services, 'store'>,
  repository: Repository,
  recipient: Recipient,
): Promise<RepositoryUrls> => {
  const owner = await store.read((tx) => accounts.get(tx, [repository.owner]))
  const { path, name, api } = repositoryUrls({ owner: owner!, repository }, recipient)
  const { baseUrl, htmlUrls } = recipient
  return { api, html: htmlUrls.of({ kind: 'repository', ...name }, baseUrl), base: `${baseUrl}/${path}` }
}

export const commitUrl = ({ api }: RepositoryUrls, id: string): string => `${api}/git/commits/${id}`

export const presentPerson = ({ name, email, time }: PersonAtTime): v.InferOutput<typeof CommitUser> => ({
  name,
  email,
  date: timestamp(time),
})

export const presentVerification = (
  signature: GitCommit['signature'],
): v.InferOutput<typeof Verification> => ({
  verified: false,
  reason: signature === undefined ? 'gpg.error.not_signed_commit' : 'gpg.error.no_gpg_keys_found',
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

/** Everything that commits are presented with. */
interface CommitContext {
  readonly urls: RepositoryUrls
  readonly fields: CommitFields
  readonly changes: ReadonlyMap<string, CommitChanges>
  /** Accounts by the addresses of authors and committers. */
  readonly people: ReadonlyMap<string, Account>
  /** Times of parents, in seconds since 1970. */
  readonly times: ReadonlyMap<string, number>
}

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
): Promise<Commit[]> => {
  const { store } = services
  const emails = new Set(commits.flatMap(({ author, committer }) => [author.email, committer.email]))
  const parentIds = new Set(commits.flatMap((commit) => commit.parents))
  const parents = await readCommits(open, [...parentIds].slice(0, MAX_PARENTS))
  const context = {
    urls: await urlsOf(services, open.repository, recipient),
    fields,
    changes: fields.changes,
    people: await store.read((tx) => peopleWith(tx, recipient, emails)),
    times: new Map(parents.map(({ id, committer }) => [id, committer.time])),
  }
  return commits.map((commit) => presentCommit(commit, recipient, context))
}

/** The visible accounts with these addresses. */
export const peopleWith = (
  tx: ReadTransaction,
  { user, baseUrl }: Pick<Recipient, 'user' | 'baseUrl'>,
  emails: Iterable<string>,
): Promise<Map<string, Account>> => accountsByAddress(tx, user, emails, hostNameOf(baseUrl))

const presentCommit = (commit: GitCommit, recipient: Recipient, context: CommitContext): Commit => {
  const { urls, fields, people, times, changes } = context
  const { id, author, committer, message, tree, parents } = commit
  const url = commitUrl(urls, id)
  const created = timestamp(committer.time)
  const user = (email: string) => {
    const account = people.get(email)
    return account === undefined ? null : presentUser(account, recipient)
  }
  return {
    url,
    sha: id,
    created,
    html_url: `${urls.html}/commit/${id}`,
    commit: {
      url,
      author: presentPerson(author),
      committer: presentPerson(committer),
      message,
      tree: { url: `${urls.api}/git/trees/${tree}`, sha: tree, created },
      verification: fields.verification ? presentVerification(commit.signature) : null,
    },
    author: user(author.email),
    committer: user(committer.email),
    parents: parents.map((sha) => ({
      url: commitUrl(urls, sha),
      sha,
      created: timestamp(times.get(sha) ?? committer.time),
    })),
    ...presentChanges(changes.get(id), fields),
  }
}

const presentChanges = (
  changes: CommitChanges | undefined,
  fields: CommitFields,
): Pick<Commit, 'files' | 'stats'> => {
  if (changes === undefined) return { files: null, stats: null }
  const { files, additions, deletions } = changes
  return {
    files: fields.files ? [...files] : null,
    stats: fields.stat ? { total: additions + deletions, additions, deletions } : null,
  }
}
