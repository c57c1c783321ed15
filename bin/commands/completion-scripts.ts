import { type CompletionContext, patternsOf, quoteForShell, type Value } from './completion.ts'

/**
 * Words are cut at blanks, as a person sees them: bash itself would cut `size:all` at the colon. Nothing that was typed is
 * evaluated, and nothing is started for a key that is pressed. It runs in the bash of a Mac, too, which is 3.2.
 */
export const bashScript = (contexts: readonly CompletionContext[]): string => {
  const { commands, flags } = patternsOf(contexts)
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
      ${flags.join('|')}) flag=$word ;;
    esac
  done
  case "$at\${flag:+ $flag}" in
${contexts.flatMap(casesOf).join('\n')}
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

const casesOf = ({ at, commands, flags, argument }: CompletionContext): string[] => {
  const words = [...commands, ...flags].map(({ word }) => word)
  return [
    line(at, argument, words),
    ...flags.flatMap(({ word, value }) => (value === undefined ? [] : [line(`${at} ${word}`, value)])),
  ]
}

/** Flags are offered beside files only to whoever has begun one. */
const line = (at: string, value: Value, words: readonly string[] = []): string => {
  const list = [...words, ...(typeof value === 'string' ? [] : value)]
  const isFlag = words.length > 0 && typeof value === 'string' ? `[[ $current == -* ]] || ` : ''
  const kind = value === 'file' || value === 'folder' ? ` ${isFlag}kind=${value};` : ''
  return `    ${quoteForShell(at)}) list=${quoteForShell(list.join(' '))};${kind} ;;`
}
