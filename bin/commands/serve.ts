import type { Command } from 'commander'
import { example, storeOptions } from './options.ts'

export const defineServeCommand = (program: Command): void => {
  storeOptions(program.command('serve'))
    .description('the server in the foreground; SIGTERM and SIGINT finish what is in flight')
    .option('--port <n>', 'the port; 0 picks a free one (default: 3000)')
    .option('--host <h>', 'the address to listen on (default: 127.0.0.1)')
    .option('--workers <n>', 'so many processes that share the port, and a PostgreSQL (default: one process)')
    .addHelpText('after', example('allot serve --data /var/lib/allot --port 3000'))
    .action(async (flags) => (await import('../server/serve.ts')).serve(flags))
}
