import { resolve } from 'node:path'
import type { Command } from 'commander'
import { readToken } from '../client/api.ts'
import type { StoreFlags } from '../config/store.ts'
import { UsageError } from '../errors.ts'
import type { CredentialsSink } from '../migrate/migration.ts'
import type { Report } from '../migrate/report.ts'
import { print } from '../terminal.ts'
import { addMigrateVerifyCommand } from './migrate-verify.ts'
import { appendValue, examples, storeOptions, tokenOption } from './options.ts'

export const addMigrateCommand = (program: Command): void => {
  const migrate = storeOptions(program.command('migrate'))
    .description('copy everything that Allot has a place for from a Gitea, a Forgejo or an Allot')
    // Commander would also require it of the commands below.
    .option('--from <url>', 'address of the server to copy from (required)')
    .addOption(tokenOption('ALLOT_FROM_TOKEN'))
    .option(
      '--owner <name>',
      'copy only this user, or this organization with its members; may be given several times',
      appendValue,
      [],
    )
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
    .option('--report <file>', 'write the whole report to this file, as JSON that only its owner may read')
    .option(
      '--keep',
      'leave what was copied before as it is when the source has changed; rights are withdrawn anyway',
    )
    .addHelpText(
      'after',
      examples(
        'ALLOT_FROM_TOKEN=… allot migrate --from https://git.example.org --data /var/lib/allot',
        'allot migrate --from https://git.example.org --owner acme --owner alice',
      ),
    )
    .action(migrateAll)
    .enablePositionalOptions()
  addMigrateVerifyCommand(migrate)
}

interface Flags extends StoreFlags {
  from?: string
  token?: string
  owner: string[]
  keep?: boolean
  rename: string[]
  tokens?: string
  report?: string
}

/** Opens the store itself: over an API an administrator cannot follow, star or own in the name of another user. */
const migrateAll = async ({
  from,
  token,
  owner,
  keep = false,
  rename,
  tokens,
  report: file,
  ...flags
}: Flags): Promise<void> => {
  if (from === undefined) throw new UsageError("required option '--from <url>' not specified")
  if (file !== undefined && tokens !== undefined && resolve(file) === resolve(tokens))
    throw new UsageError('--report and --tokens name the same file: name two')
  const [
    { withStore },
    { migrate, select },
    { Report, withReportFile },
    { connectSource },
    { parseRenames },
    { withCredentialsFile },
  ] = await Promise.all([
    import('../config/store.ts'),
    import('../migrate/index.ts'),
    import('../migrate/report.ts'),
    import('../migrate/connect.ts'),
    import('../migrate/names/renames.ts'),
    import('../migrate/credentials.ts'),
  ])
  const renames = parseRenames(rename)
  const secret = readToken(token, 'ALLOT_FROM_TOKEN', 'the source')
  const report = new Report()
  const copy = async (credentials: CredentialsSink | undefined) => {
    const source = await connectSource(from, secret)
    const selected = await select(source, owner, renames)
    await withStore(flags, async ({ allot, description, repositories, config }) => {
      const git = repositories || undefined
      const { baseUrl } = config.api
      const { defaultGroups } = config.quota
      const options = { source, allot, report, git, keep, renames, credentials, baseUrl, defaultGroups }
      await migrate(options, selected).catch((error: Error) => {
        printReport(report)
        if (report.lines().length === 0) throw error
        throw new Error(
          `${error.message}: what was copied stays, and running the same command again continues from there`,
        )
      })
      print(`from ${source.base} into ${description}`)
    })
  }
  // Files that cannot be written are noticed before anything is copied.
  await withCredentialsFile(tokens, (credentials) =>
    withReportFile(file, report, 'the migration', () => copy(credentials)),
  )
  printReport(report)
  if (!report.isComplete()) process.exitCode = 1
}

const printReport = (report: Report): void => {
  for (const line of report.lines()) print(line)
}
