import { resolve } from 'node:path'
import type { Command } from 'commander'
import { readToken } from '../client/api.ts'
import type { StoreFlags } from '../config/store.ts'
import { UsageError, withReason } from '../errors.ts'
import type { CredentialsSink } from '../migrate/migration.ts'
import type { Renames } from '../migrate/names/index.ts'
import { print } from '../terminal.ts'
import { appendValue, examples, storeOptions, tokenOption } from './options.ts'

export const addMigrateCommand = (program: Command): void => {
  const migrate = sourceOptions(program.command('migrate'), 'copy')
    .description('copy everything that Allot has a place for from a Gitea, a Forgejo or an Allot')
    .option('--report <file>', 'write the whole report to this file, as JSON that only its owner may read')
    .option(
      '--rename <old=new>',
      'another name here, for a user, an organization, or with OWNER/OLD=OWNER/NEW a repository; may be given several times',
      appendValue,
      [],
    )
    .option(
      '--tokens <file>',
      'write a token and a link to set a password for each user who cannot sign in yet, as lines of JSON that only its owner may read',
    )
    .option('--finish', 'refuse every later run from this source, if nothing fails in this one')
    .addHelpText(
      'after',
      examples(
        'ALLOT_FROM_TOKEN=… allot migrate --from https://git.example.org --data /var/lib/allot',
        'allot migrate --from https://git.example.org --owner acme --owner alice',
      ),
    )
    .hook('preAction', (_, command) => {
      // Where commander requires an option, the command below requires it, too.
      if (command.opts<Partial<SourceFlags>>().from === undefined)
        command.error("error: required option '--from <url>' not specified")
    })
    .action(migrateAll)
    .enablePositionalOptions()
  sourceOptions(migrate.command('verify'), 'compare')
    .description('compare what was migrated with its source, field by field; changes nothing on either side')
    .option('--report <file>', 'write all differences to this file, as JSON that only its owner may read')
    .addHelpText(
      'after',
      examples(
        'ALLOT_FROM_TOKEN=… allot migrate verify --from https://git.example.org --data /var/lib/allot',
      ),
    )
    .action(verifyAll)
}

/**
 * Options of both commands.
 * @param verb what the command does with an owner
 */
const sourceOptions = (command: Command, verb: 'copy' | 'compare'): Command =>
  storeOptions(command)
    .option('--from <url>', 'address of the source, a Gitea, a Forgejo or an Allot (required)')
    .addOption(tokenOption('ALLOT_FROM_TOKEN'))
    .option(
      '--owner <name>',
      `${verb} only this user, or this organization with its members; may be given several times`,
      appendValue,
      [],
    )

interface SourceFlags extends StoreFlags {
  from: string
  token?: string
  owner: string[]
  report?: string
}

/**
 * @returns a function that connects to the source, and reads which accounts it has
 * @throws UsageError without a token
 */
const sourceOf = ({ from, token, owner }: SourceFlags, renames?: Renames) => {
  const secret = readToken(token, 'ALLOT_FROM_TOKEN', 'the source')
  return async () => {
    const [{ connectSource }, { select }] = await Promise.all([
      import('../migrate/connect.ts'),
      import('../migrate/index.ts'),
    ])
    const source = await connectSource(from, secret)
    return { source, selected: await select(source, owner, renames) }
  }
}

interface MigrateFlags extends SourceFlags {
  finish?: boolean
  rename: string[]
  tokens?: string
}

/**
 * Opens the store itself: the API cannot set ids and dates, nor save a copy and its record in the migration
 * log in one transaction.
 */
const migrateAll = async (flags: MigrateFlags): Promise<void> => {
  const { tokens, report: file, finish = false } = flags
  if (file !== undefined && tokens !== undefined && resolve(file) === resolve(tokens))
    throw new UsageError('--report and --tokens name the same file: name two')
  if (finish && flags.owner.length > 0)
    throw new UsageError('--finish ends the migration of everything: leave out --owner')
  const [{ withStore }, { migrate }, { Report, withReportFile }, { parseRenames }, { withCredentialsFile }] =
    await Promise.all([
      import('../config/store.ts'),
      import('../migrate/index.ts'),
      import('../migrate/report.ts'),
      import('../migrate/names/renames.ts'),
      import('../migrate/credentials.ts'),
    ])
  const renames = parseRenames(flags.rename)
  const connect = sourceOf(flags, renames)
  const report = new Report()
  const copy = async (credentials: CredentialsSink | undefined) => {
    const { source, selected } = await connect()
    await withStore(flags, async ({ allot, description, repositories, config }) => {
      const git = repositories || undefined
      const { baseUrl } = config.api
      const { defaultGroups } = config.quota
      const options = { source, allot, report, git, finish, renames, credentials, baseUrl, defaultGroups }
      await migrate(options, selected).catch((error: Error) => {
        const lines = report.lines()
        if (lines.length === 0) throw error
        print(lines.join('\n'))
        throw new Error(
          `${withReason(error)}: what was copied stays, and running the same command again continues from there`,
        )
      })
      print(`from ${source.base} into ${description}`)
      if (finish && report.isComplete()) print('finished: later runs from this source are refused')
    })
  }
  // Files that cannot be written are noticed before anything is copied.
  await withCredentialsFile(tokens, (credentials) =>
    withReportFile(file, report, 'the migration', () => copy(credentials)),
  )
  print(report.lines().join('\n'))
  if (!report.isComplete()) process.exitCode = 1
}

/** Prints what differs, and exits with 1 when something does. */
const verifyAll = async (flags: SourceFlags): Promise<void> => {
  const [{ requireStore, withStore }, { OPERATOR_IDENTITY }, verify, { Comparison }, { withReportFile }] =
    await Promise.all([
      import('../config/store.ts'),
      import('../../lib/accounts/host-users.ts'),
      import('../migrate/verify/index.ts'),
      import('../migrate/verify/comparison.ts'),
      import('../migrate/report.ts'),
    ])
  const connect = sourceOf(flags)
  requireStore(flags, 'name another folder with --data')
  const report = new Comparison(flags.report)
  await withReportFile(flags.report, report, 'the comparison', async () => {
    const { source, selected } = await connect()
    await withStore(
      flags,
      async ({ allot, config, repositories }) => {
        const here = verify.apiHere(allot, config.api.basePath)
        const git = repositories || undefined
        await verify.verifyMigration({ source, here, allot, report, git }, selected).catch((error: Error) => {
          throw new Error(`${withReason(error)}: the comparison is incomplete`)
        })
      },
      { authenticate: (req) => (verify.isOwnRequest(req) ? OPERATOR_IDENTITY : null) },
    )
  })
  print(report.lines().join('\n'))
  if (!report.isSame()) process.exitCode = 1
}
