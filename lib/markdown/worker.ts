import { lowerOwnPriority, serveTasks } from '../workers.ts'
import type { MarkdownInput } from './html.ts'

lowerOwnPriority()
// Imported afterwards: loading the parsers takes time, too.
const { render } = await import('./render.ts')
serveTasks<MarkdownInput, string>(render)
