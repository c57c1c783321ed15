/** @jsxRuntime automatic @jsxImportSource preact */
/** The diff of a commit, line by line, as far as it fits on a page. */
import type { Commit } from '../../git/objects/parse.ts'
import { escapeHtml } from '../../markdown/html.ts'
import type { OpenRepository } from '../../repositories/contents/open-repository.ts'

/** The changes of one file, as lines of HTML. */
interface FileDiff {
  readonly title: string
  readonly html: string
}

export interface CommitDiff {
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

export const readDiff = async (
  { git, access }: OpenRepository,
  { id, parents: [parent] }: Commit,
): Promise<CommitDiff> => {
  const tree = parent === undefined ? ['--root', '--no-commit-id', id] : [parent, id]
  const child = await git.start(access, 'diff-tree', [...OPTIONS, ...tree])
  child.stdin.end()
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      size += chunk.length
      if (size > MAX_READ) break
    }
  } finally {
    child.stop()
  }
  const lines = Buffer.concat(chunks).toString('utf8').toWellFormed().split('\n')
  return presentDiff(lines, size > MAX_READ)
}

/** Lines before the first hunk of a file that say what its heading says. */
const HEADER = /^(?:index |--- |\+\+\+ |old mode|new mode|new file|deleted file|similarity)/

const presentDiff = (lines: readonly string[], isCut: boolean): CommitDiff => {
  const files: { title: string; html: string }[] = []
  let size = 0
  let isHeader = true
  for (const line of lines) {
    if (line.startsWith('diff --git ')) {
      files.push({ title: titleOf(line), html: '' })
      isHeader = true
      continue
    }
    const file = files.at(-1)
    if (file === undefined || (isHeader && HEADER.test(line))) continue
    if (line.startsWith('@@')) isHeader = false
    const html = `${lineHtml(line)}\n`
    size += Buffer.byteLength(html)
    if (size > MAX_HTML) return { files, isCut: true }
    file.html += html
  }
  return { files, isCut }
}

/** `diff --git a/x b/x`: both halves are the same, since renames are not looked for. */
const titleOf = (line: string): string => {
  const names = line.slice('diff --git '.length)
  return names.slice((names.length + 1) / 2).replace(/^("?)b\//, '$1') || names
}

const CLASSES: Readonly<Record<string, string>> = { '+': 'a', '-': 'd', '@': 'h' }

const lineHtml = (line: string): string => {
  const text = escapeHtml(line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)} …` : line)
  const kind = CLASSES[line.charAt(0)]
  return kind === undefined ? text : `<b class="${kind}">${text}</b>`
}

export const Diff = ({ diff: { files, isCut } }: { diff: CommitDiff }) => (
  <>
    {files.map(({ title, html }, index) => (
      <section key={title} class="file" aria-labelledby={`diff-${index}`}>
        <h2 id={`diff-${index}`}>
          <bdi>{title}</bdi>
        </h2>
        {html.trim() === '' ? (
          <p class="small">Only its mode changed, or it is empty.</p>
        ) : (
          <pre class="diff" dangerouslySetInnerHTML={{ __html: html.trimEnd() }} />
        )}
      </section>
    ))}
    {isCut && (
      <p class="small">There are more changes than fit on a page: clone the repository to see all.</p>
    )}
  </>
)
