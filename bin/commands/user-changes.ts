import type { Command } from 'commander'
import type { User } from '../../lib/api/users.ts'
import { type ApiFlags, pathSegment, withApi } from '../client/api.ts'
import { UsageError } from '../errors.ts'
import { printNote } from '../terminal.ts'
import { examples, remoteOptions, storeOptions } from './options.ts'

/** Commands that change and delete users. */
export const addUserChangeCommands = (user: Command): void => {
  remoteOptions(storeOptions(user.command('delete')))
    .argument('<name>')
    .description('delete a user')
    .option('--purge', 'also delete the repositories and packages that the user owns')
    .addHelpText('after', examples('allot user delete ada', 'allot user delete ada --purge'))
    .action(deleteUser)
  remoteOptions(storeOptions(user.command('disable')))
    .argument('<name>')
    .description('keep a user from signing in')
    .option('--undo', 'let the user sign in again')
    .addHelpText('after', examples('allot user disable ada', 'allot user disable ada --undo'))
    .action((name: string, { undo = false, ...flags }: ApiFlags & { undo?: boolean }) =>
      editUser(name, flags, { active: undo }, undo ? 'can sign in again' : 'cannot sign in any more'),
    )
  remoteOptions(storeOptions(user.command('edit')))
    .argument('<name>')
    .description('change a user')
    .option('--email <e>', 'email address')
    .option('--full-name <n>', 'name of the person')
    .option('--admin', 'make the user an administrator')
    .option('--no-admin', 'take that from the user')
    .addHelpText(
      'after',
      examples('allot user edit ada --email ada@example.org', 'allot user edit ada --admin'),
    )
    .action(changeUser)
  remoteOptions(storeOptions(user.command('password')))
    .argument('<name>')
    .description('set the password of a user')
    .requiredOption('--password <p>', 'the new password, at least 8 characters')
    .addHelpText('after', examples("allot user password ada --password 'correct horse battery'"))
    .action((name: string, { password, ...flags }: ApiFlags & { password: string }) =>
      editUser(name, flags, { password }, 'has another password'),
    )
}

const deleteUser = (name: string, { purge, ...flags }: ApiFlags & { purge?: boolean }): Promise<void> => {
  const path = `/admin/users/${pathSegment(name)}${purge ? '?purge=true' : ''}`
  return withApi(flags, async (api) => {
    await api.send('DELETE', path, { notFound: `there is no user named ${name}` })
    printNote(`deleted the user ${name}`)
  })
}

const changeUser = async (
  name: string,
  { email, fullName, admin, ...flags }: ApiFlags & { email?: string; fullName?: string; admin?: boolean },
): Promise<void> => {
  const edit = { email, full_name: fullName, admin }
  if (Object.values(edit).every((value) => value === undefined))
    throw new UsageError('nothing to change: give --email, --full-name, --admin or --no-admin')
  return editUser(name, flags, edit, 'is changed')
}

/** @param done what is true of the user then, such as `is changed` */
const editUser = (name: string, flags: ApiFlags, edit: object, done: string): Promise<void> =>
  withApi(flags, async (api) => {
    const { login } = await api.send<User>('PATCH', `/admin/users/${pathSegment(name)}`, {
      body: edit,
      notFound: `there is no user named ${name}`,
    })
    printNote(`the user ${login} ${done}`)
  })
