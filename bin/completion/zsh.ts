import {
  type Choice,
  type CompletionContext,
  patternsOf,
  quoteForShell,
  type Value,
} from '../commands/completion.ts'

export const zshScript = (contexts: readonly CompletionContext[]): string => {
  const { commands, flags } = patternsOf(contexts)
  return `#compdef allot
_allot() {
  local at=allot flag='' word
  local -a list
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ -n $flag ]]; then flag=''; continue; fi
    case "$at $word" in
      ${commands.join('|')}) at="$at $word" ;;
      ${flags.join('|')}) flag=$word ;;
    esac
  done
  case "$at\${flag:+ $flag}" in
${contexts.flatMap(casesOf).join('\n')}
  esac
}
if [[ $funcstack[1] == _allot ]]; then _allot "$@"; else compdef _allot allot; fi
`
}

const casesOf = ({ at, commands, flags, argument }: CompletionContext): string[] => {
  const described = [...commands, ...flags].map(choice).join(' ')
  return [
    `    ${quoteForShell(at)}) list=(${described}); _describe word list; ${offer(argument)} ;;`,
    ...flags.flatMap(({ word, value }) =>
      value === undefined ? [] : [`    ${quoteForShell(`${at} ${word}`)}) ${offer(value)} ;;`],
    ),
  ]
}

const choice = ({ word, about }: Choice): string => quoteForShell(`${word}:${about.replaceAll('\\', '')}`)

const offer = (value: Value): string => {
  if (value === 'file') return '_files'
  if (value === 'folder') return '_files -/'
  return value === 'anything' ? ':' : `compadd -- ${value.map(quoteForShell).join(' ')}`
}
