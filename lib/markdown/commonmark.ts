import { HtmlRenderer, type Node, Parser } from 'commonmark'
import {
  ADDRESSES,
  type Alert,
  alertClass,
  alertOf,
  alertTitle,
  createHeadingIds,
  imageTags,
  type Links,
  linksAsWritten,
  linkTarget,
  NO_FOLLOW,
} from './html.ts'

/** HTML in which every tag was written by the renderer, or HTML that must be sanitized. */
type CommonMarkHtml = { safe: string } | { unsafe: string }

/**
 * Renders CommonMark. The sanitizer takes several times as long as the rest, so only texts with raw HTML or
 * unusual addresses need it.
 */
export const renderCommonMark = (text: string, links: Links = linksAsWritten): CommonMarkHtml => {
  const tree = new Parser().parse(text)
  const { isSafe, quotes } = inspect(tree)
  const alerts = new Map<Node, Alert>()
  for (const quote of quotes) markAlert(quote, alerts)
  const html = new Renderer(text, links, alerts).render(tree)
  return isSafe ? { safe: html } : { unsafe: html }
}

/** @returns whether the tree has neither raw HTML nor unusual addresses, and its block quotes */
const inspect = (tree: Node): { isSafe: boolean; quotes: Node[] } => {
  let isSafe = true
  const quotes: Node[] = []
  const walker = tree.walker()
  for (let step = walker.next(); step !== null; step = walker.next()) {
    const { entering, node } = step
    if (!entering) continue
    if (node.type === 'html_inline' || node.type === 'html_block') isSafe = false
    else if (node.type === 'block_quote') quotes.push(node)
    else if (node.type === 'link' || node.type === 'image')
      isSafe &&= ADDRESSES[node.type].test(node.destination ?? '')
  }
  return { isSafe, quotes }
}

/** Removes the first line of a block quote that is an alert. */
const markAlert = (quote: Node, alerts: Map<Node, Alert>): void => {
  const paragraph = quote.firstChild
  if (paragraph?.type !== 'paragraph') return
  const line: Node[] = []
  // The parser makes a node each for "[", "!NOTE" and "]", and for spaces after them.
  for (let node = paragraph.firstChild; node?.type === 'text' && line.length < 8; node = node.next)
    line.push(node)
  const end = line.at(-1)?.next
  if (end != null && end.type !== 'softbreak' && end.type !== 'linebreak') return
  const found = alertOf(line.map(({ literal }) => literal).join(''))
  if (found === undefined) return
  alerts.set(quote, found.alert)
  for (const node of line) node.unlink()
  end?.unlink()
  if (paragraph.firstChild === null) paragraph.unlink()
}

type Attributes = [name: string, value: string][]

/** Members that the types omit: a method for each type of node, and those that write output. */
interface RendererMembers {
  disableTags: number
  lit(html: string): void
  esc(text: string): string
  tag(name: string, attributes?: Attributes): void
  attrs(node: Node): Attributes
  block_quote(node: Node, entering: boolean): void
}
const BaseRenderer = HtmlRenderer as unknown as new () => HtmlRenderer & RendererMembers

/** Adds ids of headings, text directions, alerts, links around images, and `rel` of links. */
class Renderer extends BaseRenderer {
  readonly #text: string
  readonly #links: Links
  readonly #alerts: ReadonlyMap<Node, Alert>
  readonly #makeId = createHeadingIds()
  #lines: string[] | undefined
  #headingIds = new Map<Node, string>()
  #openLinks = 0

  constructor(text: string, links: Links, alerts: ReadonlyMap<Node, Alert>) {
    super()
    this.#text = text
    this.#links = links
    this.#alerts = alerts
  }

  override attrs(node: Node): Attributes {
    if (node.type === 'paragraph' || node.type === 'list') return [['dir', 'auto']]
    if (node.type === 'heading')
      return [
        ['id', this.#headingId(node)],
        ['dir', 'auto'],
      ]
    const alert = this.#alerts.get(node)
    return alert === undefined ? [] : [['class', alertClass(alert)]]
  }

  override block_quote(node: Node, entering: boolean): void {
    super.block_quote(node, entering)
    const alert = entering ? this.#alerts.get(node) : undefined
    if (alert !== undefined) this.lit(alertTitle(alert))
  }

  link(node: Node, entering: boolean): void {
    const href = linkTarget(node.destination ?? '', this.#links)
    this.#openLinks += entering ? 1 : -1
    if (href === undefined) return
    if (!entering) return this.tag('/a')
    const title: Attributes = node.title ? [['title', this.esc(node.title)]] : []
    const rel: Attributes = href === '' ? [] : [['rel', NO_FOLLOW]]
    this.tag('a', [['href', this.esc(href)], ...title, ...rel])
  }

  image({ destination, title }: Node, entering: boolean): void {
    if (!entering) this.disableTags -= 1
    if (this.disableTags === 0) {
      const src = this.#links.resolve(destination ?? '', 'image')
      const { opening, closing } = imageTags(src, title ?? '', this.#openLinks > 0)
      this.lit(entering ? opening : closing)
    }
    if (entering) this.disableTags += 1
  }

  /**
   * The id of a heading, made of its last line as in Forgejo. Called for the start and the end of each
   * heading.
   */
  #headingId(node: Node): string {
    const known = this.#headingIds.get(node)
    if (known !== undefined) return known
    this.#lines ??= this.#text.split(/\r\n|\n|\r/)
    const [[first, column], [last]] = node.sourcepos
    // The last line of a setext heading is its underline.
    const line = last > first ? last - 1 : first
    const source = (this.#lines[line - 1] ?? '').slice(line === first ? column - 1 : 0)
    const id = this.esc(this.#makeId(source))
    this.#headingIds.set(node, id)
    return id
  }
}
