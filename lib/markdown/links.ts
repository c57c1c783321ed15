import type { MarkdownInput } from './input.ts'

/** Where the links of a text lead. */
export interface Links {
  /** A relative link or image, below the context; anything else as it is. */
  resolve(href: string, kind: 'link' | 'image'): string
  mention(name: string): string
  /** Undefined without a context, for a number alone means nothing. */
  issue(number: string): string | undefined
}

/** Plain CommonMark knows no context: its links stay as they are. */
export const linksAsWritten: Pick<Links, 'resolve'> = { resolve: (href) => href }

export const linksOf = ({ context, baseUrl, wiki, mode }: MarkdownInput): Links => {
  const root = rootOf(context, baseUrl)
  const inWiki = wiki || mode === 'wiki'
  return {
    resolve(href, kind) {
      if (root === undefined || !isRelative(href)) return href
      const folder = inWiki ? (kind === 'image' ? 'wiki/raw/' : 'wiki/') : ''
      return URL.canParse(href, `${root}/${folder}`) ? new URL(href, `${root}/${folder}`).href : href
    },
    mention: (name) => `${baseUrl}/${name}`,
    issue: (number) => (root === undefined ? undefined : `${root}/issues/${number}`),
  }
}

/** Characters of a context that is followed: each reference repeats it, and a longer one would swell the answer. */
const LONGEST_CONTEXT = 2048

/** The context as a URL without a slash at the end; undefined when it is none that a browser may follow. */
const rootOf = (context: string, baseUrl: string): string | undefined => {
  if (context.length > LONGEST_CONTEXT) return undefined
  const path = context.trim().replace(/(?<!\/)\/+$/, '')
  if (path === '' || !URL.canParse(path, `${baseUrl}/`)) return undefined
  const { origin, pathname, protocol } = new URL(path, `${baseUrl}/`)
  return protocol === 'http:' || protocol === 'https:' ? `${origin}${pathname}`.replace(/\/$/, '') : undefined
}

const isRelative = (href: string): boolean =>
  href !== '' && !/^(?:[a-z][a-z\d+.-]*:|\/\/|#)/i.test(href.trim())
