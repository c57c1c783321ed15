import { errorLine, exitCodeOf } from './errors.ts'
import { printNextSteps } from './next-steps.ts'
import { createProgram } from './program.ts'

/** A reader such as `head` may close the pipe early; that isn't a failure. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

try {
  const isBare = process.argv.length === 2 && process.stdout.isTTY === true
  await (isBare ? printNextSteps() : createProgram().parseAsync())
} catch (error) {
  process.exitCode = exitCodeOf(error)
  process.stderr.write(errorLine(error))
}
