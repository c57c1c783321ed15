import type { Command } from 'commander'
import type { StoreFlags } from '../config/store.ts'
import { UsageError } from '../errors.ts'
import type { ServerFlags } from '../server/serve.ts'
import { examples, storeOptions } from './options.ts'

/** The flags of `allot serve` besides those of the store, as their texts. */
type FlagName = Exclude<keyof ServerFlags, keyof StoreFlags> | 'workers'
type Flags = StoreFlags & { [F in FlagName]?: string }

/** The value and the description of each flag. */
const FLAGS: Readonly<Record<FlagName, readonly [value: string, description: string]>> = {
  port: ['<n>', 'port to listen on; 0 picks a free port (default: 3000)'],
  host: ['<h>', 'address to listen on (default: 127.0.0.1)'],
  tlsCertificate: ['<file>', 'PEM file with the certificate, for https; SIGHUP reads it again'],
  tlsKey: ['<file>', 'PEM file with the private key of the certificate'],
  redirectPort: ['<n>', 'port for http whose requests are redirected to https'],
  sshPort: ['<n>', 'port for git over SSH, which is off otherwise; needs the package ssh2'],
  workers: [
    '<n>',
    'number of processes that share the port and a PostgreSQL database (default: one process)',
  ],
}

export const addServeCommand = (program: Command): void => {
  const command = storeOptions(program.command('serve')).description(
    'run the server in the foreground; SIGTERM and SIGINT stop it after the requests in flight',
  )
  for (const [name, [value, description]] of Object.entries(FLAGS))
    command.option(
      `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)} ${value}`,
      description,
    )
  command
    .addHelpText(
      'after',
      examples(
        'allot serve --data /var/lib/allot --port 3000',
        'allot serve --port 443 --tls-certificate fullchain.pem --tls-key privkey.pem --redirect-port 80',
      ),
    )
    .allowExcessArguments()
    .action((flags: Flags, { args: [word] }: Command) => {
      if (word === undefined) return runServer(flags)
      throw new UsageError(`${word} belongs to no option: with npm start, write -- before the options`)
    })
}

const MAX_PORT = 65_535
/** An upper bound against typing errors. */
const MAX_WORKERS = 128

const runServer = async ({ port, redirectPort, sshPort, workers, ...flags }: Flags): Promise<void> => {
  const ports = {
    ...(port !== undefined && { port: parseNumber('--port', port, 0, MAX_PORT) }),
    ...(redirectPort !== undefined && {
      redirectPort: parseNumber('--redirect-port', redirectPort, 0, MAX_PORT),
    }),
    ...(sshPort !== undefined && { sshPort: parseNumber('--ssh-port', sshPort, 1, MAX_PORT) }),
  }
  const count = workers === undefined ? undefined : parseNumber('--workers', workers, 1, MAX_WORKERS)
  const { serve } = await import('../server/serve.ts')
  await serve({ ...flags, ...ports }, count)
}

const parseNumber = (option: string, text: string, min: number, max: number): number => {
  const number = Number(text)
  if (/^\d+$/.test(text) && number >= min && number <= max) return number
  throw new UsageError(`${option} ${text}: expected a number from ${min} to ${max}`)
}
