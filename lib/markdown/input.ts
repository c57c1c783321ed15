/** What is to be rendered, and for where. */
export interface MarkdownInput {
  text: string
  /** `gfm`, `comment` and `wiki`; any other word, none included, means plain CommonMark. */
  mode: string
  /** Where relative links, `@names` and `#numbers` lead, as a path such as `/alice/demo` or a URL. */
  context: string
  /** Whether relative links lead to the wiki of the context. */
  wiki: boolean
  /** Where the service is, without a slash at the end. */
  baseUrl: string
  /** Lower-case names of accounts that the viewer may see: only these are mentioned by `@name`. */
  people: readonly string[]
}

const EXTENDED: ReadonlySet<string> = new Set(['gfm', 'comment', 'wiki'])

/** Whether a mode has more than CommonMark. */
export const isExtended = (mode: string): boolean => EXTENDED.has(mode)
