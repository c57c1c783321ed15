#!/usr/bin/env node
import { Command, CommanderError } from 'commander'
import { VERSION } from '../lib/version.ts'
import { Usage } from './usage.ts'

/** 0 done, 1 it failed (one clear line on standard error, no stack), 2 wrong usage. */
const FAILED = 1
const MISUSED = 2

const program = new Command('allot')
  .description('A code-hosting HTTP API with an exact storage-quota engine.')
  .version(VERSION)
  .exitOverride()

/** Where the store is, and how it is set up: the same words on every command. */
const onStore = (command: Command): Command =>
  command
    .option('--data <dir>', 'the folder that holds the store and the repositories (default: ./data)')
    .option('--config <file>', 'a TOML file with options')
    .option(
      '--storage <url>',
      'where the records are: level:<folder>, postgres://… or memory: (default: in the data folder)',
    )

/** A running server to talk to: LevelDB belongs to one process, so a command cannot open what a server has. */
const onRemote = (command: Command): Command =>
  command
    .option('--url <url>', 'a running server, in the place of the store (or ALLOT_URL)')
    .option(
      '--token <t>',
      "an administrator's token for it (or ALLOT_TOKEN, which no other user of the machine sees)",
    )

onStore(program.command('serve'))
  .description('the server in the foreground; SIGTERM and SIGINT finish what is in flight')
  .option('--port <n>', 'the port; 0 picks a free one (default: 3000)')
  .option('--host <h>', 'the address to listen on (default: 127.0.0.1)')
  .option('--workers <n>', 'so many processes that share the port, and a PostgreSQL (default: one process)')
  .addHelpText('after', '\nExample:\n  allot serve --data /var/lib/allot --port 3000')
  .action(async (flags) => (await import('./commands/serve.ts')).serve(flags))

onStore(program.command('user').description('accounts of people').command('add'))
  .argument('<name>')
  .description('add a user')
  .option('--admin', 'an administrator')
  .option('--email <e>', 'the email address')
  .option('--password <p>', 'a password, at least 8 characters')
  .option('--token', 'print a new token with all scopes, and nothing else, on standard output')
  .addHelpText('after', '\nExample:\n  T=$(allot user add ci --token)')
  .action(async (name, flags) => (await import('./commands/user.ts')).addUser(name, flags))

onStore(program.command('token').description('access tokens').command('add'))
  .argument('<user>')
  .description('add a token and print it, and nothing else, on standard output')
  .option('--name <n>', 'what the token is for (default: cli and the time)')
  .option('--scopes <a,b>', 'what it may do (default: all)')
  .addHelpText('after', '\nExample:\n  T=$(allot token add ci --scopes read:user,write:repository)')
  .action(async (user, flags) => (await import('./commands/token.ts')).addToken(user, flags))

onStore(program.command('org').description('organizations').command('add'))
  .argument('<name>')
  .description('add an organization')
  .requiredOption('--owner <user>', 'the user who is its first owner')
  .addHelpText('after', '\nExample:\n  allot org add acme --owner alice')
  .action(async (name, flags) => (await import('./commands/org.ts')).addOrganization(name, flags))

onRemote(onStore(program.command('quota').description('rules, groups and who they are for').command('apply')))
  .argument('<file>', 'a TOML file of rules, groups and assignments; - for standard input')
  .description('make quota as a file says, all or nothing, and tell what that changed')
  .option('--dry-run', 'only tell what would change')
  .addHelpText('after', '\nExample:\n  allot quota apply quota.toml --dry-run')
  .action(async (file, flags) => (await import('./commands/quota.ts')).applyQuota(file, flags))

onRemote(onStore(program.command('export')))
  .description('write everything, as it is at one moment, into one file; it holds secrets')
  .option('--out <file>', 'the file, which only its owner may read (default: standard output)')
  .addHelpText('after', '\nExample:\n  allot export --url http://127.0.0.1:3000 --out backup.ndjson')
  .action(async (flags) => (await import('./commands/export.ts')).exportEverything(flags))

onStore(program.command('import'))
  .argument('<file>', 'what `allot export` has written; - for standard input')
  .description('read an export into a store that has nothing in it')
  .addHelpText('after', '\nExample:\n  allot import backup.ndjson --data /var/lib/allot')
  .action(async (file, flags) => (await import('./commands/import.ts')).importEverything(file, flags))

onStore(program.command('verify'))
  .description('recount every index, counter and sum of the store against its records')
  .option('--repair', 'mend what follows from records; for a damaged LevelDB, after its own repair')
  .addHelpText('after', '\nExample:\n  allot verify --data /var/lib/allot')
  .action(async (flags) => (await import('./commands/verify.ts')).verifyStore(flags))

const forEach = (command: Command, work: (command: Command) => void): void => {
  work(command)
  for (const sub of command.commands) forEach(sub, work)
}
forEach(program, (command) => command.exitOverride().showHelpAfterError('(add --help for the options)'))

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = explain(error)
}

function explain(error: unknown): number {
  // Commander has said what is wrong by now; help and version end this way too, with 0.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : MISUSED
  process.stderr.write(`allot: ${error instanceof Error ? error.message : String(error)}\n`)
  return error instanceof Usage ? MISUSED : FAILED
}
