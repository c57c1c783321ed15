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
  description: string
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
  SCRIPTS[shell](contextsOf(program))

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
      choices: [
        ...children.map((child) => ({ word: child.name(), description: child.description() })),
        ...options,
      ],
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
  description: option.description,
  value: option.required || option.optional ? valueKind(option.argChoices, option.flags) : undefined,
})

/** @param flags contains the placeholder of the value, such as `<file>` */
const valueKind = (choices: readonly string[] | undefined, flags: string): Value => {
  if (choices !== undefined) return choices
  if (flags.includes('<file>')) return 'file'
  return flags.includes('<dir>') ? 'folder' : 'text'
}

const isOption = ({ path }: Context): boolean => path.includes(' --')

/** Quotes text as one line for bash and zsh. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''").replace(/\s+/g, ' ')}'`

/**
 * Body of a loop over the words before the cursor, for bash and zsh. It finds the command (`at`, such as
 * `allot quota`) and an option that still needs its value (`flag`).
 */
const findContext = (contexts: readonly Context[]): string => {
  const patterns = (list: Context[]) => list.map(({ path }) => quote(path)).join('|')
  return `if [[ -n $flag ]]; then flag=''; continue; fi
    case "$at $word" in
      ${patterns(contexts.filter((context) => !isOption(context)))}) at="$at $word" ;;
      ${patterns(contexts.filter(isOption))}) flag=$word ;;
    esac`
}

/**
 * Splits the line at blanks itself: bash would also split `size:all` at the colon. Evaluates nothing that was
 * typed, and starts no process. Works in bash 3.2, which macOS has.
 */
const bashScript = (contexts: readonly Context[]): string => `# bash completion of allot
_allot() {
  local line="\${COMP_LINE:0:COMP_POINT}" at=allot flag='' word current
  local -a words generate
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current="\${words[\${#words[@]}-1]}"
  unset "words[\${#words[@]}-1]"
  for word in "\${words[@]:1}"; do
    ${findContext(contexts)}
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

/** Options of `compgen`. Where a file can stand, options are offered only after a dash. */
const bashCase = ({ path, choices, argument }: Context): string => {
  const words = [...choices.map(({ word }) => word), ...(typeof argument === 'string' ? [] : argument)]
  const generate = `generate=(-W ${quote(words.join(' '))})`
  if (argument !== 'file' && argument !== 'folder') return `    ${quote(path)}) ${generate} ;;`
  const unlessOption = choices.length > 0 ? '[[ $current == -* ]] || ' : ''
  return `    ${quote(path)}) ${generate}; ${unlessOption}generate=(${argument === 'file' ? '-f' : '-d'}) ;;`
}

const zshScript = (contexts: readonly Context[]): string => `#compdef allot
_allot() {
  local at=allot flag='' word
  local -a list
  for word in "\${(@)words[2,CURRENT-1]}"; do
    ${findContext(contexts)}
  done
  case "$at\${flag:+ $flag}" in
${contexts.map(zshCase).join('\n')}
  esac
}
if [[ $funcstack[1] == _allot ]]; then _allot "$@"; else compdef _allot allot; fi
`

const zshCase = ({ path, choices, argument }: Context): string => {
  const described = choices.map(({ word, description }) =>
    quote(`${word}:${description.replaceAll('\\', '')}`),
  )
  const describe = choices.length === 0 ? '' : `list=(${described.join(' ')}); _describe word list; `
  return `    ${quote(path)}) ${describe}${zshValue(argument)} ;;`
}

const zshValue = (value: Value): string => {
  if (value === 'file') return '_files'
  if (value === 'folder') return '_files -/'
  return value === 'text' ? ':' : `compadd -- ${value.map(quote).join(' ')}`
}

/** In fish, the values of an option are part of the option's own line. */
const fishScript = (contexts: readonly Context[]): string => {
  const commands = contexts.filter((context) => !isOption(context))
  const patterns = (list: Context[]) => list.map(({ path }) => quoteForFish(path)).join(' ')
  return `# fish completion of allot
function __allot_at
    set -l at allot
    set -l flag ''
    set -l words (commandline -opc)
    for word in $words[2..]
        if test -n "$flag"
            set flag ''
            continue
        end
        switch "$at $word"
            case ${patterns(commands)}
                set at "$at $word"
            case ${patterns(contexts.filter(isOption))}
                set flag $word
        end
    end
    test "$at" = "$argv[1]"
end
complete -c allot -f
${commands.flatMap(fishLines).join('\n')}
`
}

/** Inside quotes, fish has the escapes `\\` and `\'`. */
const quoteForFish = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replace(/\s+/g, ' ')}'`

const fishLines = ({ path, choices, argument }: Context): string[] => {
  const start = `complete -c allot -n ${quoteForFish(`__allot_at "${path}"`)}`
  return [
    ...choices.map(({ word, description, value }) => {
      const choice = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`
      return `${start} ${choice}${value === undefined ? '' : ` ${fishValue(value)}`} -d ${quoteForFish(description)}`
    }),
    ...(argument === 'text' ? [] : [`${start} ${argument === 'file' ? '-F' : fishValue(argument)}`]),
  ]
}

const fishValue = (value: Value): string => {
  if (value === 'file') return '-r -F'
  if (value === 'folder') return "-x -a '(__fish_complete_directories)'"
  return value === 'text' ? '-x' : `-x -a ${quoteForFish(value.join(' '))}`
}

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript }
