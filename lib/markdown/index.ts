import { WorkerPool } from '../workers.ts'
import { isExtended, type MarkdownInput } from './html.ts'

interface RenderOptions extends Pick<MarkdownInput, 'text' | 'mode' | 'baseUrl' | 'root'> {
  context?: string
  wiki?: boolean
  /** Returns those of the names that are of accounts which the viewer may see. */
  knownNames?: (names: string[]) => Promise<readonly string[]>
}

/** The build puts the bundled worker beside the bundle that contains this module. */
const WORKER = new URL(import.meta.url.endsWith('.js') ? './worker.js' : './worker.ts', import.meta.url)

/**
 * Renders markdown. Invariant: every text is parsed in a worker thread. Even 240 bytes can take 200 ms, for
 * which the serving thread must not block.
 */
export class Markdown {
  readonly #pool: WorkerPool<MarkdownInput, string>

  /** @param deadline milliseconds for one text, from the time that a worker begins to render it */
  constructor({ deadline }: { deadline: number }) {
    this.#pool = new WorkerPool({
      file: WORKER,
      deadlineMs: deadline,
      // The HTML of a text of one mebibyte can be a thousand times as long.
      maxMemoryMb: 192,
      messages: {
        tooSlow: `Text: it could not be rendered within ${deadline} milliseconds`,
        outOfMemory: 'Text: its HTML would be too large',
      },
      budget: {
        // One client uses one of the threads, so that one is free for the others. Each takes 20 to 40 MiB.
        slots: 2,
        queue: 128,
        message: 'too many texts are waiting to be rendered: try again',
      },
    })
  }

  /**
   * Renders a text to safe HTML.
   * @param client whose budget the text counts against: see lib/clients.ts
   * @throws AllotError invalid when the text takes too long, unavailable when too many texts of the client
   * wait
   */
  async render(client: string, options: RenderOptions): Promise<string> {
    const { context = '', wiki = false, knownNames, ...rest } = options
    if (rest.text === '') return ''
    const names = knownNames !== undefined && isExtended(rest.mode) ? namesIn(rest.text) : []
    return this.#pool.run(client, async () => {
      const people = names.length === 0 ? [] : await knownNames!(names)
      return { ...rest, context, wiki, people }
    })
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}

/** Distinct names that are looked up for one text; further names are not linked. */
const MAX_NAMES = 50
/** Characters of a text that are searched for names. */
const MAX_SEARCHED = 65_536

const NAME = /@([A-Za-z0-9][A-Za-z0-9._-]{0,39})/g

/**
 * The lower-case names that a text may mention. Runs on the serving thread, so its time is bounded and
 * linear. Whether a name is really a mention is decided by the parser in the worker.
 */
const namesIn = (text: string): string[] => {
  const names = new Set<string>()
  for (const [, name] of text.slice(0, MAX_SEARCHED).matchAll(NAME)) {
    // Punctuation at the end belongs to the sentence.
    names.add(name!.replace(/[._-]{1,39}$/, '').toLowerCase())
    if (names.size === MAX_NAMES) break
  }
  return [...names]
}
