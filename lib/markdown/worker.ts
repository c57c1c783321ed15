import { lowerOwnPriority } from '../low-priority.ts'
import { serveTasks } from '../workers/serve.ts'
import type { MarkdownInput } from './input.ts'

lowerOwnPriority()
// Loading the parsers takes time, too.
const { render } = await import('./render.ts')
serveTasks<MarkdownInput, string>(render)
