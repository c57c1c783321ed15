import { Argument, type Command, type Option } from 'commander'
import {
  bashScript,
  type CompletionContext,
  fishScript,
  type OptionChoice,
  type Value,
  zshScript,
} from './completion-scripts.ts'
import { examples } from './options.ts'

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }

export const addCompletionCommand = (program: Command): void => {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(Object.keys(SCRIPTS)))
    .description('print a script that completes commands and options in a shell')
    .addHelpText(
      'after',
      examples(
        'source <(allot completion bash)           # in ~/.bashrc; the same with zsh, after compinit',
        'allot completion fish > ~/.config/fish/completions/allot.fish',
      ),
    )
    .action((shell: keyof typeof SCRIPTS) => void process.stdout.write(completionScript(program, shell)))
}

/** The script has all commands and options in it, so that no process is started while a person types. */
export const completionScript = (program: Command, shell: keyof typeof SCRIPTS): string =>
  SCRIPTS[shell](completionContexts(program))

/** Contexts of a command and of all commands below it. */
const completionContexts = (command: Command, parentPath = ''): CompletionContext[] => {
  const path = parentPath + command.name()
  const help = command.createHelp()
  const children = help.visibleCommands(command).filter((child) => child.name() !== 'help')
  const [argument] = command.registeredArguments
  const own: CompletionContext = {
    path,
    commands: children.map((child) => ({ word: child.name(), description: child.description() })),
    options: help.visibleOptions(command).map(optionChoice),
    argument: argument === undefined ? 'text' : valueKind(argument.argChoices, `<${argument.name()}>`),
  }
  return [own, ...children.flatMap((child) => completionContexts(child, `${path} `))]
}

const optionChoice = (option: Option): OptionChoice => ({
  word: option.long ?? option.short ?? '',
  description: option.description,
  value: option.required || option.optional ? valueKind(option.argChoices, option.flags) : undefined,
})

/** @param flags contains the placeholder of the value, such as `<file>` */
const valueKind = (choices: readonly string[] | undefined, flags: string): Value => {
  if (choices !== undefined) return choices
  if (flags.includes('<file>')) return 'file'
  return flags.includes('<dir>') ? 'folder' : 'text'
}
