import type { Command } from 'commander'
import {
  apiOptions,
  example,
  parseList,
  parsePercentage,
  parseSize,
  parseSubjects,
  subjectOption,
} from '../commands/options.ts'

const OWNER = 'a user or an organization; on a server: the user of the token when absent'
const DRY = 'only tell what would change'

const shows = () => import('../commands/quota-show.ts')
const rulesAndGroups = () => import('../commands/quota-rules.ts')

export const defineQuotaCommands = (program: Command): void => {
  const quota = program.command('quota').description('who uses how much, and may')
  lookWords(quota)
  apiOptions(quota.command('apply'))
    .argument('<file>', 'a TOML file of rules, groups and assignments; - for standard input')
    .description('make quota as a file says, all or nothing, and tell what that changed')
    .option('--dry-run', DRY)
    .addHelpText('after', example('allot quota apply quota.toml --dry-run'))
    .action(async (file, flags) => (await import('../commands/quota.ts')).applyQuota(file, flags))
  ruleWords(quota.command('rules').description('limits and what they measure'))
  groupWords(quota.command('groups').description('rules together, and who they are for'))
}

const lookWords = (quota: Command): void => {
  apiOptions(quota.command('show'))
    .argument('[owner]', OWNER)
    .description('what is used, part by part, against what limits it')
    .addHelpText(
      'after',
      example('allot quota show alice', 'ALLOT_URL=https://git.example.org ALLOT_TOKEN=… allot quota show'),
    )
    .action(async (owner, flags) => (await shows()).showQuota(owner, flags))
  apiOptions(quota.command('explain'))
    .argument('[owner]', OWNER)
    .description('why somebody is, or is not, over quota')
    .addOption(subjectOption())
    .addHelpText('after', example('allot quota explain alice --subject size:assets:artifacts'))
    .action(async (owner, flags) => (await shows()).explainQuota(owner, flags))
  apiOptions(quota.command('over'))
    .description('who is over quota, largest excess first')
    .addOption(subjectOption())
    .option(
      '--within <percentage>',
      'also who has no more than this share of the limit left',
      parsePercentage,
    )
    .addHelpText('after', example('allot quota over', 'allot quota over --within 20%'))
    .action(async (flags) => (await import('../commands/quota-over.ts')).listOver(flags))
}

const ruleWords = (rules: Command): void => {
  apiOptions(rules.command('list', { isDefault: true }))
    .description('all rules')
    .addHelpText('after', example('allot quota rules'))
    .action(async (flags) => (await rulesAndGroups()).listRules(flags))
  apiOptions(rules.command('set'))
    .argument('<name>')
    .description('make a rule, or change what is given of one')
    .option('--limit <size>', 'bytes, or as in "2 GiB"; -1 is unlimited', parseSize)
    .option('--subjects <a,b>', 'what it measures', parseSubjects)
    .option('--dry-run', DRY)
    .addHelpText('after', example('allot quota rules set free-total --limit "2 GiB" --subjects size:all'))
    .action(async (name, flags) => (await rulesAndGroups()).setRule(name, flags))
  apiOptions(rules.command('delete'))
    .argument('<name>')
    .description('delete a rule, and take it out of every group')
    .addHelpText('after', example('allot quota rules delete free-total'))
    .action(async (name, flags) => (await rulesAndGroups()).deleteRule(name, flags))
}

const groupWords = (groups: Command): void => {
  apiOptions(groups.command('list', { isDefault: true }))
    .description('all groups and their rules')
    .addHelpText('after', example('allot quota groups'))
    .action(async (flags) => (await rulesAndGroups()).listGroups(flags))
  apiOptions(groups.command('set'))
    .argument('<name>')
    .description('make a group of these rules, or give them to one')
    .requiredOption('--rules <a,b>', 'all of its rules', parseList)
    .option('--dry-run', DRY)
    .addHelpText('after', example('allot quota groups set free --rules free-total,few-artifacts'))
    .action(async (name, flags) => (await rulesAndGroups()).setGroup(name, flags))
  apiOptions(groups.command('assign'))
    .argument('<owner>', 'a user or an organization')
    .argument('[groups...]', 'all groups of this owner; none: those that are configured for everyone')
    .description('say which groups an owner is judged by')
    .option('--dry-run', DRY)
    .addHelpText('after', example('allot quota groups assign acme free sponsors'))
    .action(async (owner, names, flags) => (await rulesAndGroups()).assignGroups(owner, names, flags))
  apiOptions(groups.command('delete'))
    .argument('<name>')
    .description('delete a group, and take it from everyone who has it; its rules stay')
    .addHelpText('after', example('allot quota groups delete free'))
    .action(async (name, flags) => (await rulesAndGroups()).deleteGroup(name, flags))
}
