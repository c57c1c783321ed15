import { lowerOwnPriority } from '../../priority.ts'
import { serveTasks } from '../../workers.ts'
import { highlight } from './highlighted-languages.ts'
import type { HighlightInput } from './highlighter.ts'

lowerOwnPriority()

/** The first letter is the class; the other kinds of text are not colored. */
const CLASSES: Readonly<Record<string, string>> = {
  keyword: 'k',
  'selector-tag': 'k',
  tag: 'k',
  name: 'k',
  operator: 'k',
  built_in: 't',
  type: 't',
  class: 't',
  'selector-class': 't',
  'selector-id': 't',
  literal: 'n',
  number: 'n',
  symbol: 'n',
  'template-variable': 'n',
  variable: 'v',
  attr: 'v',
  attribute: 'v',
  property: 'v',
  params: 'v',
  string: 's',
  regexp: 's',
  char: 's',
  link: 's',
  code: 's',
  comment: 'c',
  quote: 'c',
  meta: 'c',
  doctag: 'c',
  title: 'f',
  section: 'f',
  function: 'f',
  addition: 'a',
  deletion: 'd',
}

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
      const kind = CLASSES[match[1]]
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
