/**
 * Markdown on pages, rendered by the same renderer as the API's, and bounded so that no page becomes large.
 */
import { AllotError } from '../../errors.ts'
import { escapeHtml } from '../../markdown/html.ts'
import { usePageContext } from '../parts/components.tsx'
import { mountOf } from '../parts/route.ts'
import { filePath, type RefName, type RepositoryRequest } from './access.tsx'
import { pictureType } from './picture-type.ts'

/** Safe HTML, and whether it is only the beginning of the text. */
export interface RenderedText {
  readonly html: string
  readonly isCut: boolean
}

interface RenderOptions {
  readonly mode: 'gfm' | 'comment'
  /** Path of what relative links refer to: a repository, or a folder of its files. */
  readonly context: string
  /** Path of what links that begin with a slash refer to, in a file; the host when absent. */
  readonly root?: string | undefined
  /** Bytes of HTML. */
  readonly budget: number
}

/** Characters of a text that are rendered at once. */
const MAX_TEXT = 48 * 1024
/** Shorter parts of the text that are tried until the HTML fits. */
const TRIES = 4

/** @throws AllotError unavailable when too many texts of the client wait */
export const renderText = async (
  { services, client, pagesUrl, user }: RepositoryRequest,
  text: string,
  { mode, context, root, budget }: RenderOptions,
): Promise<RenderedText> => {
  const { markdown, hosting } = services
  const knownNames = (names: string[]) => hosting.profiles.visibleNames(user, names)
  let part = beginningOf(text, MAX_TEXT)
  try {
    for (let tries = 0; tries < TRIES; tries++) {
      const html = await markdown.render(client, {
        text: part,
        mode,
        context,
        root,
        baseUrl: pagesUrl,
        knownNames,
      })
      const local = localized(html, pagesUrl)
      const size = Buffer.byteLength(local)
      if (size <= budget) return { html: local, isCut: part.length < text.length }
      part = beginningOf(part, Math.floor((part.length * budget * 0.8) / size))
    }
  } catch (error) {
    // Nested too deeply, or too slow: the text can be read as it is written.
    if (!(error instanceof AllotError) || error.code !== 'invalid') throw error
  }
  const plain = beginningOf(text, Math.floor(budget / 6))
  return { html: `<pre>${escapeHtml(plain)}</pre>`, isCut: plain.length < text.length }
}

/**
 * Renders a markdown file.
 * @param budget bytes of HTML
 */
export const renderFile = (
  request: RepositoryRequest,
  { ref, path }: { ref: RefName; path: string },
  text: string,
  budget: number,
): Promise<RenderedText> => {
  const folder = path.slice(0, Math.max(path.lastIndexOf('/'), 0))
  const [root, context] = ['', folder].map((one) => filePath(request.view, ref, one)) as [string, string]
  return renderText(request, text, { mode: 'gfm', root, context, budget })
}

/** The beginning of a text, to the end of a paragraph or a line where there is one. */
const beginningOf = (text: string, limit: number): string => {
  if (text.length <= limit) return text
  const part = text.slice(0, limit)
  const end = Math.max(part.lastIndexOf('\n\n'), part.lastIndexOf('\n'))
  return (end > limit / 2 ? part.slice(0, end) : part).toWellFormed()
}

/**
 * Makes addresses of these pages paths, which hold behind any proxy, and shows pictures of the repository
 * from its files. Pictures of other servers are not loaded: their text is shown, and leads to them.
 */
const localized = (html: string, pagesUrl: string): string => {
  const mount = mountOf(pagesUrl)
  return html
    .replaceAll(`="${pagesUrl}/`, `="${mount}/`)
    .replace(/<input (checked )?disabled type="checkbox" \/>/g, (_whole, checked) => TASKS[checked ? 1 : 0])
    .replace(LINK_OR_PICTURE, pictureReplacer(mount))
}

/**
 * Boxes of a task list. They cannot be checked on the page, so they are signs, which screen readers read out.
 */
const TASKS = [
  '<span role="img" aria-label="to do">☐</span>',
  '<span role="img" aria-label="done">☑</span>',
] as const

const LINK_OR_PICTURE = /<(\/?)a\b[^<>]*>|<img [^<>]*>/g

/** Replaces pictures, and knows which of them are in a link: a link cannot have another one within it. */
const pictureReplacer = (mount: string) => {
  let isLinked = false
  return (whole: string, end: string | undefined): string => {
    if (end === undefined) return localPicture(whole, mount, isLinked)
    isLinked = end === ''
    return whole
  }
}

/** A picture of the repository or of an attachment, or what stands for one that browsers would not show. */
const localPicture = (image: string, mount: string, isLinked: boolean): string => {
  const [, src = ''] = / src="([^"]*)"/.exec(image) ?? []
  const path = src.startsWith(`${mount}/`) ? src.slice(mount.length) : ''
  const local = path.replace(FILE, '$1/raw/').replace(/^\/attachments\//, '/-/attachments/')
  const isFile = FILE.test(path)
  if (local === path || (isFile && pictureType(path.replace(/[?#].*/s, '')) === undefined))
    return blockedPicture(image, src, isLinked)
  const described = / alt="/.test(image) ? image : image.replace('<img ', '<img alt="" ')
  return described.replace(/ src="[^"]*"/, () => ` src="${mount}${local}"`)
}

/** The alternative text of a picture, which leads to it. Attributes of rendered text are escaped. */
const blockedPicture = (image: string, src: string, isLinked: boolean): string => {
  const [, text = ''] = / alt="([^"]*)"/.exec(image) ?? []
  const [, host] = /^https?:\/\/([^/"]+)/.exec(src) ?? []
  const label = text || `Picture${host === undefined ? '' : ` of ${host}`}`
  const isAddress = host !== undefined || /^\/(?!\/)/.test(src)
  return isLinked || !isAddress
    ? `<span class="blocked">${label}</span>`
    : `<a class="blocked" href="${src}" rel="nofollow noopener">${label}</a>`
}

/** The beginning of the path of a file's page. */
const FILE = /^(\/[\w.-]+\/[\w.-]+)\/src\//

/** A rendered text. */
export const Prose = ({ text, more }: { text: RenderedText; more?: string }) => {
  const { urlOf } = usePageContext()
  return (
    <>
      <div class="prose" dir="auto" dangerouslySetInnerHTML={{ __html: text.html }} />
      {text.isCut && (
        <p class="small">The text goes on. {more !== undefined && <a href={urlOf(more)}>Show the rest</a>}</p>
      )}
    </>
  )
}
