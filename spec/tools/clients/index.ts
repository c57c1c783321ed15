import assert from 'node:assert/strict'
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { MAX_USED } from '../../../lib/quota/usage.ts'
import { run } from '../../support/child.ts'
import { temporaryDirectory } from '../../support/folder.ts'
import { programOf } from '../../support/requirements.mjs'
import { createSender, start } from '../../support/test-server.ts'

/*
 * `npm run clients`: generates clients in Go and in Python from the OpenAPI document of a running server, and
 * lets each read a quota. It installs the generators, which need their package registries: run it by hand.
 */
const GO_GENERATOR = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'
const PYTHON_GENERATOR = 'openapi-python-client==0.29.1'

/** Milliseconds for a command, which may install or compile. */
const COMMAND_MS = 900_000

/** Beyond 32 bits, and of all 53 bits that JSON numbers have in most languages. */
const [USED, LIMIT] = [MAX_USED - 1, Number.MAX_SAFE_INTEGER]

const folder = temporaryDirectory()
const programs = import.meta.dirname
const document = join(folder, 'openapi.json')

const exec = async (command: string, args: string[], cwd: string, env: object = {}) => {
  const began = performance.now()
  const options = { cwd, env: { ...process.env, ...env }, timeout: COMMAND_MS }
  const { stdout } = await run(command, args, options)
  console.log(`${((performance.now() - began) / 1000).toFixed(1)} s: ${command} ${args[0]}`)
  return stdout
}

/** @returns what the program printed */
const readInGo = async (api: string, token: string): Promise<string> => {
  const go = programOf('go')
  if (go === undefined) throw new Error('go is not installed')
  const module = join(folder, 'go')
  cpSync(join(programs, 'go'), module, { recursive: true })
  mkdirSync(join(module, 'api'))
  const env = { GOBIN: folder, GOFLAGS: '-mod=mod' }
  await exec(go, ['install', GO_GENERATOR], folder, { GOBIN: folder })
  const generate = [
    '-generate',
    'types,client',
    '-package',
    'api',
    '-o',
    join(module, 'api/api.go'),
    document,
  ]
  await exec(join(folder, 'oapi-codegen'), generate, folder)
  await exec(go, ['vet', './...'], module, env)
  return exec(go, ['run', '.', api, token], module, env)
}

/** @returns what the program printed */
const readInPython = async (api: string, token: string): Promise<string> => {
  const bin = join(folder, 'venv/bin')
  await exec('python3', ['-m', 'venv', 'venv'], folder)
  await exec(join(bin, 'pip'), ['install', '--quiet', PYTHON_GENERATOR], folder)
  const generate = ['generate', '--path', document, '--output-path', join(folder, 'python')]
  await exec(join(bin, 'openapi-python-client'), generate, folder)
  await exec(join(bin, 'python'), ['-m', 'compileall', '-q', 'python'], folder)
  const env = { PYTHONPATH: join(folder, 'python') }
  return exec(join(bin, 'python'), [join(programs, 'python/read_quota.py'), api, token], folder, env)
}

const { allot, api, root, stop } = await start({ repositories: false })
try {
  const { rules, groups } = allot.quota
  await rules.create({ name: 'large', limit: LIMIT, subjects: ['size:assets:artifacts'] })
  await groups.create({ name: 'large', rules: ['large'] })
  await groups.assign('root', 'large')
  await allot.ledger.put({ kind: 'artifacts', key: 'large', owner: 'root', name: 'large', size: USED })
  const served = await createSender(api)('GET', '/openapi.json')
  writeFileSync(document, JSON.stringify(served.body))
  const expected = `${USED} ${LIMIT} ${LIMIT - USED}\n`
  assert.equal(await readInGo(api, root.token), expected, 'Go')
  assert.equal(await readInPython(api, root.token), expected, 'Python')
  const operations = readFileSync(document, 'utf8').match(/"operationId"/g)!.length
  console.log(`Both clients of ${operations} operations read the quota to the byte: ${expected}`)
} finally {
  await stop()
}
