/** The diff of a commit, line by line, as far as it fits on a page. */
import type { Commit } from '../../git/objects/parse.ts'
import { successOf } from '../../git/processes.ts'
import { decodeLines, pathText } from '../../git/text.ts'
import { escapeHtml } from '../../markdown/html.ts'
import { treesOf } from '../../repositories/contents/changes.ts'
import type { OpenRepository } from '../../repositories/contents/open-repository.ts'
import { Link } from '../parts/components.tsx'

/** The changes of one file, as lines of HTML. */
interface FileDiff {
  /** Path of the file. */
  readonly path: string
  readonly html: string
}

interface CommitDiff {
  readonly files: readonly FileDiff[]
  /** Whether there is more. */
  readonly isCut: boolean
}

/** Bytes of git's output that are read, and of HTML that is made of them. */
const MAX_READ = 64 * 1024
const MAX_HTML = 60 * 1024
const MAX_LINE = 1000

/** Nothing of the repository is run: neither external diffs nor text conversions. */
const OPTIONS = ['-p', '--no-ext-diff', '--no-textconv', '--no-color', '--no-renames']

/**
 * @param rawUrl the address of a whole file at the commit, or at its first parent, to which a long line leads
 */
export const readDiff = async (
  { git, access }: OpenRepository,
  commit: Commit,
  rawUrl: (commit: string, path: string) => string,
): Promise<CommitDiff> => {
  const child = await git.start(access, 'diff-tree', [...OPTIONS, ...treesOf(commit)])
  child.stdin.end()
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      if (size > MAX_READ) break
    }
    if (size <= MAX_READ) await successOf(child)
  } finally {
    child.stop()
  }
  const lines = decodeLines(Buffer.concat(chunks), size > MAX_READ)
  if (lines.at(-1) === '') lines.pop()
  return presentDiff(lines, {
    isCut: size > MAX_READ,
    wholeFile: (isOld, path) => rawUrl((isOld && commit.parents[0]) || commit.id, path),
  })
}

/** Lines before the first hunk of a file that say what its heading says. */
const HEADER = /^(?:index |--- |\+\+\+ |old mode|new mode|new file|deleted file|similarity)/

/** The next lines of the file before the commit and of the file after it. */
interface Position {
  before: number
  after: number
}

interface DiffInput {
  readonly isCut: boolean
  /** Address of the file, which a line that is cut leads to. */
  wholeFile(isOld: boolean, path: string): string
}

const presentDiff = (lines: readonly string[], { isCut, wholeFile }: DiffInput): CommitDiff => {
  const files: { path: string; html: string }[] = []
  const next: Position = { before: 0, after: 0 }
  let size = 0
  let isHeader = true
  for (const line of lines) {
    if (line.startsWith('diff --git ')) {
      files.push({ path: pathOf(line), html: '' })
      isHeader = true
      continue
    }
    const file = files.at(-1)
    if (file === undefined || (isHeader && HEADER.test(line))) continue
    if (line.startsWith('@@')) isHeader = false
    const html = lineHtml(line, next, (isOld) => wholeFile(isOld, file.path))
    size += Buffer.byteLength(html)
    if (size > MAX_HTML) return { files, isCut: true }
    file.html += html
  }
  return { files, isCut }
}

/** `diff --git a/x b/x`: both halves are the same, since renames are not looked for. */
const pathOf = (line: string): string => {
  const names = line.slice('diff --git '.length)
  const half = names.slice((names.length + 1) / 2)
  return half.startsWith('"') ? unquoted(half.slice(1, -1)).slice(2) : half.slice(2) || names
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/** Reads a path as git quotes it (`core.quotePath`): bytes that are not ASCII are octal escapes. */
const unquoted = (text: string): string => {
  const bytes = text.replace(/\\([0-7]{3}|.)/g, (_whole, code: string) =>
    code.length === 3 ? String.fromCharCode(Number.parseInt(code, 8)) : (ESCAPES[code] ?? code),
  )
  return pathText(Buffer.from(bytes, 'latin1'))
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)/
const ELEMENTS: Readonly<Record<string, string>> = { '+': 'ins', '-': 'del', ' ': 'span' }

/**
 * One line of a diff, with its numbers as attributes: the style sheet shows them, so that they are not copied
 * with the text.
 * @param next the numbers of the line, which are moved on
 */
const lineHtml = (line: string, next: Position, wholeFile: (isOld: boolean) => string): string => {
  const element = ELEMENTS[line.charAt(0)]
  if (element === undefined) {
    const [, before, after] = HUNK.exec(line) ?? []
    if (before !== undefined) Object.assign(next, { before: Number(before), after: Number(after) })
    return `<b>${shortened(line, () => wholeFile(false))}\n</b>`
  }
  const old = element === 'ins' ? '' : ` data-b="${next.before++}"`
  const now = element === 'del' ? '' : ` data-a="${next.after++}"`
  return `<${element}${old}${now}>${shortened(line, () => wholeFile(element === 'del'))}\n</${element}>`
}

const shortened = (line: string, wholeFile: () => string): string =>
  line.length <= MAX_LINE
    ? escapeHtml(line)
    : `${escapeHtml(line.slice(0, MAX_LINE).toWellFormed())} ${restOfLine(wholeFile())}`

/** Leads from a line that is cut to the file that has all of it. */
export const restOfLine = (rawUrl: string): string =>
  `<a href="${escapeHtml(rawUrl)}" title="Download the file, with all of this line">… line cut: download the file</a>`

export const Diff = ({
  diff: { files, isCut },
  pageOf,
}: {
  diff: CommitDiff
  /** @returns the page of a file at the commit; undefined when the commit has removed it */
  pageOf: (path: string) => string | undefined
}) => (
  <>
    {files.map(({ path, html }, index) => (
      <section key={path} class="file" id={`diff-${index}`} aria-labelledby={`file-${index}`}>
        <h2 id={`file-${index}`}>
          <FileName path={path} to={pageOf(path)} />
        </h2>
        {html.trim() === '' ? (
          <p class="small">Only its mode changed, or it is empty.</p>
        ) : (
          <pre class="diff" dangerouslySetInnerHTML={{ __html: html }} />
        )}
      </section>
    ))}
    {isCut && (
      <p class="small">There are more changes than fit on a page: clone the repository to see all.</p>
    )}
  </>
)

const FileName = ({ path, to }: { path: string; to: string | undefined }) =>
  to === undefined ? (
    <bdi>{path}</bdi>
  ) : (
    <Link to={to} class="quiet">
      <bdi>{path}</bdi>
    </Link>
  )
