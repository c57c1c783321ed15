import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { forEachCommand } from '../../bin/command-line.ts'
import { completionScript } from '../../bin/commands/completion.ts'
import { writeFault } from '../../bin/errors.ts'
import { createProgram } from '../../bin/program.ts'
import { runSync } from '../support/child.ts'
import { temporaryDirectory } from '../support/folder.ts'
import { lacks } from '../support/requirements.mjs'

const page = readFileSync(fileURLToPath(new URL('../../docs/administration.md', import.meta.url)), 'utf8')

interface Known {
  path: string
  command: Command
  help: string
}

const known = (): Known[] => {
  const found: Known[] = []
  forEachCommand(createProgram(), (command) => {
    const names = [command.name()]
    for (let above = command.parent; above !== null; above = above.parent) names.unshift(above.name())
    let help = ''
    command.configureOutput({
      writeOut(text) {
        help += text
      },
    })
    command.outputHelp()
    found.push({ path: names.join(' '), command, help })
  })
  return found
}

const examplesIn = (help: string): string[] =>
  help
    .slice(help.search(/^Examples?:$/m))
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** The command that an example means, and its flags. */
const wordsOf = (example: string): { words: string[]; flags: string[] } => {
  const [, said] = /\ballot ([^#>)]*)/.exec(example) ?? assert.fail(example)
  const words = said!.match(/"[^"]*"|\S+/g)!
  return { words, flags: words.filter((word) => word.startsWith('--')) }
}

describe('The commands', () => {
  const commands = known()
  const leaves = commands.filter(({ command }) => command.commands.length === 0)

  it('have a description and an example each', () => {
    assert.ok(leaves.length > 20)
    for (const { path, command, help } of leaves) {
      assert.ok(command.description().length > 8, path)
      assert.ok(examplesIn(help).length > 0, `${path} has no example`)
      assert.ok(
        examplesIn(help).some((one) => `${one} `.includes(`${path.replace(/ list$/, '')} `)),
        `no example of ${path} is one of it`,
      )
    }
  })

  it('have examples that use existing commands and options', () => {
    for (const { help } of commands)
      for (const example of examplesIn(help)) {
        const { words, flags } = wordsOf(example)
        let command = createProgram()
        for (const word of words) command = command.commands.find((one) => one.name() === word) ?? command
        const bare = command.commands.find((one) => one.name() === 'list') ?? command
        const names = bare.options.map((option) => option.long)
        for (const flag of flags) assert.ok(names.includes(flag), `${flag} of: ${example}`)
      }
  })

  it('are all in docs/administration.md', () => {
    for (const { path } of leaves)
      assert.ok(page.includes(path.replace(/ list$/, '')), `docs/administration.md does not name ${path}`)
  })
})

const folder = temporaryDirectory()

/** The words that bash offers after a line. */
const offered = (script: string, line: string): string[] =>
  runSync(
    'bash',
    [
      '--norc',
      '-c',
      `source ${script}; COMP_LINE=$1 COMP_POINT=\${#1}; _allot; printf '%s\\n' "\${COMPREPLY[@]}"`,
      'bash',
      line,
    ],
    { cwd: folder, env: { ...process.env, HOME: folder } },
  )
    .split('\n')
    .filter((line) => line !== '')

describe('Completion', () => {
  before(() => {
    mkdirSync(join(folder, 'some-folder'))
    writeFileSync(join(folder, 'some-file'), '')
  })

  it('in bash offers commands, options and their values', { skip: lacks('bash') }, () => {
    const script = join(folder, 'allot.bash')
    writeFileSync(script, completionScript(createProgram()))
    const after = (line: string) => offered(script, line)
    assert.ok(after('allot ').includes('quota'), 'commands')
    const rules = after('allot quota rules ').filter((one) => !one.startsWith('-'))
    assert.deepEqual(rules.filter((one) => one !== 'some-file' && one !== 'some-folder').sort(), [
      'delete',
      'list',
      'set',
    ])
    assert.ok(after('allot quota --help rules ').includes('set'), 'a flag between')
    assert.ok(!after('allot quota ').includes('serve'))
    assert.ok(after('allot quota show --').includes('--json'), 'flags')
    assert.ok(after('allot repo list --by ').includes('largest'), 'values')
    assert.deepEqual(
      after('allot repo list --by newest --url ').filter((one) => one === 'largest'),
      [],
    )
    assert.ok(after('allot repo list --data quota --').includes('--by'), 'a value is not a command')
    assert.ok(after('allot quota explain --subject size:').length > 4, 'values with a colon')
    const folders = after('allot serve --data some-f').map((one) => one.replace(/\/$/, ''))
    assert.deepEqual(folders, ['some-folder'])
    assert.ok(after('allot import some-f').includes('some-file'), 'files')
    after('allot quota show $(touch evaluated) ')
    after('allot quota show `touch evaluated` ')
    assert.ok(!existsSync(join(folder, 'evaluated')), 'what was typed is not run')
  })
})

describe('The reason why a file cannot be written', () => {
  for (const [message, reason] of [
    ["EACCES: permission denied, open '/a, b'", 'permission denied'],
    ['ENOSPC: no space left on device, write', 'no space left on device'],
    ['EPERM: operation not permitted, fchmod', 'operation not permitted'],
    ['EISDIR: illegal operation on a directory, read', 'illegal operation on a directory'],
    ['the disk is full, and nothing was written', 'the disk is full, and nothing was written'],
  ] as const)
    it(`is "${reason}" for "${message}"`, () => assert.equal(writeFault(new Error(message)), reason))
})
