/** Branches and tags: their pages, the choice of one, and the commit that the path of a page names. */

import { OBJECT_ID } from '../../git/objects/parse.ts'
import { readCommits } from '../../repositories/contents/commits.ts'
import type { FoundEntry } from '../../repositories/contents/files.ts'
import type { OpenCommit } from '../../repositories/contents/open-repository.ts'
import { listBranches, listTags, type Ref, shortName } from '../../repositories/contents/refs.ts'
import { Empty, Link, NameLink, StrongLink } from '../parts/components.tsx'
import { Dots } from '../parts/inline.tsx'
import { List, Row } from '../parts/list.tsx'
import { pageNumber, sliceOf } from '../parts/paging.tsx'
import { Day } from '../parts/times.tsx'
import {
  filePath,
  missing,
  type RefName,
  type RepositoryRequest,
  type RepositoryView,
  refPath,
  refTitle,
  repositoryPages,
  repositoryView,
} from './access.tsx'

/** A commit, and its name in the path of the page. */
export interface NamedCommit {
  readonly open: OpenCommit
  readonly ref: RefName
  /** The rest of the path: a file or a folder. */
  readonly path: string
}

/** A file or a folder of a named commit. */
export interface NamedEntry extends Pick<NamedCommit, 'open' | 'ref'> {
  readonly found: FoundEntry
}

/** Segments of the name of a branch in the path of a page. */
const MAX_SEGMENTS = 12

/**
 * What each kind can mean, the most likely first: `html_url`s say `branch` of everything that a client has
 * named. A whole path is tried with one prefix before the next: no branch is the beginning of another, but a
 * tag or an id can be that of a branch.
 */
const PREFIXES: Readonly<Record<RefName['kind'], readonly string[]>> = {
  branch: ['refs/heads/', 'refs/tags/', ''],
  tag: ['refs/tags/'],
  commit: [''],
}

/**
 * Finds the commit that a path begins with.
 * @param rest such as `branch/feature/x/docs/README.md`
 * @throws AllotError not_found
 */
export const findNamed = async (
  { services: { hosting }, view: { name }, user, client }: RepositoryRequest,
  rest: string,
): Promise<NamedCommit> => {
  const [kind = '', ...segments] = rest.split('/')
  if (isRefKind(kind))
    for (const prefix of PREFIXES[kind])
      for (const title of titlesIn(kind, segments)) {
        const open = await hosting.contents?.openAt(user, name, prefix + title, client)
        if (open !== undefined)
          return { open, ref: { kind, name: title }, path: segments.join('/').slice(title.length + 1) }
      }
  throw missing(`branch, tag or commit ${rest}`)
}

const isRefKind = (kind: string): kind is RefName['kind'] => Object.hasOwn(PREFIXES, kind)

/** The names that the beginning of a path can be. */
const titlesIn = (kind: RefName['kind'], segments: readonly string[]): string[] =>
  kind === 'commit'
    ? segments.slice(0, 1).filter((id) => OBJECT_ID.test(id))
    : segments.slice(0, MAX_SEGMENTS).map((_, index) => segments.slice(0, index + 1).join('/'))

/** Branches and tags that the choice lists; the pages list all. */
const MAX_CHOICES = 15

interface Choices {
  readonly branches: readonly Ref[]
  readonly tags: readonly Ref[]
}

export const readChoices = async (open: OpenCommit): Promise<Choices> => {
  const slice = { offset: 0, limit: MAX_CHOICES }
  // One after another: together, they would wait for each other where the client's share is one git command.
  const branches = await listBranches(open, slice)
  const tags = await listTags(open, slice)
  return { branches: branches.items, tags: tags.items.filter(isOfCommit) }
}

/** Whether there are pages of its files: not of a tag of a tree or of a blob. */
const isOfCommit = ({ targetType }: Ref): boolean => targetType === 'commit'

