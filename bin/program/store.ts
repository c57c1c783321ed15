import type { Command } from 'commander'
import { appendValue, example, remoteOptions, storeOptions } from '../commands/options.ts'

export const defineStoreCommands = (program: Command): void => {
  remoteOptions(storeOptions(program.command('export')))
    .description('write everything, as it is at one moment, into one file; it holds secrets')
    .option('--out <file>', 'the file, which only its owner may read (default: standard output)')
    .addHelpText('after', example('allot export --url http://127.0.0.1:3000 --out backup.ndjson'))
    .action(async (flags) => (await import('../commands/export.ts')).exportEverything(flags))
  storeOptions(program.command('import'))
    .argument('<file>', 'what `allot export` has written; - for standard input')
    .description('read an export into a store that has nothing in it')
    .addHelpText('after', example('allot import backup.ndjson --data /var/lib/allot'))
    .action(async (file, flags) => (await import('../commands/import.ts')).importEverything(file, flags))
  storeOptions(program.command('migrate'))
    .description('copy accounts, repositories, keys, relations and quota from a Gitea, a Forgejo or an Allot')
    .requiredOption('--from <url>', 'the server to copy from')
    .option(
      '--token <t>',
      "an administrator's token of it (or ALLOT_FROM_TOKEN, which no other user of the machine sees)",
    )
    .option(
      '--owner <name>',
      'only this user or organization, with its members; may be given again',
      appendValue,
      [],
    )
    .addHelpText(
      'after',
      example(
        'ALLOT_FROM_TOKEN=… allot migrate --from https://git.example.org --data /var/lib/allot',
        'allot migrate --from https://git.example.org --owner acme --owner alice',
      ),
    )
    .action(async (flags) => (await import('../commands/migrate.ts')).migrateFrom(flags))
  storeOptions(program.command('verify'))
    .description('recount every index, counter and sum of the store against its records')
    .option('--repair', 'mend what follows from records; for a damaged LevelDB, after its own repair')
    .addHelpText('after', example('allot verify --data /var/lib/allot'))
    .action(async (flags) => (await import('../commands/verify.ts')).verifyStore(flags))
}
