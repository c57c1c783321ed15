/** One file on a page: as text in parts, as rendered markdown, as a picture, or as a download. */

import { posix } from 'node:path'
import { lfsPointerIn } from '../../git/lfs-pointers.ts'
import { MODES } from '../../git/objects/parse.ts'
import { decodeText, pathText } from '../../git/text.ts'
import { isMarkdown, isText, sizesOf, submoduleUrls } from '../../repositories/contents/files.ts'
import { formatCount, Link, NameLink, Size, usePageContext } from '../parts/components.tsx'
import { Dots } from '../parts/inline.tsx'
import { PAGES_ABOVE, PageLinks } from '../parts/paging.tsx'
import { mountOf, type PageRequest, type PageServices } from '../parts/route.ts'
import { unbrokenSize } from '../parts/sizes.ts'
import { Website } from '../people/account-parts.tsx'
import type { HighlightedLines } from '../source/highlighter.ts'
import { filePath, type RefName, type RepositoryView } from './access.tsx'
import { ObjectId } from './commits.tsx'
import { restOfLine } from './diff.tsx'
import { pictureType } from './picture-type.ts'
import type { NamedEntry } from './refs.tsx'
import { Prose, type RenderedText, renderText } from './rendered-text.tsx'

/** Bytes of a file that is shown. */
const MAX_SHOWN = 2 * 1024 * 1024
/** Bytes of HTML of the lines on one page. */
const LINES_BUDGET = 75 * 1024
const TEXT_BUDGET = 75 * 1024

interface Lines {
  readonly kind: 'lines'
  readonly html: string
  /** Numbers of the first and the last line on this page, and of all lines. */
  readonly from: number
  readonly to: number
  readonly total: number
  /** Where the part before this one begins, and where the last part does. */
  readonly previous: number
  readonly last: number
  /**
   * Whether they are source code, which begins at the left also where its first letters are written from the
   * right.
   */
  readonly isCode: boolean
}

type Shown =
  | Lines
  | { readonly kind: 'text'; readonly text: RenderedText }
  | { readonly kind: 'picture' }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'submodule'; readonly url: string | undefined; readonly commit: string }
  | { readonly kind: 'lfs'; readonly size: number }
  | { readonly kind: 'none'; readonly reason: string }

export interface FileContent {
  readonly shown: Shown
  readonly size: number
  readonly isExecutable: boolean
}

export const readFileView = async (
  services: PageServices,
  request: PageRequest,
  view: RepositoryView,
  at: NamedEntry,
): Promise<FileContent> => {
  const { open, found } = at
  const { entry } = found
  const [size = 0] = await sizesOf(open, [entry])
  const isExecutable = entry.mode === MODES.executable
  return { shown: await shownOf(services, request, view, at, size), size, isExecutable }
}

const shownOf = async (
  services: PageServices,
  request: PageRequest,
  view: RepositoryView,
  { open, ref, found }: NamedEntry,
  size: number,
): Promise<Shown> => {
  const { entry, path } = found
  const { git, access } = open
  if (entry.mode === MODES.submodule)
    return { kind: 'submodule', url: (await submoduleUrls(open)).get(path), commit: entry.id }
  const isLink = entry.mode === MODES.symlink
  if (size === 0) return { kind: 'none', reason: 'The file is empty.' }
  if (pictureType(entry.name) !== undefined && !isLink) return { kind: 'picture' }
  if (size > MAX_SHOWN) return { kind: 'none', reason: 'The file is too large to be shown.' }
  const content = (await git.object(access, entry.id))?.content ?? Buffer.alloc(0)
  if (isLink) return { kind: 'link', target: pathText(content).slice(0, 1000).toWellFormed() }
  const pointer = lfsPointerIn(content)
  if (pointer !== undefined) return { kind: 'lfs', size: pointer.size }
  if (!isText(content)) return { kind: 'none', reason: 'The file is not text.' }
  const text = decodeText(content)
  if (isMarkdown(entry.name) && !isSource(request)) {
    const folder = path.slice(0, Math.max(path.lastIndexOf('/'), 0))
    const rendered = await renderText(services, request, text, {
      mode: 'gfm',
      root: filePath(view, ref, ''),
      context: filePath(view, ref, folder),
      budget: TEXT_BUDGET,
    })
    return { kind: 'text', text: rendered }
  }
  const rest = restOfLine(mountOf(request.pagesUrl) + filePath(view, ref, path, 'raw'))
  const input = { text, fileName: entry.name }
  return linesFrom(
    await services.highlighter.lines(request.client, input, rest),
    Number(request.query.get('from') ?? 1),
  )
}

const isSource = ({ query }: PageRequest): boolean => query.has('source') || query.has('from')

type LineAt = HighlightedLines['lineAt']

const itemOf = (lineAt: LineAt, number: number): string => `<li id="L${number}">${lineAt(number)}\n`

