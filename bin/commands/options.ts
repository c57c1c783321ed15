import { type Command, InvalidArgumentError, Option } from 'commander'
import * as v from 'valibot'
import { Size } from '../../lib/option-types.ts'
import { type Subject, subjects } from '../../lib/quota/subjects.ts'

/** Where the store is, and how it is set up: the same words on every command. */
export const storeOptions = (command: Command): Command =>
  command
    .option('--data <dir>', 'the folder that holds the store and the repositories (default: ./data)')
    .option('--config <file>', 'a TOML file with options')
    .option(
      '--storage <url>',
      'where the records are: level:<folder>, postgres://… or memory: (default: in the data folder)',
    )

/** A running server to talk to: LevelDB belongs to one process, so a command cannot open what a server has. */
export const serverOptions = (command: Command): Command =>
  command.option('--url <url>', 'a running server, in the place of the store (or ALLOT_URL)')

export const remoteOptions = (command: Command): Command =>
  serverOptions(command).option(
    '--token <t>',
    "an administrator's token for it (or ALLOT_TOKEN, which no other user of the machine sees)",
  )

/** What works on a server and on a store, for people and for programs. */
export const apiOptions = (command: Command): Command =>
  remoteOptions(storeOptions(command)).option('--json', 'the answer as JSON')

export const example = (...lines: string[]): string =>
  `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.map((line) => `  ${line}`).join('\n')}`

/** The words of the API, which a shell completes. */
export const subjectOption = (): Option =>
  new Option('--subject <subject>', 'what is measured').choices(subjects).default('size:all')

export const parseSize = (text: string): number => {
  const given = /^-?\d+$/.test(text) ? Number(text) : text
  const { success, output } = v.safeParse(Size, given)
  if (!success)
    throw new InvalidArgumentError('Expected bytes, as a whole number or as in "2 GiB"; -1 is unlimited.')
  return output
}

export const parseSubjects = (text: string): Subject[] =>
  parseList(text).map((one) => {
    if (!v.is(v.picklist(subjects), one))
      throw new InvalidArgumentError(`${one} is none. Allowed are ${subjects.join(', ')}.`)
    return one
  })

/** `a,b`; nothing is an empty list. */
export const parseList = (text: string): string[] =>
  text
    .split(',')
    .map((one) => one.trim())
    .filter((one) => one !== '')

/** A word that may be given again. */
export const appendValue = (one: string, others: readonly string[]): string[] => [...others, one]

export const parsePercentage = (text: string): string => {
  if (!/^(?:100|\d{1,2}(?:\.\d+)?)%?$/.test(text))
    throw new InvalidArgumentError('Expected a percentage from 0 to 100, such as 20%.')
  return text
}
