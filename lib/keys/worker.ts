import { lowerOwnPriority, serveTasks } from '../workers.ts'
import { parseOpenPgpKey } from './openpgp.ts'
import type { KeyText, ParsedKey } from './reader.ts'
import { parseSshKey } from './ssh.ts'

lowerOwnPriority()
// Loads the library before the first task, whose deadline does not include that. Without it, SSH keys can be
// parsed.
await import('openpgp').catch(() => undefined)
serveTasks<KeyText, ParsedKey>(({ kind, text }) =>
  kind === 'ssh' ? parseSshKey(text) : parseOpenPgpKey(text),
)
