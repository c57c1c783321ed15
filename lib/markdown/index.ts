import type { MarkdownInput } from './input.ts'
import { createPool } from './pool.ts'

/**
 * Bytes up to which a text is rendered at once in the thread that serves requests. A text of 4 KiB can be made to take
 * two seconds (a table whose rows are filled up), one of this length a few milliseconds.
 */
const SHORT = 256

export interface Markdown {
  /** Safe HTML. @throws AllotError invalid for a text that takes too long. */
  render(input: Pick<MarkdownInput, 'text' | 'mode' | 'baseUrl'> & Partial<MarkdownInput>): Promise<string>
  close(): Promise<void>
}

/** @param deadline milliseconds that a text may take. */
export const createMarkdown = ({ deadline }: { deadline: number }): Markdown => {
  const pool = createPool(deadline)
  return {
    async render(given) {
      const input = { context: '', wiki: false, ...given }
      if (Buffer.byteLength(input.text) > SHORT) return pool.render(input)
      // Loaded when first used: the parsers take longer to load than the rest of the server.
      const { render } = await import('./render.ts')
      return render(input)
    },
    close: pool.close,
  }
}