/** The lines that fit on a page. */
const linesFrom = ({ total, lineAt, isColored }: HighlightedLines, wanted: number): Lines => {
  const from = Number.isInteger(wanted) && wanted >= 1 && wanted <= total ? wanted : 1
  let html = ''
  let to = from - 1
  for (let size = 0; to < total; to++) {
    const line = itemOf(lineAt, to + 1)
    size += Buffer.byteLength(line)
    if (size > LINES_BUDGET && to >= from) break
    html += line
  }
  return {
    kind: 'lines',
    html,
    from,
    to,
    total,
    previous: partBefore(lineAt, from),
    last: partBefore(lineAt, total + 1),
    isCode: isColored,
  }
}

/** Where the part begins that ends before a line. */
const partBefore = (lineAt: LineAt, end: number): number => {
  let from = end - 1
  for (let size = 0; from > 0; from--) {
    size += Buffer.byteLength(itemOf(lineAt, from))
    if (size > LINES_BUDGET && from < end - 1) break
  }
  return from + 1
}

interface FileViewProps {
  view: RepositoryView
  at: RefName
  path: string
  file: FileContent
}

export const FileView = ({ view, at, path, file }: FileViewProps) => {
  const { shown, size, isExecutable } = file
  const { urlOf } = usePageContext()
  const raw = filePath(view, at, path, 'raw')
  const isFile = shown.kind !== 'submodule'
  return (
    <section aria-labelledby="content" class="flush">
      <h2 id="content" class="hidden">
        Content
      </h2>
      <div class="file-head">
        <span class="small">
          <Dots
            facts={[
              shown.kind === 'lines' && formatCount(shown.total, 'line'),
              isFile ? <Size bytes={size} /> : 'Submodule',
              isExecutable && 'executable',
            ]}
          />
        </span>
        <span class="small links">
          <SourceLink view={view} at={at} path={path} shown={shown} />
          <Link to={filePath(view, at, path, 'commits')}>History</Link>
          {isFile && shown.kind !== 'link' && <a href={urlOf(raw)}>Download</a>}
        </span>
      </div>
      <Content view={view} at={at} path={path} shown={shown} raw={urlOf(raw)} />
    </section>
  )
}

/** Markdown has two views. */
const SourceLink = ({ view, at, path, shown }: Omit<FileViewProps, 'file'> & { shown: Shown }) => {
  const to = filePath(view, at, path)
  if (!isMarkdown(path) || (shown.kind !== 'text' && shown.kind !== 'lines')) return null
  return shown.kind === 'text' ? <Link to={`${to}?source=1`}>Source</Link> : <Link to={to}>Preview</Link>
}

const Content = ({
  view,
  at,
  path,
  shown,
  raw,
}: Omit<FileViewProps, 'file'> & { shown: Shown; raw: string }) => {
  if (shown.kind === 'lines') return <SourceLines lines={shown} to={filePath(view, at, path)} />
  if (shown.kind === 'text') return <Prose text={shown.text} more={`${filePath(view, at, path)}?source=1`} />
  if (shown.kind === 'picture')
    return <img class="picture" src={raw} alt={path.slice(path.lastIndexOf('/') + 1)} />
  if (shown.kind === 'link') return <SymbolicLink view={view} at={at} path={path} target={shown.target} />
  if (shown.kind === 'submodule')
    return (
      <p>
        Another repository
        {shown.url !== undefined && (
          <>
            {', '}
            <Website url={shown.url} />
          </>
        )}
        , at commit <ObjectId id={shown.commit} />
      </p>
    )
  return (
    <p>
      {shown.kind === 'lfs'
        ? `The file is kept by Git LFS and has ${unbrokenSize(shown.size)}.`
        : shown.reason}
    </p>
  )
}

const SymbolicLink = ({ view, at, path, target }: Omit<FileViewProps, 'file'> & { target: string }) => {
  const resolved = posix.join(posix.dirname(path), target).replace(/^\.$/, '')
  const isOutside = target.startsWith('/') || /^\.\.(?:\/|$)/.test(resolved)
  return (
    <p>
      A symbolic link to{' '}
      {isOutside ? <code>{target}</code> : <NameLink to={filePath(view, at, resolved)}>{target}</NameLink>}.
    </p>
  )
}

const SourceLines = ({ lines, to: path }: { lines: Lines; to: string }) => {
  const { html, from, to, total, previous, last, isCode } = lines
  const partFrom = (line: number) => `${path}?from=${line}`
  const text = `Lines ${[from, to].map((line) => line.toLocaleString('en')).join(' to ')} of ${total.toLocaleString('en')}`
  const pages = (label?: string) => (
    <PageLinks
      text={text}
      first={from > 1 ? partFrom(1) : undefined}
      previous={from > 1 ? partFrom(previous) : undefined}
      next={to < total ? partFrom(to + 1) : undefined}
      last={to < total ? partFrom(last) : undefined}
      label={label}
    />
  )
  return (
    <>
      {pages(PAGES_ABOVE)}
      <ol
        class="source"
        start={from}
        dir={isCode ? 'ltr' : 'auto'}
        aria-label="Lines of the file"
        dangerouslySetInnerHTML={{ __html: html }}
      />
      {pages()}
    </>
  )
}
