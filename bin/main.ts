import { createServeProgram } from './command-line.ts'
import { errorLine, exitCodeOf } from './errors.ts'

/** A reader such as `head` may close the pipe early; that isn't a failure. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

/** So may the reader of the log, or its disk be full: a log must not end its server. */
process.stderr.on('error', () => undefined)

const programFor = async (command: string | undefined) =>
  command === 'serve' ? createServeProgram() : (await import('./program.ts')).createProgram()

try {
  const words = process.argv.slice(2)
  await (await programFor(words[0])).parseAsync(words, { from: 'user' })
} catch (error) {
  process.exitCode = exitCodeOf(error)
  process.stderr.write(errorLine(error))
}
