/** The first page of a repository: what it is, how to clone it, its files and its README. */
import type { RenderableProps } from 'preact'
import { type Commit, MODES } from '../../git/objects/parse.ts'
import { readCommit } from '../../repositories/contents/commits.ts'
import type { OpenCommit } from '../../repositories/contents/open-repository.ts'
import { listTags } from '../../repositories/contents/refs.ts'
import { Command, quoted } from '../parts/command.tsx'
import { formatCount, Link, NameLink, Section, Size, usePageContext } from '../parts/components.tsx'
import { Dots, Icon } from '../parts/inline.tsx'
import { maySeeStorage } from '../parts/storage-scopes.ts'
import { Dated, Day } from '../parts/times.tsx'
import { Website } from '../people/account-parts.tsx'
import type { IconName } from '../styles/icons.ts'
import {
  defaultRef,
  filePath,
  RepositoryHead,
  type RepositoryRequest,
  type RepositoryView,
  repositoryPages,
} from './access.tsx'
import { Author, authorsOf, type People, subjectOf } from './commits.tsx'
import { folderBody } from './files.tsx'
import { RefChoice, readChoices } from './refs.tsx'

export const homePageRoutes = [
  repositoryPages.page({
    path: '/{owner}/{repo}',
    async handle(request) {
      const { view, services, user } = request
      const { owner, name } = view.name
      const addresses = addressesOf(request)
      const isLinked = user !== null && (await maySeeStorage(services, user, view.owner))
      return {
        title: `${owner}/${name}`,
        body: (
          <>
            <RepositoryHead view={view} tab="code" />
            <h1 class="hidden">
              {owner}/{name}
            </h1>
            <div class="beside">
              <div>{await codeBody(request, addresses)}</div>
              <div>
                <About view={view} />
                <Clone addresses={addresses} />
                <Storage view={view} isLinked={isLinked} />
              </div>
            </div>
          </>
        ),
      }
    },
  }),
]

/** The clone addresses of the repository that this server serves. */
interface Addresses {
  readonly http: string | undefined
  readonly ssh: string | undefined
}

const addressesOf = ({ services, view, site, pagesUrl }: RepositoryRequest): Addresses => {
  const { settings, htmlUrls } = services
  const { path, parts } = view
  if (!parts.has('code')) return { http: undefined, ssh: undefined }
  const ssh = htmlUrls.ssh.of(path.slice(1), new URL(site ?? pagesUrl).hostname)
  return {
    http: settings.clones && site !== undefined ? `${site}${path}.git` : undefined,
    ssh: ssh === '' ? undefined : ssh,
  }
}

const codeBody = async (request: RepositoryRequest, addresses: Addresses) => {
  const { view, services, user, client } = request
  if (!view.parts.has('code'))
    return (
      <Section id="code" title="Code">
        <p class="muted">The files of this repository are not shown here.</p>
      </Section>
    )
  const open = await services.hosting.contents?.openAt(user, view.name, '', client)
  if (open === undefined)
    return <FirstPush view={view} addresses={addresses} hasTags={await hasTags(request)} />
  const last = await readCommit(open, open.commit)
  const ref = defaultRef(view)
  const root = { path: '', entry: { mode: MODES.tree, name: '', id: await rootOf(open) } }
  return (
    <>
      <div class="toolbar">
        <RefChoice
          view={view}
          chosen={ref}
          choices={await readChoices(open)}
          to={(other) => filePath(view, other, '')}
        />
        {last && <LastCommit view={view} commit={last} people={await authorsOf(request, [last])} />}
      </div>
      {await folderBody(request, { open, ref, found: root })}
    </>
  )
}

const hasTags = async ({ services, view, user, client }: RepositoryRequest) => {
  const open = await services.hosting.contents?.open(user, view.name, client)
  return open !== undefined && (await listTags(open, { offset: 0, limit: 1 })).total > 0
}

const rootOf = async ({ git, access, commit }: OpenCommit): Promise<string> =>
  (await git.find(access, `${commit}^{tree}`))?.id ?? ''

const LastCommit = ({ view, commit, people }: { view: RepositoryView; commit: Commit; people: People }) => (
  <p class="small last">
    <Dots
      facts={[
        <Author author={commit.author} people={people} />,
        <Link to={`${view.path}/commit/${commit.id}`} class="quiet">
          <bdi>{subjectOf(commit)}</bdi>
        </Link>,
        <Day seconds={commit.committer.time} />,
      ]}
    />
  </p>
)

