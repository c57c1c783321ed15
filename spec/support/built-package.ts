import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from './folder.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Environment of `tsx` in which `allot` is the built package, which loads in a tenth of the time, where
 * `spec/run.ts` has built it, and the source elsewhere. Lines are counted in the source, so not in the built
 * package.
 */
export const packageEnvironment = (): Record<string, string> => {
  const source = join(root, 'tsconfig.json')
  if (process.env.ALLOT_SPEC_PROGRAM === undefined) return { TSX_TSCONFIG_PATH: source }
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, { default: string }>
  }
  const paths = Object.fromEntries(
    Object.entries(exports).map(([name, { default: file }]) => [join('allot', name), [join(root, file)]]),
  )
  const file = join(temporaryDirectory(), 'tsconfig.json')
  writeFileSync(file, JSON.stringify({ extends: source, compilerOptions: { paths }, include: ['/**/*'] }))
  return { TSX_TSCONFIG_PATH: file, NODE_V8_COVERAGE: '' }
}
