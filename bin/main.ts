import { createServeProgram, withHelpOption } from './command-line.ts'
import { errorLine, exitCodeOf } from './errors.ts'
import { printNextSteps } from './next-steps.ts'

/** A reader such as `head` may close the pipe early; that isn't a failure. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const programFor = async (command: string | undefined) =>
  command === 'serve' ? createServeProgram() : (await import('./program.ts')).createProgram()

const run = async (words: readonly string[]) => {
  const program = await programFor(words[0])
  await program.parseAsync(withHelpOption(program, words), { from: 'user' })
}

try {
  const isBare = process.argv.length === 2 && process.stdout.isTTY === true
  await (isBare ? printNextSteps() : run(process.argv.slice(2)))
} catch (error) {
  process.exitCode = exitCodeOf(error)
  process.stderr.write(errorLine(error))
}
