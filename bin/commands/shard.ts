import type { Command } from 'commander'
import type { StoreFlags } from '../config/store.ts'
import { print, printNote } from '../terminal.ts'
import { examples, storeOptions } from './options.ts'

export const addShardCommand = (program: Command): void => {
  storeOptions(program.command('shard'))
    .argument(
      '[number/of]',
      'which of how many shards the store is; without it, the command prints what it is',
    )
    .description('make the store one of several with distinct ids, so that owners can move between them')
    .addHelpText('after', examples('allot shard 2/16 --storage postgres://allot@db-2.example.org/allot'))
    .action(shardStore)
}

const shardStore = async (text: string | undefined, flags: StoreFlags): Promise<void> => {
  const [{ driverFor, requireStore, storeLocation }, { formatShard, parseShard, setShard, shardOf }] =
    await Promise.all([import('../config/store.ts'), import('../../lib/records/shards.ts')])
  if (text === undefined) requireStore(flags, 'name another folder with --data')
  const shard = text === undefined ? undefined : parseShard(text)
  const driver = await driverFor(storeLocation(flags))
  await driver.open()
  try {
    if (shard === undefined) {
      const current = await driver.read(shardOf)
      print(current === undefined ? 'not a shard' : formatShard(current))
    } else {
      await driver.write((tx) => setShard(tx, shard))
      printNote(
        `the store is shard ${formatShard(shard)}: its ids are distinct from those of the other shards`,
      )
    }
  } finally {
    await driver.close()
  }
}
