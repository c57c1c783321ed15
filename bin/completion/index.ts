import type { Command } from 'commander'
import { type CompletionContext, completionContexts } from '../commands/completion.ts'
import { bashScript } from '../commands/completion-scripts.ts'
import { fishScript } from './fish.ts'
import { zshScript } from './zsh.ts'

const SCRIPTS: Readonly<Record<string, (contexts: readonly CompletionContext[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

/** A script that lets a shell complete the words of a command, all of them in it. */
export const completionScript = (program: Command, shell: string): string =>
  SCRIPTS[shell]!(completionContexts(program))
