import type { Command } from 'commander'
import { readToken } from '../client/api.ts'
import type { StoreFlags } from '../config/store.ts'
import { print } from '../terminal.ts'
import { appendValue, examples, storeOptions, tokenOption } from './options.ts'

/** @param migrate the command that copies, which this one belongs to */
export const addMigrateVerifyCommand = (migrate: Command): void => {
  storeOptions(migrate.command('verify'))
    .description('compare what was migrated with its source, field by field; changes nothing on either side')
    .requiredOption('--from <url>', 'address of the server that was copied from')
    .addOption(tokenOption('ALLOT_FROM_TOKEN'))
    .option(
      '--owner <name>',
      'compare only this user, or this organization with its members; may be given several times',
      appendValue,
      [],
    )
    .option('--report <file>', 'write all differences to this file, as JSON that only its owner may read')
    .addHelpText(
      'after',
      examples(
        'ALLOT_FROM_TOKEN=… allot migrate verify --from https://git.example.org --data /var/lib/allot',
      ),
    )
    .action(verifyAll)
}

interface Flags extends StoreFlags {
  from: string
  token?: string
  owner: string[]
  report?: string
}

/** Prints what differs, and exits with 1 when something does. */
const verifyAll = async ({ from, token, owner, report: file, ...flags }: Flags): Promise<void> => {
  const [
    { requireStore, withStore },
    { OPERATOR },
    verify,
    { Comparison },
    { connectSource },
    { select },
    { withReportFile },
  ] = await Promise.all([
    import('../config/store.ts'),
    import('../../lib/accounts/access.ts'),
    import('../migrate/verify/index.ts'),
    import('../migrate/verify/comparison.ts'),
    import('../migrate/connect.ts'),
    import('../migrate/index.ts'),
    import('../migrate/report.ts'),
  ])
  const secret = readToken(token, 'ALLOT_FROM_TOKEN', 'the source')
  requireStore(flags, 'name another folder with --data')
  const report = new Comparison()
  await withReportFile(file, report, 'the comparison', async () => {
    const source = await connectSource(from, secret)
    const selected = await select(source, owner)
    await withStore(
      flags,
      async ({ allot, config, repositories }) => {
        const here = verify.apiHere(allot, config.api.basePath)
        const git = repositories || undefined
        await verify.verifyMigration({ source, here, allot, report, git }, selected).catch((error: Error) => {
          throw new Error(`${error.message}: the comparison is incomplete`, { cause: error })
        })
      },
      { authenticate: (req) => (verify.isOwnRequest(req) ? OPERATOR : null) },
    )
  })
  for (const line of report.lines(file)) print(line)
  if (!report.isSame()) process.exitCode = 1
}
