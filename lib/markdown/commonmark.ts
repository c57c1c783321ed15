import { HtmlRenderer, type Node, Parser } from 'commonmark'
import { placeFootnotes, withFootnotes } from './footnotes.ts'
import { type Alert, alertOf, classOfAlert, createHeadingIds, imageTags, titleOfAlert } from './html.ts'
import { ADDRESSES, type Links, linksAsWritten } from './links.ts'
import { leadingTo, NO_FOLLOW, sanitize } from './sanitize.ts'

/**
 * CommonMark as safe HTML. Where a text has no HTML of its own and leads nowhere but to ordinary addresses, all tags are
 * the renderer's, and there is nothing to take out of them: the sanitiser, which takes several times as long as the rest,
 * is for all others.
 */
export const renderCommonMark = (text: string, links: Links = linksAsWritten): string => {
  const hasFootnotes = text.includes('[^')
  const tree = (hasFootnotes ? withFootnotes(new Parser()) : new Parser()).parse(text)
  if (hasFootnotes) placeFootnotes(tree)
  const { isHarmless, quotes } = lookThrough(tree)
  const alerts = new Map<Node, Alert>()
  for (const quote of quotes) markAlert(quote, alerts)
  const html = new Writer(text, links, alerts).render(tree)
  return isHarmless ? html : sanitize(html, linksAsWritten)
}

const lookThrough = (tree: Node): { isHarmless: boolean; quotes: Node[] } => {
  let isHarmless = true
  const quotes: Node[] = []
  const walker = tree.walker()
  for (let step = walker.next(); step !== null; step = walker.next()) {
    const { entering, node } = step
    if (!entering) continue
    if (node.type === 'html_inline' || node.type === 'html_block') isHarmless = false
    else if (node.type === 'block_quote') quotes.push(node)
    else if (
      (node.type === 'link' || node.type === 'image') &&
      !ADDRESSES[node.type].test(node.destination ?? '')
    )
      isHarmless = false
  }
  return { isHarmless, quotes }
}

/** Takes the word that makes a block quote an alert off its first line. */
const markAlert = (quote: Node, alerts: Map<Node, Alert>): void => {
  const paragraph = quote.firstChild
  if (paragraph?.type !== 'paragraph') return
  const line: Node[] = []
  // "[", "!NOTE" and "]" are a node each, and spaces at the end of the line another one.
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

/** What the types leave out: the renderer has a method for each type of node, and these to write with. */
interface Parts {
  disableTags: number
  lit(html: string): void
  esc(text: string): string
  tag(name: string, attributes?: Attributes): void
  attrs(node: Node): Attributes
  block_quote(node: Node, entering: boolean): void
}
const Renderer = HtmlRenderer as unknown as new () => HtmlRenderer & Parts

/** Writes headings with ids, directions, images that lead to themselves, and links that the host does not vouch for. */
class Writer extends Renderer {
  readonly #text: string
  readonly #links: Links
  readonly #alerts: ReadonlyMap<Node, Alert>
  readonly #idOf = createHeadingIds()
  #lines: string[] | undefined
  #ids = new Map<Node, string>()
  #linksOpen = 0

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
    return alert === undefined ? [] : [['class', classOfAlert(alert)]]
  }

  override block_quote(node: Node, entering: boolean): void {
    super.block_quote(node, entering)
    const alert = entering ? this.#alerts.get(node) : undefined
    if (alert !== undefined) this.lit(titleOfAlert(alert))
  }

  link(node: Node, entering: boolean): void {
    const href = leadingTo(node.destination ?? '', this.#links)
    this.#linksOpen += entering ? 1 : -1
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
      const { opening, closing } = imageTags(src, title ?? '', this.#linksOpen > 0)
      this.lit(entering ? opening : closing)
    }
    if (entering) this.disableTags += 1
  }

  /** Of a heading of several lines the last one, as in Forgejo. The renderer asks twice, where it begins and ends. */
  #headingId(node: Node): string {
    let id = this.#ids.get(node)
    if (id !== undefined) return id
    this.#lines ??= this.#text.split(/\r\n|\n|\r/)
    const [[first, column], [last]] = node.sourcepos
    // An underlined heading ends with the line below its words.
    const at = last > first ? last - 1 : first
    id = this.esc(this.#idOf((this.#lines[at - 1] ?? '').slice(at === first ? column - 1 : 0)))
    this.#ids.set(node, id)
    return id
  }
}
