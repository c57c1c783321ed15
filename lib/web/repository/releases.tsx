/** The releases of a repository, and one release with its files. */

import { type ContentDetails, contentDetails } from '../../content/details.ts'
import { encodePath } from '../../host-pages/html-urls.ts'
import type { Release } from '../../records/schema/index.ts'
import { commitOf } from '../../repositories/contents/open-repository.ts'
import { RequestCommand } from '../parts/command.tsx'
import { Empty, Link, NameLink, Section } from '../parts/components.tsx'
import { Dots, Icon } from '../parts/inline.tsx'
import { EmptyPage, Pages, pageNumber } from '../parts/paging.tsx'
import type { View } from '../parts/route.ts'
import { Day } from '../parts/times.tsx'
import { AccountLink } from '../people/account-parts.tsx'
import {
  filePath,
  missing,
  type RepositoryRequest,
  type RepositoryView,
  repositoryPages,
  repositoryView,
} from './access.tsx'
import { AttachedFiles } from './attached-files.tsx'
import { Prose, type RenderedText, renderText } from './rendered-text.tsx'

const read = { kind: 'release', part: 'releases' } as const

/** Releases on a page, and bytes of HTML of the text of each. */
const PAGE_SIZE = 10
const LIST_BUDGET = 5 * 1024
const TEXT_BUDGET = 60 * 1024

export const releasePageRoutes = [
  repositoryPages.page({
    ...read,
    path: '/{owner}/{repo}/releases',
    handle: (request) => listView(request),
  }),
  repositoryPages.page({
    ...read,
    path: '/{owner}/{repo}/releases/tag/{tag}',
    takesRest: true,
    async handle(request) {
      const { view, services, user, params } = request
      const { tag } = params
      const found = await services.hosting.releases.find(user, view.name, { tag })
      if (found === undefined) throw missing(`release ${tag}`)
      const [release] = await present(request, [found.release], TEXT_BUDGET)
      return repositoryView(
        view,
        'releases',
        titleOf(found.release),
        <ReleaseView view={view} release={release!} heading="h1" />,
      )
    },
  }),
]

interface PresentedRelease extends ContentDetails<Release> {
  readonly text: RenderedText
  /** Whether the tag was pushed and is one of a commit, whose files the viewer can read. */
  readonly hasFiles: boolean
}

const present = async (
  request: RepositoryRequest,
  records: readonly Release[],
  budget: number,
): Promise<PresentedRelease[]> => {
  const { services, view, user, client } = request
  const details = await services.store.read((tx) =>
    contentDetails(tx, user, view.repository, 'release', records),
  )
  const open = view.parts.has('code') ? services.hosting.contents?.of(view.repository, client) : undefined
  const presented: PresentedRelease[] = []
  const options = { mode: 'comment', context: view.path, budget } as const
  for (const release of details) {
    const hasFiles =
      open !== undefined && (await commitOf(open, `refs/tags/${release.record.tag}`)) !== undefined
    presented.push({ ...release, hasFiles, text: await renderText(request, release.record.body, options) })
  }
  return presented
}

const listView = async (request: RepositoryRequest): Promise<View> => {
  const { services, view, query } = request
  const number = pageNumber(query)
  const slice = { offset: (number - 1) * PAGE_SIZE, limit: PAGE_SIZE }
  const found = await services.hosting.releases.list(request.user, view.name, {}, slice)
  const { items, total } = found?.page ?? { items: [], total: 0 }
  const releases = await present(request, items, LIST_BUDGET)
  return repositoryView(
    view,
    'releases',
    'Releases',
    <>
      {releases.length === 0 ? (
        <Section id="releases" title="Releases">
          <EmptyPage total={total}>
            <NoReleases view={view} />
          </EmptyPage>
        </Section>
      ) : (
        releases.map((release) => (
          <ReleaseView key={release.record.id} view={view} release={release} heading="h2" />
        ))
      )}
      <Pages
        to={(page) => `${view.path}/releases?page=${page}`}
        page={number}
        total={total}
        size={PAGE_SIZE}
      />
    </>,
    'Releases',
  )
}

const NoReleases = ({ view: { path, permissions, repository } }: { view: RepositoryView }) => (
  <Empty title="No releases" icon="tag">
    {permissions.push && !repository.archived ? (
      <>
        <p>Create a release of a tag that you have pushed:</p>
        <RequestCommand
          scopes={['write:repository']}
          path={`/repos${path}/releases`}
          body={{ tag_name: 'v1.0.0', name: 'First release' }}
        />
      </>
    ) : (
      <p>There is nothing here that you can see.</p>
    )}
  </Empty>
)

/** A migrated release can be without a title. */
const titleOf = ({ name, tag }: Release): string => name || tag

const ReleaseView = ({
  view,
  release: { record, author, attachments, text, hasFiles },
  heading: Heading,
}: {
  view: RepositoryView
  release: PresentedRelease
  heading: 'h1' | 'h2'
}) => {
  const path = `${view.path}/releases/tag/${encodePath(record.tag)}`
  return (
    <article class="card release">
      <div class="section-head">
        <Heading>
          {Heading === 'h1' ? <bdi>{titleOf(record)}</bdi> : <NameLink to={path}>{titleOf(record)}</NameLink>}
        </Heading>
        <span>
          {record.draft && <span class="tag">draft</span>}{' '}
          {record.prerelease && <span class="tag">prerelease</span>}
        </span>
      </div>
      <p class="small">
        <Dots
          facts={[
            <>
              <Icon name="tag" />{' '}
              {hasFiles ? (
                <Link
                  to={filePath(view, { kind: 'tag', name: record.tag }, '')}
                  label={`Files of ${record.tag}`}
                >
                  <bdi>{record.tag}</bdi>
                </Link>
              ) : (
                <bdi>{record.tag}</bdi>
              )}
            </>,
            <>
              {record.publishedAt === null ? 'created' : 'published'} on{' '}
              <Day seconds={record.publishedAt ?? record.createdAt} /> by <AccountLink account={author} />
            </>,
          ]}
        />
      </p>
      {record.body !== '' && <Prose text={text} {...(Heading === 'h2' ? { more: path } : {})} />}
      <AttachedFiles files={attachments} />
    </article>
  )
}
