import type { Command } from 'commander'
import { readToken } from '../client/remote-address.ts'
import type { StoreFlags } from '../config/store.ts'
import type { Report } from '../migrate/report.ts'
import { print } from '../terminal.ts'
import { appendValue, examples, storeOptions } from './options.ts'

export const addMigrateCommand = (program: Command): void => {
  storeOptions(program.command('migrate'))
    .description('copy accounts, repositories, keys, relations and quota from a Gitea, a Forgejo or an Allot')
    .requiredOption('--from <url>', 'address of the server to copy from')
    .option(
      '--token <t>',
      "an administrator's token for that server (or ALLOT_FROM_TOKEN, which other users of the machine cannot see)",
    )
    .option(
      '--owner <name>',
      'copy only this user, or this organization with its members; may be given several times',
      appendValue,
      [],
    )
    .addHelpText(
      'after',
      examples(
        'ALLOT_FROM_TOKEN=… allot migrate --from https://git.example.org --data /var/lib/allot',
        'allot migrate --from https://git.example.org --owner acme --owner alice',
      ),
    )
    .action(migrateAll)
}

interface Flags extends StoreFlags {
  from: string
  token?: string
  owner: string[]
}

/** Opens the store itself: over an API an administrator cannot follow, star or own in the name of another user. */
const migrateAll = async ({ from, token, owner, ...flags }: Flags): Promise<void> => {
  const [{ openForCommand }, { migrate }, { createReport }, { connectSource }] = await Promise.all([
    import('../config/store.ts'),
    import('../migrate/index.ts'),
    import('../migrate/report.ts'),
    import('../migrate/source.ts'),
  ])
  const source = await connectSource(from, readToken(token, 'ALLOT_FROM_TOKEN', 'the source'))
  const { allot, config, data, repositories } = await openForCommand(flags)
  const git = repositories === false ? undefined : { ...repositories, maxPushSize: config.git.maxPushSize }
  const report = createReport()
  try {
    await migrate({ source, allot, report, git }, owner)
  } catch (error) {
    printReport(report)
    if (report.lines().length === 0) throw error
    throw new Error(
      `${(error as Error).message}: what was copied stays, and running the same command again continues from there`,
    )
  } finally {
    await allot.close()
  }
  print(`from ${source.base} into ${flags.storage ?? data}`)
  printReport(report)
  if (!report.isComplete()) process.exitCode = 1
}

const printReport = (report: Report): void => {
  for (const line of report.lines()) print(line)
}
