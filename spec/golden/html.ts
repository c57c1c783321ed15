import { type DefaultTreeAdapterTypes, parseFragment } from 'parse5'

type Node = DefaultTreeAdapterTypes.ChildNode

/**
 * Compares two pieces of HTML as a browser reads them: the order of attributes, how void elements and
 * entities are written, and white space that no browser shows make no difference.
 *
 * @returns a line for each thing that one of them lacks, such as `html lacks <br>`, `html adds class="x"` or
 * `html lacks text "a"`
 */
export const htmlDifferences = (recorded: string, answered: string): string[] => {
  const [shortened, start = '', length] = SHORTENED.exec(recorded) ?? []
  if (shortened !== undefined) {
    const isSame = answered.startsWith(start) && answered.length === Number(length)
    return isSame ? [] : ['html differs from what the recording has kept']
  }
  const [left, right] = [partsOf(recorded), partsOf(answered)]
  while (left.length > 0 && left.at(-1) === right.at(-1)) {
    left.pop()
    right.pop()
  }
  let same = 0
  while (same < left.length && left[same] === right[same]) same++
  return [...new Set(changes(left.slice(same), right.slice(same)))].map((line) => `html ${line}`)
}

/** A long value is shortened to its beginning and its length. */
const SHORTENED = /^(.*)… ?\((\d+) (?:bytes|characters)\)$/s

/** Above this number of pairs, one line replaces the comparison. */
const MOST_PAIRS = 4_000_000

/** By the longest common subsequence. */
const changes = (left: string[], right: string[]): string[] => {
  if (left.length * right.length > MOST_PAIRS) return ['differs in too much to compare']
  const width = right.length + 1
  const lengths = new Uint32Array((left.length + 1) * width)
  for (let row = left.length - 1; row >= 0; row--)
    for (let column = right.length - 1; column >= 0; column--)
      lengths[row * width + column] =
        left[row] === right[column]
          ? lengths[(row + 1) * width + column + 1]! + 1
          : Math.max(lengths[(row + 1) * width + column]!, lengths[row * width + column + 1]!)
  const lines: string[] = []
  let [row, column] = [0, 0]
  while (row < left.length || column < right.length)
    if (row < left.length && left[row] === right[column]) {
      row++
      column++
    } else if (
      column === right.length ||
      (row < left.length && lengths[(row + 1) * width + column]! >= lengths[row * width + column + 1]!)
    )
      lines.push(`lacks ${left[row++]}`)
    else lines.push(`adds ${right[column++]}`)
  return lines
}

/** Tags, attributes and words, in order. White space is a word where it separates two in the same block. */
const partsOf = (html: string): string[] => {
  const parts: string[] = []
  const visit = (nodes: readonly Node[], isPreformatted: boolean): void => {
    for (const node of nodes)
      if ('tagName' in node) {
        const name = node.tagName
        parts.push(`<${name}>`)
        const attributes = node.attrs.map((attribute) => `${attribute.name}="${attribute.value}"`)
        parts.push(...attributes.sort())
        visit(node.childNodes, isPreformatted || name === 'pre')
        if (node.childNodes.length > 0 || !VOID.has(name)) parts.push(`</${name}>`)
      } else if (node.nodeName === '#text' && 'value' in node) {
        const text = isPreformatted ? node.value : node.value.replace(/\s+/g, ' ')
        for (const [word] of text.matchAll(/[\p{L}\p{N}]+|./gsu)) parts.push(`text ${JSON.stringify(word)}`)
      }
  }
  visit(parseFragment(html).childNodes, false)
  return parts.filter((part, index) => part !== SPACE || isShown(parts[index - 1], parts[index + 1]))
}

const SPACE = 'text " "'
const VOID = new Set(['br', 'hr', 'img', 'input', 'wbr'])
const BLOCK =
  /^<\/?(?:p|div|h[1-6]|[uod]l|li|d[td]|blockquote|pre|hr|br|table|t(?:head|body|foot|r|[hd])|details|summary)>$/

/** Browsers do not show a space at the edge of a block. */
const isShown = (before: string | undefined, after: string | undefined): boolean =>
  ![before, after].some((part) => part === undefined || BLOCK.test(part) || part.startsWith('dir="'))
