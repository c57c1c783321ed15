import { lowerOwnPriority } from '../../priority.ts'
import { serveTasks } from '../../workers.ts'
import { highlight } from './highlighted-languages.ts'
import type { HighlightInput } from './highlighter.ts'

lowerOwnPriority()

/** The kinds of text of each class; other kinds are not colored. */
const KINDS: Readonly<Record<string, string>> = {
  k: 'keyword selector-tag tag name operator',
  t: 'built_in type class selector-class selector-id',
  n: 'literal number symbol template-variable',
  v: 'variable attr attribute property params',
  s: 'string regexp char link code',
  c: 'comment quote meta doctag',
  f: 'title section function',
  a: 'addition',
  d: 'deletion',
}
const classes = new Map(
  Object.entries(KINDS).flatMap(([name, kinds]) => kinds.split(' ').map((kind) => [kind, name])),
)

const TAG = /<span class="([^" ]*)(?: [^"]*)?">|<\/span>|\n/g

/**
 * The lines of highlighted text: short elements in place of `span`s, each line with its own, since lines are
 * shown by themselves.
 */
const linesOf = (html: string): string[] => {
  const open: string[] = []
  const lines: string[] = []
  let line = ''
  let position = 0
  for (const match of html.matchAll(TAG)) {
    line += html.slice(position, match.index)
    position = match.index + match[0].length
    if (match[0] === '\n') {
      lines.push(line + '</i>'.repeat(open.length))
      line = open.join('')
    } else if (match[1] === undefined) {
      open.pop()
      line += '</i>'
    } else {
      const kind = classes.get(match[1])
      open.push(kind === undefined ? '<i>' : `<i class="${kind}">`)
      line += open.at(-1)
    }
  }
  lines.push(line + html.slice(position))
  return lines
}

serveTasks<HighlightInput, string[] | undefined>(({ text, fileName }) => {
  const html = highlight(text, fileName)
  // The prefix of the classes says nothing here.
  return html === undefined ? undefined : linesOf(html.replaceAll('class="hljs-', 'class="'))
})
