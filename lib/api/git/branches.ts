import * as v from 'valibot'
import { permissionOn } from '../../accounts/access.ts'
import { readCommits } from '../../repositories/contents/commits.ts'
import type { OpenRepository } from '../../repositories/contents/open-repository.ts'
import { findBranch, listBranches, type Ref, shortName } from '../../repositories/contents/refs.ts'
import { number, Time, text, timestamp } from '../fields.ts'
import type { Recipient, Services } from '../route.ts'
import { openIn, repositories } from './access.ts'
import { peopleWith, presentVerification, Sha, urlsOf, Verification } from './schema.ts'

const Person = v.object({
  name: text('Alice'),
  email: text('alice@noreply.code.example.org'),
  username: text('alice'),
})

export const Branch = v.object({
  name: text('main'),
  commit: v.object({
    id: Sha,
    message: text('Initial commit\n'),
    url: text('https://code.example.org/alice/app/commit/2e1cfa82b035c26cbbbdae632cea070514eb8b77'),
    author: Person,
    committer: Person,
    verification: Verification,
    timestamp: Time,
    /** Always null: only webhooks have it. */
    added: v.null(),
    removed: v.null(),
    modified: v.null(),
  }),
  /** Allot protects no branches. */
  protected: v.boolean(),
  required_approvals: number(0),
  enable_status_check: v.boolean(),
  status_check_contexts: v.array(text('ci')),
  user_can_push: v.boolean(),
  user_can_merge: v.boolean(),
  effective_branch_protection_name: text(''),
})
type Branch = v.InferOutput<typeof Branch>

export const presentBranches = async (
  services: Services,
  recipient: Recipient,
  open: OpenRepository,
  refs: readonly Ref[],
): Promise<Branch[]> => {
  const { store } = services
  const { repository } = open
  const commits = await readCommits(
    open,
    refs.map(({ target }) => target),
  )
  const urls = await urlsOf(services, repository, recipient)
  const emails = new Set(commits.flatMap(({ author, committer }) => [author.email, committer.email]))
  const people = await store.read((tx) => peopleWith(tx, recipient, emails))
  const { push } = await store.read((tx) => permissionOn(tx, recipient.user, repository))
  const canPush = push && !repository.archived
  const person = ({ name, email }: { name: string; email: string }) => ({
    name,
    email,
    username: people.get(email)?.name ?? '',
  })
  const byId = new Map(commits.map((commit) => [commit.id, commit]))
  return refs.flatMap((ref) => {
    const commit = byId.get(ref.target)
    if (commit === undefined) return []
    return {
      name: shortName(ref),
      commit: {
        id: commit.id,
        message: commit.message,
        url: `${urls.html}/commit/${commit.id}`,
        author: person(commit.author),
        committer: person(commit.committer),
        verification: presentVerification(commit.signature),
        timestamp: timestamp(commit.committer.time),
        added: null,
        removed: null,
        modified: null,
      },
      protected: false,
      required_approvals: 0,
      enable_status_check: false,
      status_check_contexts: [],
      user_can_push: canPush,
      user_can_merge: canPush,
      effective_branch_protection_name: '',
    }
  })
}

export const branchRoutes = [
  repositories.list('repoListBranches', '/branches', {
    summary: "A repository's branches, by name",
    of: Branch,
    run: async (request, services) => {
      const open = await openIn(services, request)
      if (open === undefined) return undefined
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
      const ref = open && (await findBranch(open, request.params.branch))
      if (ref === undefined) return undefined
      const [branch] = await presentBranches(services, request, open!, [ref])
      return branch
    },
  }),
]
