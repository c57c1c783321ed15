import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { inRoot } from './source.ts'

const json = (file: string) => JSON.parse(readFileSync(inRoot(file), 'utf8'))

const { packages } = json('package-lock.json') as { packages: Record<string, { hasInstallScript?: true }> }
const { allowScripts } = json('package.json') as { allowScripts: Record<string, boolean> }

const nameOf = (path: string) => path.replace(/^.*node_modules\//, '')

describe('The packages that npm installs, for development too', () => {
  it('do not include one that reports installations', () => {
    assert.deepEqual(
      Object.keys(packages).filter((path) => nameOf(path).startsWith('@scarf/')),
      [],
    )
  })

  it('run an install script only when allowScripts in package.json allows it', () => {
    const withScript = Object.keys(packages).filter((path) => packages[path]!.hasInstallScript)
    const decided = Object.keys(allowScripts)
    assert.deepEqual([...new Set(withScript.map(nameOf))].sort(), decided.sort())
    const allowed = decided.filter((name) => allowScripts[name])
    assert.deepEqual(allowed.sort(), ['classic-level', 'esbuild'])
  })
})