/** Instructions for a repository without branches. */
const FirstPush = ({
  view: { repository, name, path },
  addresses: { http, ssh },
  hasTags,
}: {
  view: RepositoryView
  addresses: Addresses
  hasTags: boolean
}) => {
  const { hasSessions, hasTokens } = usePageContext()
  const branch = quoted(repository.defaultBranch)
  const remote = `git remote add origin ${quoted(http ?? ssh ?? `…/${name.owner}/${name.name}.git`)}`
  const push = `git push -u origin ${branch}`
  return (
    <Section id="empty" title={hasTags ? 'No branch has been pushed yet' : 'Nothing has been pushed yet'}>
      {hasTags && (
        <p>
          The repository has <Link to={`${path}/tags`}>tags</Link> alone.
        </p>
      )}
      <p>Begin a new repository in an empty folder:</p>
      <Command
        text={[
          `echo ${quoted(`# ${name.name}`)} > README.md`,
          `git init -b ${branch}`,
          'git add README.md',
          'git commit -m "Begin"',
          remote,
          push,
        ].join('\n')}
      />
      <p>Or push a repository that you have:</p>
      <Command text={[remote, push].join('\n')} />
      {hasTokens && (
        <p class="small">
          Git asks for your user name, and for an access token{hasSessions && ' or your password'}.
        </p>
      )}
    </Section>
  )
}

const Fact = ({ icon, children }: RenderableProps<{ icon: IconName }>) => (
  <li class="iconic">
    <Icon name={icon} />
    {children}
  </li>
)

const Topics = ({ topics }: { topics: readonly string[] }) =>
  topics.length > 0 && (
    <li>
      {topics.map((topic) => (
        <>
          <span class="tag">{topic}</span>{' '}
        </>
      ))}
    </li>
  )

const About = ({ view: { repository, parent } }: { view: RepositoryView }) => {
  const { description, website, topics = [], stars, forks, watchers } = repository
  return (
    <Section id="about" title="About">
      {description === '' ? (
        <p class="muted">No description.</p>
      ) : (
        <p>
          <bdi>{description}</bdi>
        </p>
      )}
      <ul class="plain facts">
        {website !== '' && (
          <Fact icon="link">
            <Website url={website} />
          </Fact>
        )}
        {parent !== null && (
          <Fact icon="fork">
            <span>
              Forked from{' '}
              <NameLink to={`/${parent.owner.name}/${parent.repository.name}`}>
                {parent.owner.name}/{parent.repository.name}
              </NameLink>
            </span>
          </Fact>
        )}
        <Topics topics={topics} />
        <Fact icon="star">{formatCount(stars, 'star')}</Fact>
        <Fact icon="fork">{formatCount(forks, 'fork')}</Fact>
        <Fact icon="eye">{formatCount(watchers, 'watcher')}</Fact>
        <Fact icon="repositories">
          <span>
            <Dated seconds={repository.createdAt}>Created on</Dated>
          </span>
        </Fact>
        <Fact icon="history">
          <span>
            <Dated seconds={repository.updatedAt}>Updated on</Dated>
          </span>
        </Fact>
      </ul>
    </Section>
  )
}

const Clone = ({ addresses: { http, ssh } }: { addresses: Addresses }) =>
  http === undefined && ssh === undefined ? null : (
    <Section id="clone" title="Clone">
      {http !== undefined && <Address name="HTTP" url={http} />}
      {ssh !== undefined && <Address name="SSH" url={ssh} />}
    </Section>
  )

const Address = ({ name, url }: { name: string; url: string }) => (
  <div class="address">
    <h3>{name}</h3>
    <code data-copy="">
      {url.split(/(?<=[/@])(?!\/)/).map((part) => (
        <>
          {part}
          <wbr />
        </>
      ))}
    </code>
  </div>
)

const Storage = ({ view: { repository, name }, isLinked }: { view: RepositoryView; isLinked: boolean }) => (
  <Section
    id="storage"
    title="Storage"
    aside={isLinked && <Link to={`/-/storage/${name.owner}/repositories/${name.name}`}>Details</Link>}
  >
    <dl class="values">
      {[
        ['Git data', repository.size] as const,
        ['LFS', repository.lfs] as const,
        ['Git and LFS', repository.size + repository.lfs] as const,
      ].map(([name, bytes]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <Size bytes={bytes} />
          </dd>
        </div>
      ))}
    </dl>
  </Section>
)
