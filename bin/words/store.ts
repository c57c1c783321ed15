import type { Command } from 'commander'
import { example, onRemote, onStore } from './flags.ts'

export const storeWords = (program: Command): void => {
  onRemote(onStore(program.command('export')))
    .description('write everything, as it is at one moment, into one file; it holds secrets')
    .option('--out <file>', 'the file, which only its owner may read (default: standard output)')
    .addHelpText('after', example('allot export --url http://127.0.0.1:3000 --out backup.ndjson'))
    .action(async (flags) => (await import('../commands/export.ts')).exportEverything(flags))
  onStore(program.command('import'))
    .argument('<file>', 'what `allot export` has written; - for standard input')
    .description('read an export into a store that has nothing in it')
    .addHelpText('after', example('allot import backup.ndjson --data /var/lib/allot'))
    .action(async (file, flags) => (await import('../commands/import.ts')).importEverything(file, flags))
  onStore(program.command('verify'))
    .description('recount every index, counter and sum of the store against its records')
    .option('--repair', 'mend what follows from records; for a damaged LevelDB, after its own repair')
    .addHelpText('after', example('allot verify --data /var/lib/allot'))
    .action(async (flags) => (await import('../commands/verify.ts')).verifyStore(flags))
}
