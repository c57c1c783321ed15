import { RECORDED_HOST } from './compare.ts'
import { replay } from './replay.ts'

replay('markdown', {
  // The recorded contexts are URLs of that host.
  options: { baseUrl: RECORDED_HOST },
  requests: {
    'markdown.raw.long': { body: 'word '.repeat(3000) },
    'markdown.big': { body: { Text: 'x '.repeat(200_000) } },
  },
})
