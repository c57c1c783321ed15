import * as v from 'valibot'
import { permissionOn } from '../../accounts/access.ts'
import { accountsByAddress, authorAmong } from '../../accounts/find.ts'
import type { Commit as GitCommit } from '../../git/objects/parse.ts'
import type { Account } from '../../records/schema/index.ts'
import { readCommits } from '../../repositories/contents/commits.ts'
import type { OpenRepository } from '../../repositories/contents/open-repository.ts'
import { findBranch, listBranches, type Ref, shortName } from '../../repositories/contents/refs.ts'
import * as f from '../fields.ts'
import type { RepositoryUrls } from '../repository-presenter.ts'
import type { Recipient, Services } from '../route.ts'
import { resource, shown } from '../view.ts'
import { openIn, repositories } from './access.ts'
import { presentVerification, Sha, urlsOf, Verification } from './schema.ts'

interface BranchDetails {
  readonly ref: Ref
  readonly commit: GitCommit
  readonly urls: RepositoryUrls
  /** Accounts by the addresses of authors and committers. */
  readonly people: ReadonlyMap<string, Account>
  readonly canPush: boolean
}

const person = resource<{ person: GitCommit['author']; people: BranchDetails['people'] }>()({
  name: [f.text('Alice'), ({ person }) => person.name],
  email: [f.text('alice@noreply.code.example.org'), ({ person }) => person.email],
  username: [f.text('alice'), ({ person, people }) => authorAmong(people, person)?.name ?? ''],
})

const head = resource<BranchDetails>()({
  id: [Sha, ({ commit }) => commit.id],
  message: [f.text('Initial commit\n'), ({ commit }) => commit.message],
  url: [
    f.link('/alice/app/commit/2e1cfa82b035c26cbbbdae632cea070514eb8b77'),
    ({ commit, urls }) => `${urls.html}/commit/${commit.id}`,
  ],
  author: shown(person, ({ commit, people }) => ({ person: commit.author, people })),
  committer: shown(person, ({ commit, people }) => ({ person: commit.committer, people })),
  verification: [Verification, ({ commit }) => presentVerification(commit.signature)],
  timestamp: [f.Time, ({ commit }) => f.timestamp(commit.committer.time)],
  /** Always null: only webhooks have it. */
  added: [v.null(), () => null],
  removed: [v.null(), () => null],
  modified: [v.null(), () => null],
})

const branchView = resource<BranchDetails>()({
  name: [f.text('main'), ({ ref }) => shortName(ref)],
  commit: shown(head, (details) => details),
  /** Allot protects no branches. */
  protected: [v.boolean(), () => false],
  required_approvals: [f.number(0), () => 0],
  enable_status_check: [v.boolean(), () => false],
  status_check_contexts: [v.array(f.text('ci')), () => []],
  user_can_push: [v.boolean(), ({ canPush }) => canPush],
  user_can_merge: [v.boolean(), ({ canPush }) => canPush],
  effective_branch_protection_name: [f.text(''), () => ''],
})
export const Branch = branchView.schema

export const presentBranches = async (
  services: Services,
  recipient: Recipient,
  open: OpenRepository,
  refs: readonly Ref[],
): Promise<v.InferOutput<typeof Branch>[]> => {
  const { store } = services
  const { repository } = open
  const commits = await readCommits(
    open,
    refs.map(({ target }) => target),
  )
  const urls = await urlsOf(services, repository, recipient)
  const people = await store.read((tx) => accountsByAddress(tx, recipient.user, commits, recipient.baseUrl))
  const { push } = await store.read((tx) => permissionOn(tx, recipient.user, repository))
  const canPush = push && !repository.archived
  const byId = new Map(commits.map((commit) => [commit.id, commit]))
  return refs.flatMap((ref) => {
    const commit = byId.get(ref.target)
    if (commit === undefined) return []
    return branchView.present({ ref, commit, urls, people, canPush }, recipient)
  })
}

export const branchRoutes = [
  repositories.list('repoListBranches', '/branches', {
    summary: "A repository's branches, by name",
    of: Branch,
    run: async (request, services) => {
      const open = await openIn(services, request)
      const { items, total } = await listBranches(open, request.page)
      return { items: await presentBranches(services, request, open, items), total }
    },
  }),
  repositories.get('repoGetBranch', '/branches/{branch}', {
    takesRest: true,
    summary: 'A branch, and the commit that it is at',
    of: Branch,
    run: async (request, services) => {
      const open = await openIn(services, request)
      const ref = await findBranch(open, request.params.branch)
      return ref && (await presentBranches(services, request, open, [ref]))[0]
    },
  }),
]
