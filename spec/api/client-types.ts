import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { currentDocument, hashOf } from './document.ts'

/** The types of `allot/client`, which {@link writeClientTypes} makes from the OpenAPI document. */
const TYPES = new URL('../../lib/client/types.ts', import.meta.url)

/** Not a dependency: it needs the compiler API of TypeScript 5, which TypeScript 7 does not have. */
const GENERATOR = ['-p', 'openapi-typescript@7.13.0', '-p', 'typescript@5.9', 'openapi-typescript']

/** The first line of the types, which names the document that they are made from. */
export const firstLine = (): string =>
  `// Made by \`npm run openapi\` from the OpenAPI document, whose SHA-256 is ${hashOf(currentDocument())}\n`

export const clientTypes = (): string => readFileSync(TYPES, 'utf8')

const writeClientTypes = (): void => {
  const folder = mkdtempSync(join(tmpdir(), 'allot-client-'))
  const [document, file] = [join(folder, 'openapi.json'), join(folder, 'types.ts')]
  writeFileSync(document, currentDocument())
  // Outside of the project, whose packages npx would prefer.
  execFileSync('npx', ['--yes', ...GENERATOR, document, '-o', file], { cwd: folder, stdio: 'ignore' })
  // One line for each interface: the file is not meant to be read, and its diffs follow from those of the
  // document.
  writeFileSync(TYPES, firstLine() + readFileSync(file, 'utf8').replace(/\n\s+/g, ' '))
  rmSync(folder, { recursive: true })
}

if (process.argv[1] === import.meta.filename) writeClientTypes()
