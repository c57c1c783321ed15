import type { Command } from 'commander'
import type { StoreFlags, StoreLocation } from '../config/store.ts'
import { type Finding, finding } from '../doctor/finding.ts'
import { escapeLines, print, printJson } from '../terminal.ts'
import { examples, serverOption, storeOptions } from './options.ts'

export const addDoctorCommand = (program: Command): void => {
  serverOption(storeOptions(program.command('doctor')))
    .description('check git, folders, store, clock, limits, proxies, certificate and the running server')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', examples('allot doctor --config /etc/allot/allot.toml'))
    .action(diagnose)
}

interface Flags extends StoreFlags {
  url?: string
  json?: boolean
}

/** Prints a line for each check, and exits with 1 when one has failed. */
const diagnose = async ({ json = false, ...flags }: Flags): Promise<void> => {
  const findings = await findingsFor(flags)
  if (json) printJson(findings)
  else
    for (const { check, status, message } of findings)
      print(`${status.padEnd(7)}  ${check.padEnd(13)}  ${escapeLines(message)}`)
  if (findings.some(({ status }) => status === 'failed')) process.exitCode = 1
}

/** A folder that has a section of the configuration. */
const folderOf = (check: string, folder: string) => ({
  check,
  folder,
  option: `directory under [${check}]`,
})

const findingsFor = async ({ url, ...flags }: Flags): Promise<Finding[]> => {
  const [{ foldersOf, recordsFolder, outside, storeLocation }, machine, service, ssh] = await Promise.all([
    import('../config/store.ts'),
    import('../doctor/machine.ts'),
    import('../doctor/service.ts'),
    import('../doctor/ssh.ts'),
  ])
  let location: StoreLocation
  try {
    location = storeLocation(flags)
  } catch (error) {
    return [finding('configuration', 'failed', (error as Error).message)]
  }
  const { config, data } = location
  const { repositories, files } = foldersOf(location)
  const folders = [
    { check: 'data folder', folder: data, option: '--data' },
    ...outside(data, repositories).map((folder) => folderOf('repositories', folder)),
    ...outside(data, files).map((folder) => folderOf('files', folder)),
  ]
  // Before the check of the store, which changes files when it opens it.
  const clock = await machine.checkClock(recordsFolder(location))
  return [
    await machine.checkGit(config),
    ...(await Promise.all(folders.map(machine.checkFolder))),
    ...(await service.checkStore(location)),
    clock,
    machine.checkOpenFiles(config),
    ...(await service.checkPackages(config)),
    ...service.checkCertificate(config),
    service.checkAddresses(config),
    ...(await ssh.checkSsh(config, repositories ? repositories.directory : undefined)),
    await service.checkServer(config, url ?? (process.env.ALLOT_URL || undefined)),
  ]
}
