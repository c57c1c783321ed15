import type { Command } from 'commander'
import type { StoreFlags, StoreLocation } from '../config/store.ts'
import { type Finding, failed, runCheck } from '../doctor/finding.ts'
import { escapeLines, print, printJson } from '../terminal.ts'
import { examples, serverOption, storeOptions } from './options.ts'

export const addDoctorCommand = (program: Command): void => {
  serverOption(storeOptions(program.command('doctor')))
    .description('check git, folders, store, limits, proxies, certificate and the running server')
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

const findingsFor = async ({ url, ...flags }: Flags): Promise<Finding[]> => {
  const [{ storeLocation }, { checksOf }] = await Promise.all([
    import('../config/store.ts'),
    import('../doctor/index.ts'),
  ])
  let location: StoreLocation
  try {
    location = storeLocation(flags)
  } catch (error) {
    return [{ check: 'configuration', ...failed((error as Error).message) }]
  }
  const findings: Finding[] = []
  for (const check of checksOf(location, url ?? (process.env.ALLOT_URL || undefined)))
    findings.push(...(await runCheck(check)))
  return findings
}
