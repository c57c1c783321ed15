import { serveTasks } from '../workers/serve.ts'
import type { MarkdownInput } from './input.ts'
import { render } from './render.ts'

serveTasks<MarkdownInput, string>(render)
