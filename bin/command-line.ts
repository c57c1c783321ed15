import { Command } from 'commander'
import { VERSION } from '../lib/version.ts'
import { examples } from './commands/options.ts'
import { addServeCommand } from './commands/serve.ts'

/** The command line without commands. */
export const newProgram = (): Command =>
  new Command('allot')
    .description('A code-hosting HTTP API with an exact storage-quota engine.')
    .version(VERSION)
    // An option belongs to the command that it follows: `migrate` and `migrate verify` have options of the same names.
    .enablePositionalOptions()
    .addHelpText('after', examples('allot serve --data ./data', 'allot quota show alice'))

/** The command line with `serve` alone: a server does not load the other commands. */
export const createServeProgram = (): Command => {
  const program = newProgram()
  addServeCommand(program)
  return withErrors(program)
}

/** Makes all commands throw their errors, and print how to get help. */
export const withErrors = (program: Command): Command => {
  forEachCommand(program, (command) =>
    command.exitOverride().showHelpAfterError('(add --help for the options)'),
  )
  return program
}

/** Calls `visit` for a command and all commands below it. */
export const forEachCommand = (command: Command, visit: (command: Command) => void): void => {
  visit(command)
  for (const child of command.commands) forEachCommand(child, visit)
}
