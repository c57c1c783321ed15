/** Folders and files of a commit, and the bytes of a file. */

import { fileOfCommit } from '../../content/downloads.ts'
import { type Commit, MODES, type TreeEntry } from '../../git/objects/parse.ts'
import { decodeText } from '../../git/text.ts'
import { fileReply } from '../../http/responses.ts'
import {
  type FoundEntry,
  findEntry,
  followLinks,
  isMarkdown,
  isText,
  pageOfFolder,
  type SizedEntry,
  sizesOf,
} from '../../repositories/contents/files.ts'
import { lastCommitsIn } from '../../repositories/contents/last-commits.ts'
import type { OpenCommit } from '../../repositories/contents/open-repository.ts'
import { requireStill } from '../../repositories/write-access.ts'
import { formatCount, Link, NameLink, Section, Size } from '../parts/components.tsx'
import { Icon } from '../parts/inline.tsx'
import { EmptyPage, PAGES_ABOVE, Pages, pageNumber } from '../parts/paging.tsx'
import { Day } from '../parts/times.tsx'
import {
  filePath,
  missing,
  type RefName,
  type RepositoryRequest,
  type RepositoryView,
  refTitle,
  repositoryPages,
  repositoryView,
} from './access.tsx'
import { subjectOf } from './commits.tsx'
import { fileBody } from './file-view.tsx'
import { pictureType } from './picture-type.ts'
import { findNamed, type NamedEntry, RefChoice, readChoices } from './refs.tsx'
import { Prose, renderFile } from './rendered-text.tsx'

/** Entries of a folder on a page. */
const PAGE_SIZE = 100
/** Bytes of the HTML of a file that introduces a folder. */
const README_BUDGET = 40 * 1024
/** Bytes of a file that is read into memory; larger ones are streamed. */
const MAX_BUFFERED = 1024 * 1024

export const filePageRoutes = [
  repositoryPages.page({
    path: '/{owner}/{repo}/src/{rest}',
    takesRest: true,
    part: 'code',
    async handle(request) {
      const { view } = request
      const { open, ref, path } = await findNamed(request, request.params.rest)
      const found = await findEntry(open, path)
      if (found === undefined) throw missing(`file or folder ${path}`)
      const choices = await readChoices(open)
      const body = found.entry.mode === MODES.tree ? folderBody : fileBody
      return repositoryView(
        view,
        'code',
        path || refTitle(ref),
        <>
          <div class="toolbar">
            <RefChoice
              view={view}
              chosen={ref}
              choices={choices}
              to={(other) => filePath(view, other, path)}
            />
            <PathCrumbs view={view} at={ref} path={path} />
          </div>
          {await body(request, { open, ref, found })}
        </>,
      )
    },
  }),
  repositoryPages.page({
    path: '/{owner}/{repo}/raw/{rest}',
    takesRest: true,
    part: 'code',
    async handle(request) {
      const { view, services, params, whileAllowed } = request
      const { open, path } = await findNamed(request, params.rest)
      const found = await findEntry(open, path)
      const isFile =
        found !== undefined && found.entry.mode !== MODES.tree && found.entry.mode !== MODES.submodule
      if (!isFile) throw missing(`file ${path}`)
      const { id } = view.repository
      whileAllowed((user) => services.store.read((tx) => requireStill(tx, user, id, 'read')))
      return async ({ headers, signal }) => {
        const file = await fileOfCommit(open, found, signal, services.hosting)
        return fileReply(headers, { ...file, type: pictureType(file.name) ?? file.type })
      }
    },
  }),
]

/** The folders above a file, each with a link. */
const PathCrumbs = ({ view, at, path }: { view: RepositoryView; at: RefName; path: string }) => {
  const names = path === '' ? [] : path.split('/')
  return (
    <h1 class="path">
      <NameLink to={filePath(view, at, '')}>{view.name.name}</NameLink>
      {names.map((name, index) => (
        <>
          {' / '}
          {index === names.length - 1 ? (
            <bdi>{name}</bdi>
          ) : (
            <NameLink to={filePath(view, at, names.slice(0, index + 1).join('/'))}>{name}</NameLink>
          )}
        </>
      ))}
    </h1>
  )
}

