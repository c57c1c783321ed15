import { AllotError } from '../../errors.ts'
import { escapeHtml } from '../../markdown/html.ts'
import { WorkerPool } from '../../workers.ts'

export interface HighlightInput {
  readonly text: string
  /** From which the language follows. */
  readonly fileName: string
}

export interface HighlightedLines {
  /** Number of lines. */
  readonly total: number
  /** A line as HTML, by its number from 1: a page shows few of many. */
  readonly lineAt: (number: number) => string
  /** Whether they have colors; text in no programming language has none. */
  readonly isColored: boolean
}

/** The build puts the bundled worker beside the bundle that contains this module. */
const WORKER = new URL(
  import.meta.url.endsWith('.js') ? './highlight-worker.js' : './worker.ts',
  import.meta.url,
)

/** Characters of a text that is highlighted; longer ones are shown without colors. */
const MAX_HIGHLIGHTED = 512 * 1024
/** Characters of a line that is highlighted or shown; a generated file may have one of megabytes. */
const MAX_LINE = 4000
/** Milliseconds for the colors of one text. */
export const DEADLINE_MS = 1500

/** Colors source code. Invariant: it is parsed in a worker thread with a deadline, and only ever read. */
export class Highlighter {
  readonly #pool = new WorkerPool<HighlightInput, string[] | undefined>({
    file: WORKER,
    deadlineMs: DEADLINE_MS,
    maxMemoryMb: 192,
    messages: { tooSlow: 'the file took too long', outOfMemory: 'the file took too much memory' },
    budget: {
      slots: 2,
      slotsPerClient: 1,
      queue: 64,
      message: 'too many files are waiting to be highlighted: try again',
    },
  })

  /**
   * The lines of a text as HTML, in colors where its language is known and that does not take too long.
   * @param rest HTML in place of the rest of a line that is too long
   */
  async lines(client: string, input: HighlightInput, rest: string): Promise<HighlightedLines> {
    const text = input.text.replace(/\r\n?/g, '\n').replace(/\n$/, '')
    const lines = text.split('\n')
    const isPlain = text.length > MAX_HIGHLIGHTED || lines.some((line) => line.length > MAX_LINE)
    const colored = isPlain ? undefined : await this.#highlight(client, { ...input, text })
    const shown = (line: string) =>
      line.length > MAX_LINE
        ? `${escapeHtml(line.slice(0, MAX_LINE).toWellFormed())} ${rest}`
        : escapeHtml(line)
    return {
      total: lines.length,
      lineAt: (number) => colored?.[number - 1] ?? shown(lines[number - 1]!),
      isColored: colored !== undefined,
    }
  }

  async #highlight(client: string, input: HighlightInput): Promise<string[] | undefined> {
    try {
      return await this.#pool.run(client, async () => input)
    } catch (error) {
      // Too slow, too large, or too many: the text is readable without colors.
      if (error instanceof AllotError) return undefined
      throw error
    }
  }

  close(): Promise<void> {
    return this.#pool.close()
  }
}
