import { lowerOwnPriority } from '../priority.ts'
import { serveTasks } from '../workers.ts'
import { parseOpenPgpKey } from './openpgp.ts'
import type { KeyText, ParsedKey } from './reader.ts'
import { parseSshKey } from './ssh.ts'

lowerOwnPriority()
// Before the first task, whose deadline does not include that.
await import('openpgp')
serveTasks<KeyText, ParsedKey>(({ kind, text }) =>
  kind === 'ssh' ? parseSshKey(text) : parseOpenPgpKey(text),
)
