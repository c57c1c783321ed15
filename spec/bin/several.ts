import { errorLine, exitCodeOf } from '../../bin/errors.ts'
import { createProgram } from '../../bin/program.ts'

/** Several command lines in one process, one after another: `several.ts '[["user","list"],…]'` prints what each has said. */
const [stdout, stderr] = [
  process.stdout.write.bind(process.stdout),
  process.stderr.write.bind(process.stderr),
]

const results = []
for (const args of JSON.parse(process.argv[2]!) as string[][]) {
  const outcome = { code: 0, out: '', err: '' }
  process.stdout.write = (text: string | Uint8Array) => {
    outcome.out += text
    return true
  }
  process.stderr.write = (text: string | Uint8Array) => {
    outcome.err += text
    return true
  }
  try {
    await createProgram().parseAsync(args, { from: 'user' })
  } catch (error) {
    outcome.code = exitCodeOf(error)
    outcome.err += errorLine(error)
  }
  results.push(outcome)
}
Object.assign(process.stdout, { write: stdout })
Object.assign(process.stderr, { write: stderr })
process.stdout.write(JSON.stringify(results))
