import type { Command } from 'commander'
import { newProgram, withErrors } from './command-line.ts'
import { addOrganizationCommands, addTokenCommands, addUserCommands } from './commands/accounts.ts'
import { addCleanUpCommand } from './commands/clean-up.ts'
import { addCompletionCommand } from './commands/completion.ts'
import { addDoctorCommand } from './commands/doctor.ts'
import { addExportCommand, addImportCommand } from './commands/exports.ts'
import { addMigrateCommand } from './commands/migrate.ts'
import { addApplyCommand, addGroupCommands, addRuleCommands } from './commands/quota-rules.ts'
import { addUsageCommands } from './commands/quota-usage.ts'
import { addRepositoryCommands } from './commands/repositories.ts'
import { addServeCommand } from './commands/serve.ts'
import { addVerifyCommand } from './commands/verify.ts'

/**
 * The command line. Each file of `commands/` declares its commands and runs them. It imports what a command
 * needs of the server and of the store only when the command runs, so that `--help` and commands against a
 * server start fast.
 */
export const createProgram = (): Command => {
  const program = newProgram()
  addServeCommand(program)
  addUserCommands(program)
  addTokenCommands(program)
  addOrganizationCommands(program)
  addRepositoryCommands(program)
  addCleanUpCommand(program)
  const quota = program.command('quota').description('show storage usage, and manage its limits')
  addUsageCommands(quota)
  addApplyCommand(quota)
  addRuleCommands(quota)
  addGroupCommands(quota)
  addExportCommand(program)
  addImportCommand(program)
  addMigrateCommand(program)
  addVerifyCommand(program)
  addDoctorCommand(program)
  addCompletionCommand(program)
  return withErrors(program)
}
