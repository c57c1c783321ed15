import { Command, type Option } from 'commander'
import { VERSION } from '../lib/version.ts'
import { examples } from './commands/options.ts'
import { addServeCommand } from './commands/serve.ts'

/** The command line without commands. */
export const newProgram = (): Command =>
  new Command('allot')
    .description('A code-hosting HTTP API with an exact storage-quota engine.')
    .version(VERSION)
    // An option belongs to the command that it follows: `migrate` and `migrate verify` have options of the
    // same names.
    .enablePositionalOptions()
    .addHelpText('after', examples('allot serve --data ./data', 'allot quota show alice'))

/** The command line with `serve` alone: a server does not load the other commands. */
export const createServeProgram = (): Command => {
  const program = newProgram()
  addServeCommand(program)
  return withErrors(program)
}

/**
 * Makes all commands throw their errors, after a sentence that says what is wrong and a line that says how to
 * get help.
 */
export const withErrors = (program: Command): Command => {
  forEachCommand(program, (command) => {
    const path = pathOf(command)
    const what = command.options.some(isValued) || command.commands.length === 0 ? 'options' : 'commands'
    command.exitOverride().showHelpAfterError(`(run ${path} --help for the ${what})`)
    command.addHelpText('before', ({ error }) =>
      error ? `error: name one of the commands of ${path}\n` : '',
    )
    for (const option of command.options.filter(isValued)) {
      refuseTwice(command, option)
      refuseNoName(command, option)
    }
  })
  return program
}

const pathOf = (command: Command): string =>
  command.parent === null ? command.name() : `${pathOf(command.parent)} ${command.name()}`

const isValued = ({ required }: Option): boolean => required

/**
 * Refuses an empty name of a file, a folder, a server or an owner, and an option in its place: its own value
 * is missing then.
 */
const refuseNoName = (command: Command, option: Option): void => {
  if (!/<(?:file|dir|url|name|old=new)>/.test(option.flags)) return
  command.on(`option:${option.name()}`, (value: string) => {
    if (value === '') command.error(`error: option '${option.flags}' is empty: give it a value`)
    if (value.startsWith('--'))
      command.error(`error: option '${option.flags}' has no value: ${value} follows it, which is an option`)
  })
}

/** Refuses an option with a value that is given again: one of the values would be ignored. */
const refuseTwice = (command: Command, option: Option): void => {
  if (option.variadic || Array.isArray(option.defaultValue)) return
  let isGiven = false
  command.on(`option:${option.name()}`, () => {
    if (isGiven) command.error(`error: option '${option.flags}' is given twice: give it once`)
    isGiven = true
  })
}

/** Calls `visit` for a command and all commands below it. */
export const forEachCommand = (command: Command, visit: (command: Command) => void): void => {
  visit(command)
  for (const child of command.commands) forEachCommand(child, visit)
}
