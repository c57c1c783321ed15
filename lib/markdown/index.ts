import { createPool as createWorkerPool, type Pool } from '../workers/pool.ts'
import { isExtended, type MarkdownInput } from './links.ts'

interface Given extends Pick<MarkdownInput, 'text' | 'mode' | 'baseUrl'> {
  context?: string
  wiki?: boolean
  /** Those of the names that may be mentioned: of accounts that exist and that the viewer may see. */
  knownNames?: (names: string[]) => Promise<readonly string[]>
}

export interface Markdown {
  /**
   * Safe HTML of a text. Invariant: every text is parsed in a worker, however short it is. 240 bytes can be made to take
   * 200 ms, and the thread that serves requests must not be held.
   *
   * @param client whose share of the workers the text counts against, as `RouteRequest.client` names it
   * @throws AllotError invalid for a text that takes too long, unavailable when the client's texts are too many
   */
  render(client: string, given: Given): Promise<string>
  close(): Promise<void>
}

/** @param deadline milliseconds that a text may take. */
export const createMarkdown = ({ deadline }: { deadline: number }): Markdown => {
  const pool = createPool(deadline)
  return {
    async render(client, { context = '', wiki = false, knownNames, ...given }) {
      if (given.text === '') return ''
      const names = knownNames !== undefined && isExtended(given.mode) ? namesIn(given.text) : []
      return pool.run(client, async () => {
        const people = names.length === 0 ? [] : await knownNames!(names)
        return { ...given, context, wiki, people }
      })
    },
    close: pool.close,
  }
}

/** Distinct names that are looked up for one text; the names after them stay text. */
const MOST_NAMES = 50
/** Characters of a text that are looked through for names. */
const MOST_CHARACTERS = 65_536

const NAME = /@([A-Za-z0-9][A-Za-z0-9._-]{0,39})/g

/**
 * The names that a text may mention, lower case. Bounded and linear, so that the thread that serves requests may do it;
 * whether a name stands where it is a mention is found out by the parser, in the worker.
 */
const namesIn = (text: string): string[] => {
  const names = new Set<string>()
  for (const [, name] of text.slice(0, MOST_CHARACTERS).matchAll(NAME)) {
    // A dot that ends a sentence is not the name's.
    names.add(name!.replace(/[._-]{1,39}$/, '').toLowerCase())
    if (names.size === MOST_NAMES) break
  }
  return [...names]
}

/** In the package the module has been bundled into another folder than the worker's source. */
const WORKER = new URL(import.meta.url.endsWith('.js') ? './worker.js' : './worker.ts', import.meta.url)

/**
 * Renders texts in worker threads. One client keeps at most two of them busy, so that the third is free for the others.
 *
 * @param deadlineMs how long a text may take, counted from when a worker begins to render it
 */
export const createPool = (deadlineMs: number): Pool<MarkdownInput, string> =>
  createWorkerPool({
    ...{ file: WORKER, threads: 3, threadsPerClient: 2, queue: 128, deadlineMs },
    // A text of a mebibyte can grow a thousandfold on its way to HTML.
    maxMemoryMb: 192,
    messages: {
      tooSlow: `Text: it could not be rendered within ${deadlineMs} milliseconds`,
      outOfMemory: 'Text: its HTML would be too large',
      busy: 'too many texts are waiting to be rendered',
    },
  })
