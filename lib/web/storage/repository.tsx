/** The storage of one repository: git data and everything in it. */
import { totalOf } from '../../content/usage/storage-item.ts'
import { AllotError } from '../../errors.ts'
import { kindNames } from '../../quota/subjects.ts'
import { REPOSITORY_SIZES } from '../../records/schema/index.ts'
import { Link, PageHead, Section, Size } from '../parts/components.tsx'
import { Dots } from '../parts/inline.tsx'
import { Table } from '../parts/list.tsx'
import { ownerCrumbs, pageLink, storagePage } from './access.tsx'
import { shareColumn } from './share.tsx'

export const repositoryPageRoutes = [
  storagePage({
    path: '/-/storage/{owner}/repositories/{repo}',
    async handle(request) {
      const { owner, services, user, site, params } = request
      const { hosting, quota, settings } = services
      const repository = await hosting.repositories.find(user, owner.name, params.repo)
      const usage = repository && (await quota.repositoryUsage(repository.id))
      if (repository === undefined || usage === undefined)
        throw new AllotError('not_found', `there is no repository named ${owner.name}/${params.repo}`)
      const path = `${owner.name}/${repository.name}`
      const total = totalOf(usage)
      const names = { git: 'Git data', ...kindNames }
      const sizes = REPOSITORY_SIZES.map((size) => [names[size], usage[size]] as const)
      const link = pageLink(request, {
        kind: 'repository',
        owner: owner.name,
        repo: repository.name,
      })
      const visibility = repository.private ? 'Private' : 'Public'
      const { description } = repository
      return {
        title: path,
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
            <Section
              id="storage"
              title="Storage"
              aside={
                <Link to={`/-/storage/${owner.name}/usage?repository=${encodeURIComponent(repository.name)}`}>
                  View usage
                </Link>
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
                  Clone with <code>git clone {`${site}/${path}.git`}</code>
                </p>
              )}
            </Section>
          </>
        ),
      }
    },
  }),
]