/** The entries of a folder, and the text that introduces it. */
export const folderBody = async (request: RepositoryRequest, { open, ref, found }: NamedEntry) => {
  const { view } = request
  const number = pageNumber(request.query)
  const slice = { offset: (number - 1) * PAGE_SIZE, limit: PAGE_SIZE }
  const { items, total, readme } = await pageOfFolder(open, found, slice)
  const names = items.map(({ entry }) => entry.name)
  const commits = await lastCommitsIn(open, found.path, names)
  const shown = number === 1 && readme !== undefined ? await readmeOf(open, readme) : undefined
  const text = shown && (await renderFile(request, { ref, path: shown.path }, shown.text, README_BUDGET))
  const pages = (label?: string) => (
    <Pages
      to={(page) => `${filePath(view, ref, found.path)}?page=${page}`}
      page={number}
      total={total}
      size={PAGE_SIZE}
      count={formatCount(total, 'entry', 'entries')}
      label={label}
    />
  )
  return (
    <>
      <section aria-labelledby="files" class="flush">
        <h2 id="files" class="hidden">
          Files
        </h2>
        {pages(PAGES_ABOVE)}
        {items.length === 0 && <EmptyPage total={total} />}
        <ul class="plain entries">
          {items.map((entry) => (
            <EntryRow
              key={entry.path}
              view={view}
              at={ref}
              item={entry}
              commit={commits.get(entry.entry.name)}
            />
          ))}
        </ul>
        {items.length > 0 && pages()}
      </section>
      {text !== undefined && (
        <Section id="readme" title={shown!.name}>
          <Prose text={text} more={filePath(view, ref, readme!.path)} />
        </Section>
      )}
    </>
  )
}

/**
 * The text of a file that introduces a folder and may be a symbolic link, and the path of the file that has
 * the text; undefined when the file is too large, or is not text.
 */
const readmeOf = async (open: OpenCommit, readme: FoundEntry) => {
  const found = await followLinks(open, readme)
  if (found === undefined) return undefined
  const { path, entry } = found
  const [size = 0] = await sizesOf(open, [entry])
  const content = size > MAX_BUFFERED ? undefined : (await open.git.object(open.access, entry.id))?.content
  if (content === undefined || !isText(content)) return undefined
  const text = decodeText(content)
  return { path, name: readme.entry.name, text: isMarkdown(entry.name) ? text : fenced(text) }
}

/** Text of another format, which is shown as it is written. */
const fenced = (text: string): string => {
  let longest = 2
  for (const [run] of text.matchAll(/`+/g)) longest = Math.max(longest, run.length)
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${text}\n${fence}`
}

const KINDS: Readonly<Record<string, 'folder' | 'submodule' | 'link'>> = {
  [MODES.tree]: 'folder',
  [MODES.submodule]: 'submodule',
  [MODES.symlink]: 'link',
}

/** Label of an entry that is not a file. */
const kindOf = ({ mode }: TreeEntry) => KINDS[mode]

const EntryRow = ({
  view,
  at,
  item: { path, entry, size },
  commit,
}: {
  view: RepositoryView
  at: RefName
  item: SizedEntry
  /** The last one that changed it; undefined when it was not found soon. */
  commit: Commit | undefined
}) => {
  const kind = kindOf(entry)
  return (
    <li class={kind ?? 'blob'}>
      <Link to={filePath(view, at, path)}>
        <Icon name={kind ?? 'file'} />
        <span>
          <bdi>{entry.name}</bdi>
          {kind === 'submodule' && <span class="muted"> @ {entry.id.slice(0, 10)}</span>}
        </span>
      </Link>
      {commit !== undefined && (
        <span class="changed small">
          <NameLink to={`${view.path}/commit/${commit.id}`}>{subjectOf(commit).slice(0, 80)}</NameLink>{' '}
          <Day seconds={commit.committer.time} />
        </span>
      )}
      <span class="small">
        {kind === undefined ? (
          <Size bytes={size} />
        ) : (
          <span class={kind === 'folder' ? 'hidden' : ''}>{kind}</span>
        )}
      </span>
    </li>
  )
}
