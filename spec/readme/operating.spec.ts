import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { readConfig } from '../../bin/config/config.ts'
import { createProgram } from '../../bin/program.ts'
import { served } from '../bin/program.ts'
import { instructionsIn } from '../pack/dockerfile.ts'
import { startOptions } from '../support/build.ts'
import { outcome, run } from '../support/child.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'
import { SAMPLE, sample } from './sample.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const manifest = JSON.parse(read('package.json')) as {
  scripts: Record<string, string>
  engines: { node: string }
}

/**
 * Parses a command line of `allot`; fails for an unknown command or option.
 * @returns the options
 */
const parseCommand = (words: readonly string[]): Record<string, string> => {
  const [name, ...flags] = words
  const command = createProgram().commands.find((candidate) => candidate.name() === name)
  assert.ok(command, `allot ${name}`)
  const { unknown, operands } = (command as Command).parseOptions(flags)
  assert.deepEqual([operands, unknown], [[], []], words.join(' '))
  return command.opts()
}

describe('The sample configuration', () => {
  it('has every option of the schema', () => {
    assert.equal(readFileSync(SAMPLE, 'utf8'), sample(), 'run: npx tsx spec/readme/sample.ts')
  })

  it('is valid, and states the defaults', () => {
    assert.deepEqual(readConfig(SAMPLE), readConfig(undefined))
    const file = join(temporaryDirectory(), 'allot.toml')
    writeFileSync(file, read('examples/allot.toml').replaceAll(/^#(?=\w+ = |\[)/gm, ''))
    const config = readConfig(file)
    assert.equal(config.quota.defaultTotal, 20 * 1024 ** 3)
    const { storage, maxConnectionsPerAddress, tlsCertificate, tlsKey, redirectPort, ...server } =
      config.server
    assert.deepEqual(server, readConfig(undefined).server)
    assert.match(storage!, /^postgres:/)
    assert.deepEqual(
      [tlsCertificate, tlsKey].map((file) => file?.slice(-4)),
      ['.pem', '.pem'],
    )
    assert.equal(redirectPort, 80)
    assert.equal(maxConnectionsPerAddress, 250)
    assert.equal(config.storage.retries, 30)
  })

  it('can be given by the environment alone, with a variable of its own for each option', () => {
    const file = join(temporaryDirectory(), 'allot.toml')
    const text = read('examples/allot.toml')
      .replaceAll(/^#(?=\w+ = |\[)/gm, '')
      .replaceAll(/^\w+ = ""$/gm, '')
    writeFileSync(file, text)
    const variables: [name: string, value: string][] = []
    let section = ''
    for (const line of text.split('\n')) {
      section = /^\[(\w+)\]$/.exec(line)?.[1] ?? section
      const [, key, value] = /^(\w+) = (.*)$/.exec(line) ?? []
      if (key === undefined) continue
      const given: unknown = JSON.parse(value!)
      variables.push([`ALLOT_${section}_${key}`.toUpperCase(), String(given)])
    }
    const environment = Object.fromEntries(variables)
    assert.equal(Object.keys(environment).length, variables.length)
    // The section turns webhooks on by itself.
    assert.deepEqual(readConfig(undefined, environment), readConfig(file, {}))
  })
})

it('starts Node with the same limit of memory by npm start, in the image and by the units', () => {
  const options = startOptions().join(' ')
  assert.match(options, /^--max-semi-space-size=\d+$/)
  assert.match(read('Dockerfile'), new RegExp(`^ENV NODE_OPTIONS=${options}$`, 'm'))
  for (const unit of ['examples/allot.service', 'examples/postgres/allot.service'])
    assert.match(read(unit), new RegExp(`^Environment=NODE_OPTIONS=${options}$`, 'm'))
  assert.ok(read('docs/operations.md').includes(`\`NODE_OPTIONS=${options} allot serve\``))
})

describe('The Dockerfile', () => {
  const all = instructionsIn(read('Dockerfile'))
  const last = all.slice(all.findLastIndex(([name]) => name === 'FROM'))
  const of = (name: string, among = last) =>
    among.filter(([instruction]) => instruction === name).map(([, rest]) => rest)
  const [entry, words] = [of('ENTRYPOINT')[0]!, of('CMD')[0]!].map(
    (text) => JSON.parse(text) as string[],
  ) as [string[], string[]]

  it('runs an existing command on the exposed port and in the volume, and not as root', () => {
    assert.equal(entry.at(-1), 'allot')
    const { port, host, data } = parseCommand(words)
    assert.deepEqual([port, host, data], [of('EXPOSE')[0], '0.0.0.0', of('VOLUME')[0]])
    const runs = of('RUN').join('\n')
    assert.ok(runs.includes(`install -d -o ${of('USER')[0]} -g ${of('USER')[0]} -m 700 ${data}`))
    assert.notEqual(of('USER')[0], 'root')
    assert.ok(last.findIndex(([name]) => name === 'USER') > last.findLastIndex(([name]) => name === 'RUN'))
  })

  it('copies only existing or built files', () => {
    const ignored = read('.dockerignore').split('\n')
    const built = ['node_modules', 'dist']
    for (const [name, rest] of all.filter(([name]) => name === 'COPY')) {
      const sources = rest
        .split(' ')
        .slice(0, -1)
        .filter((word) => !word.startsWith('--'))
      for (const source of sources.map((path) => path.replace('/build/', '')))
        assert.ok(
          built.includes(source) || (existsSync(join(root, source)) && !ignored.includes(source)),
          `${name} ${rest}`,
        )
    }
    assert.ok(manifest.scripts.build!.includes('tsc'))
    const run = [...read('Dockerfile').matchAll(/npm run ([\w:]+)/g)].map(([, script]) => script!)
    assert.ok(run.length > 0)
    for (const script of run) assert.ok(script in manifest.scripts, script)
    const { bin } = JSON.parse(read('package.json')) as { bin: { allot: string } }
    assert.ok(of('RUN').join('\n').includes(`ln -s /opt/allot/${bin.allot} /usr/local/bin/allot`))
  })

  it('uses a supported version of Node, and installs git', () => {
    const node = Number(/^NODE=(\d+)$/.exec(of('ARG', all)[0]!)![1])
    assert.ok(node >= Number.parseInt(manifest.engines.node.replace('>=', ''), 10))
    assert.match(of('RUN').join('\n'), /apt-get install -y --no-install-recommends [^&]*\bgit\b/)
  })

  it('has a health check that passes with a server and fails without', async () => {
    const [, text] = /CMD (\[.*\])$/.exec(of('HEALTHCHECK')[0]!)!
    const [node, ...args] = JSON.parse(text!) as string[]
    assert.equal(node, 'node')
    const port = `127.0.0.1:${of('EXPOSE')[0]}`
    assert.ok(args.at(-1)!.includes(port))
    const codeOf = async (host: string) =>
      (
        await outcome(
          process.execPath,
          args.map((arg) => arg.replace(port, host)),
        )
      ).code
    const server = await served(['--data', temporaryDirectory()])
    atEnd(() => server.stop())
    const { host } = new URL(server.api)
    assert.equal(await codeOf(host), 0)
    await server.stop()
    assert.equal(await codeOf(host), 1)
  })
})

describe('The systemd unit', () => {
  const unit = read('examples/allot.service')
  const words = /^ExecStart=\/usr\/bin\/env allot (.*)$/m.exec(unit)![1]!.split(' ')

  it('runs an existing command on its state directory', () => {
    const { data, config } = parseCommand(words)
    assert.equal(data, `/var/lib/${/^StateDirectory=(.*)$/m.exec(unit)![1]}`)
    assert.ok(unit.split('[Unit]')[0]!.includes(config!), 'the comment names the configuration file')
    assert.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1]) > 15, 'the timeout is longer than a shutdown')
  })

  it('passes systemd-analyze verify and security', { skip: lacks('systemd-analyze') }, async () => {
    const file = join(temporaryDirectory(), 'allot.service')
    writeFileSync(file, unit)
    const { stderr } = await run('systemd-analyze', ['verify', '--man=no', file])
    assert.ok(!stderr.includes('allot.service'), stderr)
    const { stdout } = await run('systemd-analyze', ['security', '--offline=true', '--no-pager', file])
    const [, exposure] = /exposure level for \S+: (\d+\.\d)/.exec(stdout) ?? assert.fail(stdout)
    assert.ok(Number(exposure) < 2.5, stdout)
  })

  it('permits the calls that lower priorities and limit memory', {
    skip: lacks('systemd-analyze'),
  }, async () => {
    const callsOf = async (set: string): Promise<string[]> => {
      const { stdout } = await run('systemd-analyze', ['syscall-filter', '--no-pager', set])
      const names = [...stdout.matchAll(/^ +([@\w-]+)$/gm)].map(([, name]) => name!)
      return (await Promise.all(names.map((name) => (name.startsWith('@') ? callsOf(name) : [name])))).flat()
    }
    const filters = [...unit.matchAll(/^SystemCallFilter=(~?)(.*)$/gm)]
    const ofSign = async (sign: string) =>
      (
        await Promise.all(
          filters.filter(([, one]) => one === sign).flatMap(([, , sets]) => sets!.split(' ').map(callsOf)),
        )
      ).flat()
    const [permitted, denied] = [await ofSign(''), await ofSign('~')]
    for (const call of ['setpriority', 'getpriority', 'prlimit64', 'setrlimit'])
      assert.deepEqual([permitted.includes(call), denied.includes(call)], [true, false], call)
  })
})
