import type { MarkdownInput } from './input.ts'
import { createPool } from './pool.ts'

type Given = Pick<MarkdownInput, 'text' | 'mode' | 'baseUrl'> & Partial<MarkdownInput>

export interface Markdown {
  /**
   * Safe HTML of a text. Invariant: every text is parsed in a worker, however short it is. 240 bytes can be made to take
   * 200 ms, and the thread that serves requests must not be held.
   *
   * @param client whose share of the workers the text counts against, as `RouteRequest.client` names it
   * @throws AllotError invalid for a text that takes too long, unavailable when the client's texts are too many
   */
  render(client: string, input: Given): Promise<string>
  close(): Promise<void>
}

/** @param deadline milliseconds that a text may take. */
export const createMarkdown = ({ deadline }: { deadline: number }): Markdown => {
  const pool = createPool(deadline)
  return {
    async render(client, given) {
      const input = { context: '', wiki: false, ...given }
      return input.text === '' ? '' : pool.render(client, input)
    },
    close: pool.close,
  }
}
