import { Command } from 'commander'
import { VERSION } from '../lib/version.ts'
import { example } from './commands/options.ts'
import { defineServeCommand } from './commands/serve.ts'
import { defineAccountCommands } from './program/accounts.ts'
import { defineCompletionCommand } from './program/completion.ts'
import { defineQuotaCommands } from './program/quota.ts'
import { defineStoreCommands } from './program/store.ts'

/** All words of the command line; what they do is loaded when it is asked for. */
export const createProgram = (): Command => {
  const program = new Command('allot')
    .description('A code-hosting HTTP API with an exact storage-quota engine.')
    .version(VERSION)
    .addHelpText('after', example('allot serve --data ./data', 'allot quota show alice'))
  for (const words of [
    defineServeCommand,
    defineAccountCommands,
    defineQuotaCommands,
    defineStoreCommands,
    defineCompletionCommand,
  ])
    words(program)
  forEach(program, (command) => command.exitOverride().showHelpAfterError('(add --help for the options)'))
  return program
}

export const forEach = (command: Command, work: (command: Command) => void): void => {
  work(command)
  for (const sub of command.commands) forEach(sub, work)
}
