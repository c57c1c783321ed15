import { errorLine, exitCodeOf } from '../../bin/errors.ts'
import { LIMITS } from '../../bin/migrate/source-requests.ts'
import { createProgram } from '../../bin/program.ts'
import type { Outcome } from '../bin/program.ts'

/** Of the streams of the process; bytes are those of the test runner, which reports while a command runs. */
const capture = (stream: NodeJS.WriteStream, hear: (text: string) => void): (() => void) => {
  const { write } = stream
  stream.write = (chunk: string | Uint8Array, ...more: unknown[]) => {
    if (typeof chunk !== 'string') return Reflect.apply(write, stream, [chunk, ...more]) as boolean
    hear(chunk)
    return true
  }
  return () => {
    stream.write = write
  }
}

/** Runs a command line in this process. A migration waits no time before it sends a request again. */
export const command = async (
  args: readonly string[],
  { env = {} }: { env?: Record<string, string> } = {},
): Promise<Outcome> => {
  const outcome = { code: 0, out: '', err: '' }
  const { exitCode, env: environment } = process
  process.env = { ...environment, ...env }
  process.exitCode = 0
  LIMITS.pause = async () => undefined
  const restore = [
    capture(process.stdout, (text) => {
      outcome.out += text
    }),
    capture(process.stderr, (text) => {
      outcome.err += text
    }),
  ]
  try {
    const program = createProgram()
    await program.parseAsync(args, { from: 'user' })
    outcome.code = Number(process.exitCode)
  } catch (error) {
    outcome.code = exitCodeOf(error)
    outcome.err += errorLine(error)
  } finally {
    for (const end of restore) end()
    delete LIMITS.pause
    process.env = environment
    process.exitCode = exitCode
  }
  return outcome
}
