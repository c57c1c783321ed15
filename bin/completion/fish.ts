import { type CompletionContext, patternsOf, type Value } from '../commands/completion.ts'

/** Fish knows \\' inside of quotes, and not what the others write. */
const quoted = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replace(/\s+/g, ' ')}'`

export const fishScript = (contexts: readonly CompletionContext[]): string => {
  const { commands, flags } = patternsOf(contexts)
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
            case ${flags.join(' ')}
                set flag $word
        end
    end
    test "$at" = "$argv[1]"
end
complete -c allot -f
${contexts.flatMap(linesOf).join('\n')}
`
}

const linesOf = ({ at, commands, flags, argument }: CompletionContext): string[] => {
  const begin = `complete -c allot -n ${quoted(`__allot_at "${at}"`)}`
  return [
    ...commands.map(({ word, about }) => `${begin} -a ${word} -d ${quoted(about)}`),
    ...flags.map(
      ({ word, about, value }) =>
        `${begin} -l ${word.slice(2)}${value === undefined ? '' : ` ${offer(value)}`} -d ${quoted(about)}`,
    ),
    ...(argument === 'anything' ? [] : [`${begin} ${argument === 'file' ? '-F' : offer(argument)}`]),
  ]
}

const offer = (value: Value): string => {
  if (value === 'file') return '-r -F'
  if (value === 'folder') return "-x -a '(__fish_complete_directories)'"
  return value === 'anything' ? '-x' : `-x -a ${quoted(value.join(' '))}`
}
