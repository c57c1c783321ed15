/** The packages of a user or an organization, and one version with its files. */
import { canChangePackages } from '../../accounts/rights.ts'
import { packageDetails } from '../../content/details.ts'
import { fileOfPackage } from '../../content/downloads.ts'
import { downloadPath, type PackageName } from '../../content/packages/names.ts'
import type { FoundVersion } from '../../content/packages/versions.ts'
import { existing } from '../../errors.ts'
import { fileReply } from '../../http/responses.ts'
import type { PackageFile, PackageVersion } from '../../records/schema/index.ts'
import { Command, quoted, TOKEN_HEADER, TokenCommand } from '../parts/command.tsx'
import {
  Empty,
  formatCount,
  NameLink,
  PageHead,
  Section,
  Size,
  StrongLink,
  usePageContext,
} from '../parts/components.tsx'
import { Dots, Named } from '../parts/inline.tsx'
import { Facts, List, Row, Table } from '../parts/list.tsx'
import { pageNumber, sliceOf } from '../parts/paging.tsx'
import { page } from '../parts/route.ts'
import { maySeeStorage } from '../parts/storage-scopes.ts'
import { Dated, Day } from '../parts/times.tsx'
import { AccountHead, AccountTabs, visibleOwner } from './account.tsx'
import { AccountLink } from './account-parts.tsx'

const read = { auth: 'optional', scope: 'read:package', kind: 'package' } as const

const versionPath = ({ owner, type, name, version }: PackageName): string =>
  `/${owner}/-/packages/${[type, name, version].map(encodeURIComponent).join('/')}`

export const packagePageRoutes = [
  page({
    ...read,
    path: '/{owner}/-/packages',
    async handle({ user, params, query }, services) {
      const owner = await visibleOwner(services, user, params.owner)
      const number = pageNumber(query)
      const found = await services.hosting.packages.list(user, owner.name, {}, sliceOf(number))
      const { items, total = 0 } = found?.page ?? { items: [] }
      const isOwn = user !== null && (await maySeeStorage(services, user, owner))
      const mayUpload =
        user !== null &&
        (user.admin || (await services.store.read((tx) => canChangePackages(tx, user.id, owner.id))))
      return {
        title: `Packages of ${owner.name}`,
        body: (
          <>
            <AccountHead account={owner} user={isOwn ? user : null} />
            <AccountTabs name={owner.name} packages />
            <List
              id="packages"
              title="Packages"
              counted="version"
              items={items}
              total={total}
              page={number}
              to={(to) => `/${owner.name}/-/packages?page=${to}`}
              empty={<NoPackages owner={owner.name} mayUpload={mayUpload} />}
              row={(version) => <VersionRow key={version.id} owner={owner.name} version={version} />}
            />
          </>
        ),
      }
    },
  }),
  page({
    ...read,
    path: '/{owner}/-/packages/{type}/{name}/{version}',
    async handle({ user, params }, services) {
      const { hosting, store } = services
      await visibleOwner(services, user, params.owner)
      const found = required(await hosting.packages.find(user, params))
      const files = required(await hosting.packages.files(user, params))
      const isPublic = user === null || (await hosting.packages.find(null, params)) !== undefined
      const [details] = await store.read((tx) => packageDetails(tx, user, found.owner, [found.version]))
      return {
        title: `${found.version.name} ${found.version.version}`,
        crumbs: [
          { name: found.owner.name, to: `/${found.owner.name}` },
          { name: 'Packages', to: `/${found.owner.name}/-/packages` },
        ],
        body: (
          <>
            <PageHead
              title={
                <>
                  <bdi>{found.version.name}</bdi> <bdi class="muted">{found.version.version}</bdi>
                </>
              }
              subtitle={
                <Dots
                  facts={[
                    `${found.version.type} package`,
                    <>
                      published on <Day seconds={found.version.createdAt} /> by{' '}
                      <AccountLink account={details!.creator} />
                    </>,
                  ]}
                />
              }
            />
            <Files found={found} files={files} isPublic={isPublic} />
          </>
        ),
      }
    },
  }),
  page({
    ...read,
    path: '/{owner}/-/packages/{type}/{name}/{version}/{file}',
    async handle({ user, params }, services) {
      await visibleOwner(services, user, params.owner)
      const { packages, files } = services.hosting
      const file = required(await packages.file(user, params, params.file))
      return async ({ headers }) => fileReply(headers, fileOfPackage(files, file))
    },
  }),
]

const VersionRow = ({ owner, version }: { owner: string; version: PackageVersion }) => (
  <Row
    icon="packages"
    name={
      <>
        <StrongLink to={versionPath({ ...version, owner })}>{version.name}</StrongLink>{' '}
        <bdi>{version.version}</bdi> <span class="tag">{version.type}</span>
      </>
    }
    aside={
      <Facts
        facts={[
          <>
            <Size bytes={version.size} /> in {formatCount(version.files, 'file')}
          </>,
          <Dated seconds={version.createdAt}>published</Dated>,
        ]}
      />
    }
  />
)

const NoPackages = ({ owner, mayUpload }: { owner: string; mayUpload: boolean }) => {
  const { urls } = usePageContext()
  const names = { owner, type: 'generic', name: 'hello', version: '1.0.0' } as const
  return (
    <Empty title="No packages" icon="packages">
      {!mayUpload ? (
        <p>There is nothing here that you can see.</p>
      ) : urls === undefined ? (
        <p>
          Upload a file with <code>{`PUT /api/packages/${owner}/generic/…`}</code>
        </p>
      ) : (
        <>
          <p>Upload a file:</p>
          <TokenCommand
            scopes={['write:package']}
            text={`echo hello > hello.txt\ncurl ${TOKEN_HEADER} \\\n  -T hello.txt ${quoted(urls.site + downloadPath(names, 'hello.txt'))}`}
          />
        </>
      )}
    </Empty>
  )
}

/** @throws AllotError not_found */
const required = <T,>(found: T | undefined): T => existing(found, 'there is no such package')

const Files = ({
  found: { owner, version },
  files,
  isPublic,
}: {
  found: FoundVersion
  files: readonly PackageFile[]
  /** Whether everyone can download it. */
  isPublic: boolean
}) => {
  const { urls } = usePageContext()
  const [first] = files
  const path = { ...version, owner: owner.name }
  return (
    <>
      <Section
        id="files"
        title="Files"
        aside={<span class="small">{formatCount(files.length, 'file')}</span>}
      >
        <Table
          items={files}
          keyOf={({ id }) => id}
          columns={[
            {
              head: 'File',
              cell: ({ name, sha256 }) => (
                <Named icon="file">
                  <NameLink to={`${versionPath(path)}/${encodeURIComponent(name)}`}>{name}</NameLink>
                  <div class="small">
                    SHA-256 <code class="id">{sha256}</code>
                  </div>
                </Named>
              ),
            },
            { head: 'Size', class: 'number', cellClass: 'muted', cell: ({ size }) => <Size bytes={size} /> },
          ]}
        />
      </Section>
      {first !== undefined && urls !== undefined && (
        <Section id="download" title={isPublic ? 'Download' : 'Download with a token'}>
          <DownloadCommand url={urls.site + downloadPath(path, first.name)} isPublic={isPublic} />
        </Section>
      )}
    </>
  )
}

const DownloadCommand = ({ url, isPublic }: { url: string; isPublic: boolean }) =>
  isPublic ? (
    <Command text={`curl -O ${quoted(url)}`} />
  ) : (
    <TokenCommand scopes={['read:package']} text={`curl -O ${TOKEN_HEADER} ${quoted(url)}`} />
  )
