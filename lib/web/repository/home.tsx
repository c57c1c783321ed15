/** The first page of a repository: what it is, how to clone it, its files and its README. */
import { MODES } from '../../git/objects/parse.ts'
import { readCommit } from '../../repositories/contents/commits.ts'
import type { OpenCommit } from '../../repositories/contents/open-repository.ts'
import { listTags } from '../../repositories/contents/refs.ts'
import { Command, quoted } from '../parts/command.tsx'
import { formatCount, Link, Section, Size, usePageContext } from '../parts/components.tsx'
import { Dots, Icon } from '../parts/inline.tsx'
import type { PageRequest, PageServices } from '../parts/route.ts'
import { maySeeStorage } from '../parts/storage-scopes.ts'
import { Day } from '../parts/times.tsx'
import { Website } from '../people/account-parts.tsx'
import { defaultRef, filePath, RepositoryHead, type RepositoryView, repositoryPage } from './access.tsx'
import { Author, authorsOf, subjectOf } from './commits.tsx'
import { folderBody } from './files.tsx'
import { RefChoice, readChoices } from './refs.tsx'

export const homePageRoutes = [
  repositoryPage({
    path: '/{owner}/{repo}',
    async handle(view, request, services) {
      const { owner, name } = view.name
      const addresses = addressesOf(services, request, view)
      return {
        title: `${owner}/${name}`,
        body: (
          <>
            <RepositoryHead view={view} tab="code" />
            <h1 class="hidden">
              {owner}/{name}
            </h1>
            <div class="beside">
              <div>{await codeBody(services, request, view, addresses)}</div>
              <div>
                <About view={view} />
                <Clone addresses={addresses} />
                <Storage view={view} isLinked={await seesStorage(services, request, view)} />
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

const addressesOf = (
  { settings, htmlUrls }: PageServices,
  { site, pagesUrl }: PageRequest,
  { path, parts }: RepositoryView,
): Addresses => {
  if (!parts.has('code')) return { http: undefined, ssh: undefined }
  const ssh = htmlUrls.ssh.of(path.slice(1), new URL(site ?? pagesUrl).hostname)
  return {
    http: settings.clones && site !== undefined ? `${site}${path}.git` : undefined,
    ssh: ssh === '' ? undefined : ssh,
  }
}

const seesStorage = async (services: PageServices, { user }: PageRequest, { owner }: RepositoryView) =>
  user !== null && maySeeStorage(services, user, owner)

const codeBody = async (
  services: PageServices,
  request: PageRequest,
  view: RepositoryView,
  addresses: Addresses,
) => {
  const { hosting } = services
  if (!view.parts.has('code')) return <NoCode />
  const open = await hosting.contents?.openAt(request.user, view.name, '', request.client)
  if (open === undefined)
    return <FirstPush view={view} addresses={addresses} hasTags={await hasTags(services, request, view)} />
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
        <LastCommit view={view} commit={await readLast(services, request, open)} />
      </div>
      {await folderBody(services, request, view, { open, ref, found: root })}
    </>
  )
}

const hasTags = async (
  { hosting }: PageServices,
  { user, client }: PageRequest,
  { name }: RepositoryView,
) => {
  const open = await hosting.contents?.open(user, name, client)
  return open !== undefined && (await listTags(open, { offset: 0, limit: 1 })).total > 0
}

const rootOf = async ({ git, access, commit }: OpenCommit): Promise<string> =>
  (await git.find(access, `${commit}^{tree}`))?.id ?? ''

const readLast = async (services: PageServices, request: PageRequest, open: OpenCommit) => {
  const commit = await readCommit(open, open.commit)
  return commit && { commit, people: await authorsOf(services, request, [commit]) }
}

const LastCommit = ({
  view,
  commit: last,
}: {
  view: RepositoryView
  commit: Awaited<ReturnType<typeof readLast>>
}) =>
  last === undefined ? null : (
    <p class="small last">
      <Dots
        facts={[
          <Author author={last.commit.author} people={last.people} />,
          <Link to={`${view.path}/commit/${last.commit.id}`} class="quiet">
            <bdi>{subjectOf(last.commit)}</bdi>
          </Link>,
          <Day seconds={last.commit.committer.time} />,
        ]}
      />
    </p>
  )

const NoCode = () => (
  <Section id="code" title="Code">
    <p class="muted">The files of this repository are not shown here.</p>
  </Section>
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
          <li class="iconic">
            <Icon name="link" />
            <Website url={website} />
          </li>
        )}
        {parent !== null && (
          <li class="iconic">
            <Icon name="fork" />
            <span>
              Forked from{' '}
              <Link to={`/${parent.owner.name}/${parent.repository.name}`}>
                <bdi>
                  {parent.owner.name}/{parent.repository.name}
                </bdi>
              </Link>
            </span>
          </li>
        )}
        {topics.length > 0 && (
          <li>
            {topics.map((topic) => (
              <>
                <span class="tag">{topic}</span>{' '}
              </>
            ))}
          </li>
        )}
        <li class="iconic">
          <Icon name="star" />
          {formatCount(stars, 'star')}
        </li>
        <li class="iconic">
          <Icon name="fork" />
          {formatCount(forks, 'fork')}
        </li>
        <li class="iconic">
          <Icon name="eye" />
          {formatCount(watchers, 'watcher')}
        </li>
        <li class="iconic">
          <Icon name="repositories" />
          <span>
            Created on <Day seconds={repository.createdAt} />
          </span>
        </li>
        <li class="iconic">
          <Icon name="history" />
          <span>
            Updated on <Day seconds={repository.updatedAt} />
          </span>
        </li>
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
