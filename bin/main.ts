import { createServeProgram } from './command-line.ts'
import { errorLine, exitCodeOf } from './errors.ts'

/** A reader such as `head` may close the pipe early; that isn't a failure. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const programFor = async (command: string | undefined) =>
  command === 'serve' ? createServeProgram() : (await import('./program.ts')).createProgram()

try {
  const words = process.argv.slice(2)
  await (await programFor(words[0])).parseAsync(words, { from: 'user' })
} catch (error) {
  process.exitCode = exitCodeOf(error)
  process.stderr.write(errorLine(error))
}
