import { type Command, Option } from 'commander'
import { apiOptions, example, serverOptions, storeOptions } from '../commands/options.ts'

const lists = () => import('../commands/repo.ts')
const ORDERS = ['name', 'largest', 'newest', 'changed', 'stars']

export const defineAccountCommands = (program: Command): void => {
  userWords(program.command('user').description('accounts of people'))
  tokenWords(program.command('token').description('access tokens'))
  organizationWords(program.command('org').description('organizations'))
  repositoryWords(program.command('repo').description('repositories'))
}

const userWords = (user: Command): void => {
  serverOptions(storeOptions(user.command('add')))
    .argument('<name>')
    .description('add a user; on a server, as the administrator whose token is in ALLOT_TOKEN')
    .option('--admin', 'an administrator')
    .option('--email <e>', 'the email address')
    .option('--password <p>', 'a password, at least 8 characters')
    .option('--token', 'print a new token with all scopes, and nothing else, on standard output')
    .option('--json', 'the answer as JSON')
    .addHelpText('after', example('T=$(allot user add ci --token)', 'allot user add ada --admin'))
    .action(async (name, flags) => (await import('../commands/user.ts')).addUser(name, flags))
  apiOptions(user.command('list'))
    .description('all users')
    .addHelpText('after', example('allot user list --data /var/lib/allot', 'allot user list --json'))
    .action(async (flags) => (await lists()).listUsers(flags))
}

const tokenWords = (token: Command): void => {
  apiOptions(token.command('add'))
    .argument('<user>')
    .description('add a token and print it, and nothing else, on standard output')
    .option('--name <n>', 'what the token is for (default: cli and the time)')
    .option('--scopes <a,b>', 'what it may do (default: all)')
    .addHelpText('after', example('T=$(allot token add ci --scopes read:user,write:repository)'))
    .action(async (user, flags) => (await import('../commands/token.ts')).addToken(user, flags))
  apiOptions(token.command('list'))
    .argument('<user>')
    .description("a user's tokens: what they may do, and never the tokens themselves")
    .addHelpText('after', example('allot token list ci'))
    .action(async (user, flags) => (await lists()).listTokens(user, flags))
  apiOptions(token.command('delete'))
    .argument('<user>')
    .argument('<token>', 'its id or name, as `allot token list` has them')
    .description('revoke a token')
    .addHelpText('after', example('allot token delete ci 7'))
    .action(async (user, name, flags) =>
      (await import('../commands/token.ts')).deleteToken(user, name, flags),
    )
}

const organizationWords = (organization: Command): void => {
  apiOptions(organization.command('add'))
    .argument('<name>')
    .description('add an organization')
    .requiredOption('--owner <user>', 'the user who is its first owner')
    .addHelpText('after', example('allot org add acme --owner alice'))
    .action(async (name, flags) => (await import('../commands/org.ts')).addOrganization(name, flags))
  apiOptions(organization.command('delete'))
    .argument('<name>')
    .description('delete an organization')
    .option('--purge', 'also what the organization owns: repositories and packages')
    .addHelpText('after', example('allot org delete acme', 'allot org delete acme --purge'))
    .action(async (name, flags) => (await import('../commands/org.ts')).deleteOrganization(name, flags))
  apiOptions(organization.command('list'))
    .description('all organizations')
    .addHelpText('after', example('allot org list'))
    .action(async (flags) => (await lists()).listOrganizations(flags))
}

const repositoryWords = (repository: Command): void => {
  apiOptions(repository.command('list'))
    .argument('[owner]', 'a user or an organization; everyone when absent')
    .description('repositories and their sizes')
    .addOption(new Option('--by <order>', "the order of an owner's (default: name)").choices(ORDERS))
    .addHelpText('after', example('allot repo list', 'allot repo list acme --by largest'))
    .action(async (owner, flags) => (await lists()).listRepositories(owner, flags))
}
