/** The storage of one repository: git data and everything in it. */
import { authorizeRepositoryAdmin } from '../../accounts/authorize.ts'
import { totalOf } from '../../content/usage/storage-item.ts'
import { AllotError } from '../../errors.ts'
import { kindNames } from '../../quota/subjects.ts'
import { REPOSITORY_SIZES, type RepositoryUsage } from '../../records/schema/index.ts'
import { hasScope } from '../../scopes.ts'
import { FlashMessage, Link, PageHead, Post, Section, Size, Submit } from '../parts/components.tsx'
import { Dots } from '../parts/inline.tsx'
import { Table } from '../parts/list.tsx'
import type { View } from '../parts/route.ts'
import { ownerCrumbs, pageLink, type StorageRequest, storagePages } from './access.tsx'
import { shareColumn } from './share.tsx'

const PATH = '/-/storage/{owner}/repositories/{repo}'

const pathOf = (owner: string, repo: string) => `/-/storage/${owner}/repositories/${repo}`

export const repositoryPageRoutes = [
  storagePages.page({ path: PATH, handle: (request) => repositoryStorage(request) }),
  storagePages.form({ path: `${PATH}/gc`, scope: 'write:repository' }, (request) => {
    const { user, owner, params, services, client } = request
    return {
      async run() {
        const repository = await services.store.read(authorizeRepositoryAdmin(user, owner.name, params.repo))
        const cleaned = repository && (await services.hosting.git?.maintenance.cleanUp(repository.id, client))
        if (cleaned === undefined) throw missing(owner.name, params.repo)
        const isFreed = cleaned.size < repository!.size
        return `${pathOf(owner.name, cleaned.name)}?done=${isFreed ? 'freed' : 'unused'}`
      },
      page: () => repositoryStorage(request),
    }
  }),
]

const missing = (owner: string, repo: string) =>
  new AllotError('not_found', `there is no repository named ${owner}/${repo}`)

const repositoryStorage = async (request: StorageRequest<'repo'>): Promise<View> => {
  const { owner, services, user, params } = request
  const { hosting, quota } = services
  const repository = await hosting.repositories.find(user, owner.name, params.repo)
  const usage = repository && (await quota.repositoryUsage(repository.id))
  if (repository === undefined || usage === undefined) throw missing(owner.name, params.repo)
  const link = pageLink(request, {
    kind: 'repository',
    owner: owner.name,
    repo: repository.name,
  })
  const visibility = repository.private ? 'Private' : 'Public'
  const { description } = repository
  return {
    title: `${owner.name}/${repository.name}`,
    crumbs: [...ownerCrumbs(owner, user), { name: owner.name, to: `/-/storage/${owner.name}` }],
    body: (
      <>
        <PageHead
          title={<bdi>{repository.name}</bdi>}
          subtitle={
            <Dots facts={[visibility, <bdi>{description}</bdi>].slice(0, description === '' ? 1 : 2)} />
          }
        >
          {link !== undefined && (
            <a class="button secondary" href={link}>
              View repository
            </a>
          )}
        </PageHead>
        <FlashMessage />
        <Sizes request={request} name={repository.name} usage={usage} />
      </>
    ),
  }
}

interface SizesProps {
  request: StorageRequest
  name: string
  usage: RepositoryUsage
}

const Sizes = ({ request: { owner, user, services, site }, name, usage }: SizesProps) => {
  const { hosting, settings } = services
  const total = totalOf(usage)
  const names = { git: 'Git data', ...kindNames }
  const sizes = REPOSITORY_SIZES.map((size) => [names[size], usage[size]] as const)
  return (
    <Section
      id="storage"
      title="Storage"
      aside={
        <Link to={`/-/storage/${owner.name}/usage?repository=${encodeURIComponent(name)}`}>View usage</Link>
      }
    >
      <p class="fullness">
        <strong>
          <Size bytes={total} />
        </strong>
        <span class="muted">used</span>
      </p>
      <Table
        items={sizes}
        keyOf={([name]) => name}
        columns={[
          { head: 'Category', cell: ([name]) => name },
          shareColumn(([, bytes]: (typeof sizes)[number]) => bytes, total),
          { head: 'Size', class: 'number', cell: ([, bytes]) => <Size bytes={bytes} /> },
        ]}
      />
      {settings.clones && site !== undefined && (
        <p>
          Clone with <code>git clone {`${site}/${owner.name}/${name}.git`}</code>
        </p>
      )}
      {hosting.git !== undefined && hasScope(user.scopes, 'write:repository') && (
        <Post to={`${pathOf(owner.name, name)}/gc`} class="footer">
          <Submit kind="secondary">Free unused git data</Submit>
          <p class="small">Deletes what no branch or tag leads to any more, once it is an hour old.</p>
        </Post>
      )}
    </Section>
  )
}
