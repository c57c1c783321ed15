import { Argument, type Command, type Option } from 'commander'
import { examples } from './options.ts'

/**
 * Values that an option or an argument takes: one of a list, a file, a folder, or text that cannot be
 * completed.
 */
type Value = readonly string[] | 'file' | 'folder' | 'text'

/** A command, or an option with its dashes. */
interface Choice {
  word: string
  /** Undefined for a command, and for an option without a value. */
  value?: Value | undefined
}

/** The completions after a command, or after an option that takes a value. */
interface Context {
  /** Such as `allot quota show`, or `allot quota explain --subject`. */
  path: string
  choices: Choice[]
  argument: Value
}

export const addCompletionCommand = (program: Command): void => {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(['bash']))
    .description('print a script that completes commands and options in a shell')
    .addHelpText('after', examples('source <(allot completion bash)   # in ~/.bashrc'))
    .action(() => void process.stdout.write(completionScript(program)))
}

/** Contexts of a command, of its options and of all commands below it. */
const contextsOf = (command: Command, parentPath = ''): Context[] => {
  const path = parentPath + command.name()
  const help = command.createHelp()
  const children = help.visibleCommands(command).filter((child) => child.name() !== 'help')
  const options = help.visibleOptions(command).map(optionChoice)
  const [argument] = command.registeredArguments
  return [
    {
      path,
      choices: [...children.map((child) => ({ word: child.name() })), ...options],
      argument: argument === undefined ? 'text' : valueKind(argument.argChoices, `<${argument.name()}>`),
    },
    ...options.flatMap(({ word, value }) =>
      value === undefined ? [] : [{ path: `${path} ${word}`, choices: [], argument: value }],
    ),
    ...children.flatMap((child) => contextsOf(child, `${path} `)),
  ]
}

const optionChoice = (option: Option): Choice => ({
  word: option.long ?? option.short ?? '',
  value: option.required || option.optional ? valueKind(option.argChoices, option.flags) : undefined,
})

/** @param flags contains the placeholder of the value, such as `<file>` */
const valueKind = (choices: readonly string[] | undefined, flags: string): Value => {
  if (choices !== undefined) return choices
  if (flags.includes('<file>')) return 'file'
  return flags.includes('<dir>') ? 'folder' : 'text'
}

const isOption = ({ path }: Context): boolean => path.includes(' --')

/** Quotes a word for bash. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/**
 * The script has all commands and options in it, so that no process is started while a person types. From the
 * words before the cursor it finds the command (`at`, such as `allot quota`) and an option that still needs
 * its value (`flag`). It splits the line at blanks itself: bash would also split `size:all` at the colon.
 * Evaluates nothing that was typed. Works in bash 3.2, which macOS has.
 */
export const completionScript = (program: Command): string => {
  const contexts = contextsOf(program)
  const patterns = (list: Context[]) => list.map(({ path }) => quote(path)).join('|')
  return `# bash completion of allot
_allot() {
  local line="\${COMP_LINE:0:COMP_POINT}" at=allot flag='' word current
  local -a words generate
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current="\${words[\${#words[@]}-1]}"
  unset "words[\${#words[@]}-1]"
  for word in "\${words[@]:1}"; do
    if [[ -n $flag ]]; then flag=''; continue; fi
    case "$at $word" in
      ${patterns(contexts.filter((context) => !isOption(context)))}) at="$at $word" ;;
      ${patterns(contexts.filter(isOption))}) flag=$word ;;
    esac
  done
  case "$at\${flag:+ $flag}" in
${contexts.map(bashCase).join('\n')}
  esac
  [[ $generate == -W ]] || compopt -o filenames 2>/dev/null
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen "\${generate[@]}" -- "$current")
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local before="\${current%"\${current##*:}"}"
    for word in "\${!COMPREPLY[@]}"; do COMPREPLY[$word]="\${COMPREPLY[$word]#"$before"}"; done
  fi
}
complete -F _allot allot
`
}

/** Options of `compgen`. Where a file can stand, options are offered only after a dash. */
const bashCase = ({ path, choices, argument }: Context): string => {
  const words = [...choices.map(({ word }) => word), ...(typeof argument === 'string' ? [] : argument)]
  const generate = `generate=(-W ${quote(words.join(' '))})`
  if (argument !== 'file' && argument !== 'folder') return `    ${quote(path)}) ${generate} ;;`
  const unlessOption = choices.length > 0 ? '[[ $current == -* ]] || ' : ''
  return `    ${quote(path)}) ${generate}; ${unlessOption}generate=(${argument === 'file' ? '-f' : '-d'}) ;;`
}
