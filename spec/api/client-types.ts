import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The types of `allot/client`, which {@link writeClientTypes} makes from the committed OpenAPI document. */
const TYPES = fileURLToPath(new URL('../../lib/client/types.ts', import.meta.url))
const DOCUMENT = fileURLToPath(new URL('openapi.json', import.meta.url))

/** Not a dependency: it needs the compiler API of TypeScript 5, which TypeScript 7 does not have. */
const GENERATOR = ['-p', 'openapi-typescript@7.13.0', '-p', 'typescript@5.9', 'openapi-typescript']

/** The first line of the types, which names the document that they are made from. */
export const firstLine = (): string => {
  const hash = createHash('sha256').update(readFileSync(DOCUMENT)).digest('hex')
  return `// Made by \`npm run openapi\` from spec/api/openapi.json, whose SHA-256 is ${hash}\n`
}

export const clientTypes = (): string => readFileSync(TYPES, 'utf8')

const writeClientTypes = (): void => {
  const folder = mkdtempSync(join(tmpdir(), 'allot-client-'))
  const file = join(folder, 'types.ts')
  // Outside of the project, whose packages npx would prefer.
  execFileSync('npx', ['--yes', ...GENERATOR, DOCUMENT, '-o', file], { cwd: folder, stdio: 'ignore' })
  // One line for each interface: the file is not meant to be read, and its diffs follow from those of the
  // document.
  writeFileSync(TYPES, firstLine() + readFileSync(file, 'utf8').replace(/\n\s+/g, ' '))
  rmSync(folder, { recursive: true })
}

if (process.argv[1] === import.meta.filename) writeClientTypes()
