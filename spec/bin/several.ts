import { withHelpOption } from '../../bin/command-line.ts'
import { errorLine, exitCodeOf } from '../../bin/errors.ts'
import { createProgram } from '../../bin/program.ts'
import type { CommandLine, Outcome } from './program.ts'

/**
 * Runs the command lines that its only argument lists as JSON, one after another, and prints the outcome of
 * each.
 */
const [stdout, stderr] = [
  process.stdout.write.bind(process.stdout),
  process.stderr.write.bind(process.stderr),
]
const environment = { ...process.env }

const run = async ({ args, env }: CommandLine): Promise<Outcome> => {
  const outcome = { code: 0, out: '', err: '' }
  process.env = { ...environment, ...env }
  process.exitCode = 0
  process.stdout.write = (text: string | Uint8Array) => {
    outcome.out += text
    return true
  }
  process.stderr.write = (text: string | Uint8Array) => {
    outcome.err += text
    return true
  }
  try {
    const program = createProgram()
    await program.parseAsync(withHelpOption(program, args), { from: 'user' })
    outcome.code = Number(process.exitCode)
  } catch (error) {
    outcome.code = exitCodeOf(error)
    outcome.err += errorLine(error)
  }
  return outcome
}

const outcomes: Outcome[] = []
for (const one of JSON.parse(process.argv[2]!) as CommandLine[]) outcomes.push(await run(one))
Object.assign(process.stdout, { write: stdout })
Object.assign(process.stderr, { write: stderr })
process.exitCode = 0
process.stdout.write(JSON.stringify(outcomes))
