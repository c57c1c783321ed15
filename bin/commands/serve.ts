import type { Command } from 'commander'
import type { StoreFlags } from '../config/store.ts'
import { UsageError } from '../errors.ts'
import { examples, storeOptions } from './options.ts'

export const addServeCommand = (program: Command): void => {
  storeOptions(program.command('serve'))
    .description('run the server in the foreground; SIGTERM and SIGINT stop it after the requests in flight')
    .option('--port <n>', 'port to listen on; 0 picks a free port (default: 3000)')
    .option('--host <h>', 'address to listen on (default: 127.0.0.1)')
    .option(
      '--workers <n>',
      'number of processes that share the port and a PostgreSQL database (default: one process)',
    )
    .addHelpText('after', examples('allot serve --data /var/lib/allot --port 3000'))
    .action(runServer)
}

interface Flags extends StoreFlags {
  port?: string
  host?: string
  workers?: string
}

const MAX_PORT = 65_535
/** More processes than any machine can use. */
const MAX_WORKERS = 128

const runServer = async ({ port, host, workers, ...store }: Flags): Promise<void> => {
  const address = { host, port: port === undefined ? undefined : parseNumber('--port', port, 0, MAX_PORT) }
  const count = workers === undefined ? undefined : parseNumber('--workers', workers, 1, MAX_WORKERS)
  const { serve } = await import('../server/serve.ts')
  await serve(store, address, count)
}

const parseNumber = (option: string, text: string, min: number, max: number): number => {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  throw new UsageError(`${option} ${text}: expected a number from ${min} to ${max}`)
}
