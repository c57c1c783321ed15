import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { readConfig } from '../../bin/config/config.ts'
import { begin, whenServing } from '../bin/program.ts'
import { command } from '../migrate/command.ts'
import { missing } from '../postgres/cluster.ts'
import { emptyStore } from '../postgres/empty-store.ts'
import { outcomeSync } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { isLong } from '../support/long.ts'
import { lacks } from '../support/requirements.mjs'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folder = join(root, 'examples/postgres')
const text = (file: string) => readFileSync(join(folder, file), 'utf8')

const compose = parse(text('compose.yaml'))
const unit = text('allot.service')
const dockerfile = readFileSync(join(root, 'Dockerfile'), 'utf8')

const start = (line: string): string[] => line.split(/\s+/)
const composeCommand = start(compose.services.allot.command)
const [, execStart] = /^ExecStart=\/usr\/bin\/env allot (.*)$/m.exec(unit)!

/** Replaces the values of options that do not exist on this machine; the others are tested as they are. */
const replaceArguments = (args: readonly string[], values: Record<string, string>): string[] =>
  args.map((argument, index) => values[args[index - 1] ?? ''] ?? argument)

const assertRuns = async (words: readonly string[], own: Record<string, string>): Promise<void> => {
  const server = await whenServing(
    begin(replaceArguments(words, { '--port': '0', '--workers': '2', ...own })),
  )
  try {
    const ready = new URL('/-/readyz', server.api)
    assert.equal((await fetch(ready)).status, 200)
  } finally {
    assert.equal(await server.stop(), 0)
  }
}

const inPostgres = () => {
  it('starts Allot with the command of compose.yaml, and its health check asks for readiness', async (t) => {
    const { url, drop } = await emptyStore()
    t.after(drop)
    assert.equal(composeCommand[0], 'serve')
    await assertRuns(composeCommand, {
      '--host': '127.0.0.1',
      '--data': temporaryDirectory(),
      '--storage': url,
    })
    assert.match(compose.services.allot.healthcheck.test, /127\.0\.0\.1:3000\/-\/readyz/)
  })

  it('starts Allot with the command of the systemd unit and its configuration file', async (t) => {
    const { url, drop } = await emptyStore()
    t.after(drop)
    const config = join(temporaryDirectory(), 'allot.toml')
    const { server } = readConfig(join(folder, 'allot.toml'))
    const own = text('allot.toml').replace(server.storage!, url).replace(server.data, temporaryDirectory())
    writeFileSync(config, own.replace(`port = ${server.port}`, 'port = 0'))
    await assertRuns(start(execStart!), { '--config': config })
  })
}
if (isLong) describe('examples/postgres', { skip: missing }, inPostgres)

describe('The files in examples/postgres', () => {
  it('have only options of allot serve', async () => {
    const { out } = await command(['serve', '--help'])
    for (const word of [...composeCommand, ...start(execStart!)].filter((argument) =>
      argument.startsWith('--'),
    ))
      assert.ok(out.includes(`${word} <`), word)
  })

  it('use the same port everywhere', () => {
    const port = composeCommand[composeCommand.indexOf('--port') + 1]
    assert.deepEqual(compose.services.allot.ports, [`127.0.0.1:${port}:${port}`])
    assert.match(dockerfile, new RegExp(`^EXPOSE ${port}$`, 'm'))
    assert.equal(readConfig(join(folder, 'allot.toml')).server.port, Number(port))
  })

  it('let the database accept the connections of all workers', () => {
    const [, maxConnections] = /max_connections=(\d+)/.exec(compose.services.database.command)!
    const workers = Number(composeCommand[composeCommand.indexOf('--workers') + 1])
    assert.ok(workers * (6 + 4) < Number(maxConnections))
    assert.match(compose.services.database.image, /^postgres:15$/)
  })

  it('use the Dockerfile of the checkout, its folder for data, and the same first process', () => {
    const { allot } = compose.services
    assert.ok(existsSync(join(folder, allot.build, 'Dockerfile')))
    const [, data] = /^VOLUME (\S+)$/m.exec(dockerfile)!
    assert.equal(composeCommand[composeCommand.indexOf('--data') + 1], data)
    assert.deepEqual(allot.volumes, [`repositories:${data}`])
    const [, entry] = /^ENTRYPOINT (\[.*\])$/m.exec(dockerfile)!
    const [init, dashes, program] = JSON.parse(entry!)
    assert.deepEqual(allot.entrypoint.slice(0, 2), [init, dashes])
    assert.match(allot.entrypoint.join(' '), new RegExp(`exec ${program} `))
  })

  it('wait longer for a shutdown than a shutdown takes', () => {
    const limits = [/^TimeoutStopSec=(\d+)$/m.exec(unit), /grace_period: (\d+)s$/m.exec(text('compose.yaml'))]
    for (const limit of limits) assert.ok(Number(limit?.[1]) > 15)
  })

  it('have a unit that passes systemd-analyze verify', { skip: lacks('systemd-analyze') }, () => {
    const copy = join(temporaryDirectory(), 'allot.service')
    writeFileSync(copy, unit.replace('User=allot', 'User=root'))
    const { status, stderr } = outcomeSync('systemd-analyze', ['verify', '--man=no', copy])
    const messages = stderr.split('\n').filter((line) => line.includes('allot.service'))
    assert.deepEqual([messages, status], [[], 0])
  })
})
