import type { Argument, Command, Option } from 'commander'

/** What may stand in a place: one of some words, a file, a folder, or what only the person knows. */
export type Value = readonly string[] | 'file' | 'folder' | 'anything'

export interface Choice {
  word: string
  about: string
}

export interface Flag extends Choice {
  /** Undefined for one that stands alone. */
  value: Value | undefined
}

/** A command that is typed so far, and what may come next. */
export interface CompletionContext {
  /** Such as `allot quota show`. */
  at: string
  commands: Choice[]
  flags: Flag[]
  /** What is no command and no flag. */
  argument: Value
}

/** Every command of the tree, each with its words. */
export const completionContexts = (command: Command, above = ''): CompletionContext[] => {
  const at = `${above}${command.name()}`
  const help = command.createHelp()
  const below = help.visibleCommands(command).filter((one) => one.name() !== 'help')
  const own: CompletionContext = {
    at,
    commands: below.map((one) => ({ word: one.name(), about: one.description() })),
    flags: help.visibleOptions(command).map(flagOf),
    argument: argumentOf(command.registeredArguments[0]),
  }
  return [own, ...below.flatMap((one) => completionContexts(one, `${at} `))]
}

const flagOf = (option: Option): Flag => ({
  word: option.long ?? option.short ?? '',
  about: option.description,
  value: option.required || option.optional ? kindOf(option.argChoices, option.flags) : undefined,
})

const argumentOf = (argument: Argument | undefined): Value =>
  argument === undefined ? 'anything' : kindOf(argument.argChoices, `<${argument.name()}>`)

const kindOf = (choices: readonly string[] | undefined, placeholder: string): Value => {
  if (choices !== undefined) return choices
  if (placeholder.includes('<file>')) return 'file'
  return placeholder.includes('<dir>') ? 'folder' : 'anything'
}

/** In quotes, for all three shells; in one line. */
export const quoteForShell = (text: string): string =>
  `'${text.replaceAll("'", "'\\''").replace(/\s+/g, ' ')}'`

/** The patterns of what is a command further down, and of flags that a value follows, at their spots. */
export const patternsOf = (contexts: readonly CompletionContext[]) => ({
  commands: contexts.flatMap(({ at, commands }) =>
    commands.map(({ word }) => quoteForShell(`${at} ${word}`)),
  ),
  flags: contexts.flatMap(({ at, flags }) =>
    flags.flatMap(({ word, value }) => (value === undefined ? [] : [quoteForShell(`${at} ${word}`)])),
  ),
})
