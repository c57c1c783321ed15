/** One file on a page: as text in parts, as rendered markdown, as a picture, or as a download. */

import { posix } from 'node:path'
import type { VNode } from 'preact'
import { lfsPointerIn } from '../../git/lfs-pointers.ts'
import { MODES } from '../../git/objects/parse.ts'
import { decodeText, pathText } from '../../git/text.ts'
import { isMarkdown, isText, sizesOf, submoduleUrls } from '../../repositories/contents/files.ts'
import { formatCount, Link, NameLink, Size, unbrokenSize } from '../parts/components.tsx'
import { Dots } from '../parts/inline.tsx'
import { PAGES_ABOVE, PageLinks } from '../parts/paging.tsx'
import { mountOf } from '../parts/route.ts'
import { Website } from '../people/account-parts.tsx'
import type { HighlightedLines } from '../source/highlighter.ts'
import { filePath, type RepositoryRequest } from './access.tsx'
import { ObjectId } from './commits.tsx'
import { restOfLine } from './diff.tsx'
import { pictureType } from './picture-type.ts'
import type { NamedEntry } from './refs.tsx'
import { Prose, renderFile } from './rendered-text.tsx'

/** Bytes of a file that is shown. */
const MAX_SHOWN = 2 * 1024 * 1024
/** Bytes of HTML of the lines on one page. */
const LINES_BUDGET = 75 * 1024
const TEXT_BUDGET = 75 * 1024

/** What the page shows of a file. */
interface Content {
  readonly body: VNode
  /** Number of lines of a source file. */
  readonly lines?: number
  /** Leads to the other one of the two views of markdown. */
  readonly other?: VNode | undefined
}

export const fileBody = async (request: RepositoryRequest, at: NamedEntry): Promise<VNode> => {
  const { entry, path } = at.found
  const [size = 0] = await sizesOf(at.open, [entry])
  const { body, lines, other } = await contentOf(request, at, size)
  const isFile = entry.mode !== MODES.submodule
  const pathIn = (page: string) => filePath(request.view, at.ref, path, page)
  return (
    <section aria-labelledby="content" class="flush">
      <h2 id="content" class="hidden">
        Content
      </h2>
      <div class="file-head">
        <span class="small">
          <Dots
            facts={[
              lines !== undefined && formatCount(lines, 'line'),
              isFile ? <Size bytes={size} /> : 'Submodule',
              entry.mode === MODES.executable && 'executable',
            ]}
          />
        </span>
        <span class="small links">
          {other}
          <Link to={pathIn('commits')}>History</Link>
          {isFile && entry.mode !== MODES.symlink && <Link to={pathIn('raw')}>Download</Link>}
        </span>
      </div>
      {body}
    </section>
  )
}

const said = (text: string): Content => ({ body: <p>{text}</p> })

const contentOf = async (
  request: RepositoryRequest,
  { open, ref, found }: NamedEntry,
  size: number,
): Promise<Content> => {
  const { view, services, query } = request
  const { entry, path } = found
  const { git, access } = open
  if (entry.mode === MODES.submodule) return submodule(entry.id, (await submoduleUrls(open)).get(path))
  const isLink = entry.mode === MODES.symlink
  if (size === 0) return said('The file is empty.')
  const to = filePath(view, ref, path)
  const raw = mountOf(request.pagesUrl) + filePath(view, ref, path, 'raw')
  if (pictureType(entry.name) !== undefined && !isLink)
    return { body: <img class="picture" src={raw} alt={entry.name} /> }
  if (size > MAX_SHOWN) return said('The file is too large to be shown.')
  const content = (await git.object(access, entry.id))?.content ?? Buffer.alloc(0)
  if (isLink) return symbolicLink(pathText(content), path, (target) => filePath(view, ref, target))
  const pointer = lfsPointerIn(content)
  if (pointer !== undefined) return said(`The file is kept by Git LFS and has ${unbrokenSize(pointer.size)}.`)
  if (!isText(content)) return said('The file is not text.')
  const text = decodeText(content)
  const hasViews = isMarkdown(entry.name)
  if (hasViews && !query.has('source') && !query.has('from')) {
    const source = `${to}?source=1`
    const rendered = await renderFile(request, { ref, path }, text, TEXT_BUDGET)
    return { body: <Prose text={rendered} more={source} />, other: <Link to={source}>Source</Link> }
  }
  const input = { text, fileName: entry.name }
  const lines = await services.highlighter.lines(request.client, input, restOfLine(raw))
  const body = <SourceLines lines={lines} wanted={Number(query.get('from') ?? 1)} to={to} />
  return { body, lines: lines.total, other: hasViews ? <Link to={to}>Preview</Link> : undefined }
}

const submodule = (commit: string, url: string | undefined): Content => ({
  body: (
    <p>
      Another repository
      {url !== undefined && (
        <>
          {', '}
          <Website url={url} />
        </>
      )}
      , at commit <ObjectId id={commit} />
    </p>
  ),
})

/**
 * @param path of the link
 * @param pathOf the path of the page of a file
 */
const symbolicLink = (text: string, path: string, pathOf: (file: string) => string): Content => {
  const target = text.slice(0, 1000).toWellFormed()
  const resolved = posix.join(posix.dirname(path), target).replace(/^\.$/, '')
  const isOutside = target.startsWith('/') || /^\.\.(?:\/|$)/.test(resolved)
  const link = isOutside ? <code>{target}</code> : <NameLink to={pathOf(resolved)}>{target}</NameLink>
  return { body: <p>A symbolic link to {link}.</p> }
}

type LineAt = HighlightedLines['lineAt']

const itemOf = (lineAt: LineAt, number: number): string => `<li id="L${number}">${lineAt(number)}\n`

/** Where the part begins that ends before a line. */
const partBefore = (lineAt: LineAt, end: number): number => {
  let from = end - 1
  for (let size = 0; from > 0; from--) {
    size += Buffer.byteLength(itemOf(lineAt, from))
    if (size > LINES_BUDGET && from < end - 1) break
  }
  return from + 1
}

interface SourceLinesProps {
  lines: HighlightedLines
  /** Number of the line to begin with. */
  wanted: number
  /** Path of the page. */
  to: string
}

/** The lines that fit on a page. */
const SourceLines = ({ lines: { total, lineAt, isColored }, wanted, to: path }: SourceLinesProps) => {
  const from = Number.isInteger(wanted) && wanted >= 1 && wanted <= total ? wanted : 1
  let html = ''
  let to = from - 1
  for (let size = 0; to < total; to++) {
    const line = itemOf(lineAt, to + 1)
    size += Buffer.byteLength(line)
    if (size > LINES_BUDGET && to >= from) break
    html += line
  }
  const partFrom = (line: number) => `${path}?from=${line}`
  const text = `Lines ${[from, to].map((line) => line.toLocaleString('en')).join(' to ')} of ${total.toLocaleString('en')}`
  const pages = (label?: string) => (
    <PageLinks
      text={text}
      first={from > 1 ? partFrom(1) : undefined}
      previous={from > 1 ? partFrom(partBefore(lineAt, from)) : undefined}
      next={to < total ? partFrom(to + 1) : undefined}
      last={to < total ? partFrom(partBefore(lineAt, total + 1)) : undefined}
      label={label}
    />
  )
  return (
    <>
      {pages(PAGES_ABOVE)}
      <ol
        class="source"
        start={from}
        // Source code begins at the left also where its first letters are written from the right.
        dir={isColored ? 'ltr' : 'auto'}
        aria-label="Lines of the file"
        dangerouslySetInnerHTML={{ __html: html }}
      />
      {pages()}
    </>
  )
}
