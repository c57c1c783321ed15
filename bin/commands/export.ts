import { exportReader, type LastLine, type Write } from '../../lib/transfer/format.ts'
import { explainLocked, requireStore } from '../client/api-access.ts'
import type { Api } from '../client/api-client.ts'
import type { StoreFlags } from '../config/store.ts'
import { withStore } from '../open.ts'
import { outputTo } from '../output.ts'
import { type RemoteFlags, remoteIn } from '../remote-options.ts'
import { createProgressBar, type ProgressBar, withProgressBar } from '../terminal/progress.ts'

interface Flags extends StoreFlags, RemoteFlags {
  out?: string
}

export const exportEverything = async ({ out, ...flags }: Flags): Promise<void> => {
  const output = await outputTo(out)
  try {
    const { records } = await withProgressBar(createProgressBar('exporting', '{value} bytes'), (told) =>
      exported(flags, output.write, told),
    )
    await output.finish()
    process.stderr.write(`exported ${records} lines${out === undefined ? '' : ` into ${out}`}\n`)
  } catch (error) {
    await output.abandon()
    throw error
  }
}

const exported = (flags: Flags, write: Write, told: ProgressBar['onProgress']): Promise<LastLine> => {
  const remote = remoteIn(flags)
  return remote === undefined ? fromStore(flags, write, told) : fromServer(remote, write, told)
}

const fromStore = async (
  flags: StoreFlags,
  write: Write,
  told: ProgressBar['onProgress'],
): Promise<LastLine> => {
  requireStore(flags)
  let last: LastLine | undefined
  await withStore(flags, async (allot) => {
    last = await allot.export(write, ({ bytes }) => told({ done: bytes, total: bytes }))
  }).catch(explainLocked)
  return last!
}

/** What comes over the network is checked before it is taken for whole. */
const fromServer = async (server: Api, write: Write, told: ProgressBar['onProgress']): Promise<LastLine> => {
  const reader = exportReader()
  let bytes = 0
  for await (const chunk of server.stream('/admin/export')) {
    reader.push(chunk)
    await write(chunk)
    bytes += chunk.length
    told({ done: bytes, total: bytes })
  }
  return reader.end()
}
