import { type Command, InvalidArgumentError, Option } from 'commander'
import { limitFault, PERCENTAGE, parseLimit } from '../../lib/byte-sizes.ts'
import { isSubject, type Subject, subjects } from '../../lib/quota/subjects.ts'
import { HISTORY_DAYS } from '../../lib/quota/usage.ts'
import { storageForms } from '../config/drivers.ts'
import { UsageError } from '../errors.ts'
import { readSecret } from '../terminal.ts'

/** Options of commands that open the store. */
export const storeOptions = (command: Command): Command =>
  command
    .option('--data <dir>', 'data folder, which holds the store and the repositories (default: ./data)')
    .option('--config <file>', 'TOML configuration file')
    .option('--storage <url>', `where records are stored: ${storageForms()} (default: in the data folder)`)

/**
 * Option of commands that also work with a running server: a LevelDB that a server has open cannot be opened
 * again.
 */
export const serverOption = (command: Command): Command =>
  command.option('--url <url>', 'address of a running server to use instead of the store (or ALLOT_URL)')

/** @param variable of the environment that the command reads when the option is absent */
export const tokenOption = (variable: 'ALLOT_TOKEN' | 'ALLOT_FROM_TOKEN'): Option =>
  new Option(
    '--token <t>',
    `an administrator's token for that server (or ${variable}, which other users of the machine cannot see)`,
  )

export const remoteOptions = (command: Command): Command =>
  serverOption(command).addOption(tokenOption('ALLOT_TOKEN'))

/** Options of commands that call the API, of a server or of the store. */
export const apiOptions = (command: Command): Command =>
  remoteOptions(storeOptions(command)).option('--json', 'print the result as JSON')

/** Options of commands that set a password; {@link readPassword} reads them. */
export const passwordOptions = (command: Command): Command =>
  command
    .option(
      '--password <p>',
      'password, at least 8 characters; other users of the machine can see this option',
    )
    .option('--password-stdin', 'read the password from standard input; a terminal does not show it')

export interface PasswordFlags {
  password?: string | undefined
  passwordStdin?: boolean
}

/**
 * @returns undefined when no password is given
 * @throws UsageError when both options are given
 */
export const readPassword = async ({
  password,
  passwordStdin,
}: PasswordFlags): Promise<string | undefined> => {
  if (!passwordStdin) return password
  if (password !== undefined) throw new UsageError('give one of --password and --password-stdin')
  return readSecret('Password')
}

export const examples = (...lines: string[]): string =>
  `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.map((line) => `  ${line}`).join('\n')}`

/** @param fallback what the command looks at when the option is absent */
export const subjectOption = (fallback: string): Option =>
  new Option('--subject <subject>', `what is measured (default: ${fallback})`).choices(subjects)

export const parseLimitOption = (text: string): number => {
  const limit = parseLimit(text)
  if (limit !== undefined) return limit
  throw new InvalidArgumentError(
    `Expected bytes, as a whole number or as in "2 GiB"; -1 is unlimited${limitFault(text)}.`,
  )
}

/** `a,b`; empty text is an empty list. */
export const parseList = (text: string): string[] =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')

export const parseSubjects = (text: string): Subject[] =>
  parseList(text).map((item) => {
    if (isSubject(item)) return item
    throw new InvalidArgumentError(`Unknown subject "${item}"; expected one of: ${subjects.join(', ')}.`)
  })

/** Collects the values of an option that may be given several times. */
export const appendValue = (value: string, previous: readonly string[]): string[] => [...previous, value]

export const parseDays = (text: string): string => {
  const days = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (days >= 1 && days <= HISTORY_DAYS) return text
  throw new InvalidArgumentError(`Expected a whole number from 1 to ${HISTORY_DAYS}.`)
}

export const parsePercentage = (text: string): string => {
  if (PERCENTAGE.test(text)) return text
  throw new InvalidArgumentError('Expected a percentage from 0 to 100, such as 20%.')
}