/** A choice of branches and tags that works without a script. */
export const RefChoice = ({
  view,
  chosen,
  choices: { branches, tags },
  to,
}: {
  view: RepositoryView
  chosen: RefName
  choices: Choices
  /** @returns the path of the same page for another branch or tag */
  to: (ref: RefName) => string
}) => (
  <details class="choice">
    <summary class="button secondary small">
      <span class="muted">{chosen.kind}</span> <bdi>{refTitle(chosen)}</bdi>
    </summary>
    <div class="card">
      <RefList title="Branches" refs={branches} kind="branch" to={to} />
      <RefList title="Tags" refs={tags} kind="tag" to={to} />
      <p class="small">
        <Dots
          facts={[
            <Link to={`${view.path}/branches`}>All branches</Link>,
            <Link to={`${view.path}/tags`}>All tags</Link>,
          ]}
        />
      </p>
    </div>
  </details>
)

const RefList = ({
  title,
  refs,
  kind,
  to,
}: {
  title: string
  refs: readonly Ref[]
  kind: 'branch' | 'tag'
  to: (ref: RefName) => string
}) =>
  refs.length === 0 ? null : (
    <>
      <p class="small">{title}</p>
      <ul class="plain">
        {refs.map((ref) => (
          <li key={ref.ref}>
            <NameLink to={to({ kind, name: shortName(ref) })}>{shortName(ref)}</NameLink>
          </li>
        ))}
      </ul>
    </>
  )

const listPage = (kind: 'branch' | 'tag') => {
  const [tab, title, list] =
    kind === 'branch'
      ? (['branches', 'Branches', listBranches] as const)
      : (['tags', 'Tags', listTags] as const)
  return repositoryPages.page({
    path: `/{owner}/{repo}/${tab}`,
    part: 'code',
    async handle({ view, user, client, query, services }) {
      const open = await services.hosting.contents?.open(user, view.name, client)
      if (open === undefined) throw missing(title)
      const number = pageNumber(query)
      const { items, total } = await list(open, sliceOf(number))
      const commits = await readCommits(
        open,
        items.map(({ target }) => target),
      )
      const times = new Map(commits.map(({ id, committer }) => [id, committer.time]))
      return repositoryView(
        view,
        tab,
        title,
        <List
          id={tab}
          title={title}
          counted={[kind, tab]}
          items={items}
          total={total}
          page={number}
          to={(to) => `${view.path}/${tab}?page=${to}`}
          empty={
            <Empty title={`No ${tab}`} icon={kind}>
              <p>
                Push one with <code>git push origin {kind === 'tag' ? 'v1.0' : 'main'}</code>
              </p>
            </Empty>
          }
          row={(ref) => (
            <RefRow key={ref.ref} view={view} kind={kind} found={ref} time={times.get(ref.target)} />
          )}
        />,
        title,
      )
    },
  })
}

interface RefRowProps {
  view: RepositoryView
  kind: 'branch' | 'tag'
  found: Ref
  time: number | undefined
}

const RefRow = ({ view, kind, found, time }: RefRowProps) => {
  const ref = { kind, name: shortName(found) }
  const isDefault = kind === 'branch' && ref.name === view.repository.defaultBranch
  const facts = [
    <Link to={`${view.path}/commit/${found.target}`}>
      <code>{found.target.slice(0, 10)}</code>
    </Link>,
    time !== undefined && <Day seconds={time} />,
    <Link to={`${view.path}/commits/${refPath(ref)}`} label={`Commits of ${ref.name}`}>
      Commits
    </Link>,
  ]
  return (
    <Row
      icon={kind}
      name={
        <>
          {isOfCommit(found) ? (
            <StrongLink to={filePath(view, ref, '')}>{ref.name}</StrongLink>
          ) : (
            <bdi>{ref.name}</bdi>
          )}{' '}
          {isDefault && <span class="tag">default</span>}
        </>
      }
      aside={
        <div class="small">
          {!isOfCommit(found) && <span class="muted">Tag of a {found.targetType}, which has no page</span>}
          {time !== undefined && <Dots facts={facts} />}
        </div>
      }
    />
  )
}

export const refPageRoutes = [listPage('branch'), listPage('tag')]
