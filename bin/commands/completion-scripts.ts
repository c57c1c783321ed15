/**
 * Completion scripts for three shells. Each script finds the command that was typed so far (`at`, such as `allot quota`)
 * and an option that still needs its value (`flag`), and offers what the context of these lists.
 */

/** Values that an option or an argument takes: one of a list, a file, a folder, or text that cannot be completed. */
export type Value = readonly string[] | 'file' | 'folder' | 'text'

interface Choice {
  word: string
  description: string
}

export interface OptionChoice extends Choice {
  /** Undefined for an option without a value. */
  value: Value | undefined
}

/** What can follow a command. */
export interface CompletionContext {
  /** Such as `allot quota show`. */
  path: string
  commands: Choice[]
  options: OptionChoice[]
  argument: Value
}

/** Quotes text as one line for bash and zsh. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''").replace(/\s+/g, ' ')}'`

/** Fish also has the escape `\\` inside quotes, and `\'` instead of a closed quote. */
const quoteForFish = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replace(/\s+/g, ' ')}'`

/** `case` patterns of all commands, and of all options that take a value, each after the path of its context. */
const patternsOf = (contexts: readonly CompletionContext[]) => ({
  commands: contexts.flatMap(({ path, commands }) => commands.map(({ word }) => quote(`${path} ${word}`))),
  options: contexts.flatMap(({ path, options }) =>
    options.flatMap(({ word, value }) => (value === undefined ? [] : [quote(`${path} ${word}`)])),
  ),
})

/**
 * Splits the line at blanks itself: bash would also split `size:all` at the colon. Evaluates nothing that was typed, and
 * starts no process. Works in bash 3.2, which macOS has.
 */
export const bashScript = (contexts: readonly CompletionContext[]): string => {
  const { commands, options } = patternsOf(contexts)
  return `# bash completion of allot
_allot() {
  local line="\${COMP_LINE:0:COMP_POINT}" at=allot flag='' word current list='' kind=''
  local -a words
  read -ra words <<< "$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  current="\${words[\${#words[@]}-1]}"
  unset "words[\${#words[@]}-1]"
  for word in "\${words[@]:1}"; do
    if [[ -n $flag ]]; then flag=''; continue; fi
    case "$at $word" in
      ${commands.join('|')}) at="$at $word" ;;
      ${options.join('|')}) flag=$word ;;
    esac
  done
  case "$at\${flag:+ $flag}" in
${contexts.flatMap(bashCases).join('\n')}
  esac
  COMPREPLY=()
  case $kind in
    file) compopt -o filenames 2>/dev/null; while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current") ;;
    folder) compopt -o filenames 2>/dev/null; while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$current") ;;
    *) while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$list" -- "$current") ;;
  esac
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then
    local before="\${current%"\${current##*:}"}"
    for word in "\${!COMPREPLY[@]}"; do COMPREPLY[$word]="\${COMPREPLY[$word]#"$before"}"; done
  fi
}
complete -F _allot allot
`
}

const bashCases = ({ path, commands, options, argument }: CompletionContext): string[] => [
  bashCase(
    path,
    argument,
    [...commands, ...options].map(({ word }) => word),
  ),
  ...options.flatMap(({ word, value }) => (value === undefined ? [] : [bashCase(`${path} ${word}`, value)])),
]

/** Where a file can stand, options are offered only after a dash. */
const bashCase = (pattern: string, value: Value, words: readonly string[] = []): string => {
  const list = [...words, ...(typeof value === 'string' ? [] : value)]
  const unlessOption = words.length > 0 && typeof value === 'string' ? `[[ $current == -* ]] || ` : ''
  const kind = value === 'file' || value === 'folder' ? ` ${unlessOption}kind=${value};` : ''
  return `    ${quote(pattern)}) list=${quote(list.join(' '))};${kind} ;;`
}

export const zshScript = (contexts: readonly CompletionContext[]): string => {
  const { commands, options } = patternsOf(contexts)
  return `#compdef allot
_allot() {
  local at=allot flag='' word
  local -a list
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ -n $flag ]]; then flag=''; continue; fi
    case "$at $word" in
      ${commands.join('|')}) at="$at $word" ;;
      ${options.join('|')}) flag=$word ;;
    esac
  done
  case "$at\${flag:+ $flag}" in
${contexts.flatMap(zshCases).join('\n')}
  esac
}
if [[ $funcstack[1] == _allot ]]; then _allot "$@"; else compdef _allot allot; fi
`
}

const zshCases = ({ path, commands, options, argument }: CompletionContext): string[] => {
  const described = [...commands, ...options].map(zshChoice).join(' ')
  return [
    `    ${quote(path)}) list=(${described}); _describe word list; ${zshValue(argument)} ;;`,
    ...options.flatMap(({ word, value }) =>
      value === undefined ? [] : [`    ${quote(`${path} ${word}`)}) ${zshValue(value)} ;;`],
    ),
  ]
}

const zshChoice = ({ word, description }: Choice): string =>
  quote(`${word}:${description.replaceAll('\\', '')}`)

const zshValue = (value: Value): string => {
  if (value === 'file') return '_files'
  if (value === 'folder') return '_files -/'
  return value === 'text' ? ':' : `compadd -- ${value.map(quote).join(' ')}`
}

export const fishScript = (contexts: readonly CompletionContext[]): string => {
  const { commands, options } = patternsOf(contexts)
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
            case ${commands.join(' ')}
                set at "$at $word"
            case ${options.join(' ')}
                set flag $word
        end
    end
    test "$at" = "$argv[1]"
end
complete -c allot -f
${contexts.flatMap(fishLines).join('\n')}
`
}

const fishLines = ({ path, commands, options, argument }: CompletionContext): string[] => {
  const start = `complete -c allot -n ${quoteForFish(`__allot_at "${path}"`)}`
  return [
    ...commands.map(({ word, description }) => `${start} -a ${word} -d ${quoteForFish(description)}`),
    ...options.map(({ word, description, value }) =>
      [
        start,
        '-l',
        word.slice(2),
        ...(value === undefined ? [] : [fishValue(value)]),
        '-d',
        quoteForFish(description),
      ].join(' '),
    ),
    ...(argument === 'text' ? [] : [`${start} ${argument === 'file' ? '-F' : fishValue(argument)}`]),
  ]
}

const fishValue = (value: Value): string => {
  if (value === 'file') return '-r -F'
  if (value === 'folder') return "-x -a '(__fish_complete_directories)'"
  return value === 'text' ? '-x' : `-x -a ${quoteForFish(value.join(' '))}`
}
