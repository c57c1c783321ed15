import { Argument, type Command } from 'commander'
import { example } from '../commands/options.ts'

export const defineCompletionCommand = (program: Command): void => {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'whose it is').choices(['bash', 'zsh', 'fish']))
    .description('print a script that lets a shell complete the words of this command')
    .addHelpText(
      'after',
      example(
        'source <(allot completion bash)           # in ~/.bashrc; the same with zsh, after compinit',
        'allot completion fish > ~/.config/fish/completions/allot.fish',
      ),
    )
    .action(async (shell) => {
      const { completionScript } = await import('../completion/index.ts')
      process.stdout.write(completionScript(program, shell))
    })
}
