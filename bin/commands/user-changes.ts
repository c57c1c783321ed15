import type { Command } from 'commander'
import type { User } from '../../lib/api/users.ts'
import { type ApiFlags, pathSegment, withApi } from '../client/api.ts'
import { UsageError } from '../errors.ts'
import { printNote } from '../terminal.ts'
import {
  examples,
  type PasswordFlags,
  passwordOptions,
  readPassword,
  remoteOptions,
  storeOptions,
} from './options.ts'

/** Commands that change and delete users. */
export const addUserChangeCommands = (user: Command): void => {
  remoteOptions(storeOptions(user.command('delete')))
    .argument('<name>')
    .description('delete a user')
    .option('--purge', 'also delete the repositories and packages that the user owns')
    .addHelpText('after', examples('allot user delete ada', 'allot user delete ada --purge'))
    .action(deleteAccount('user', '/admin/users'))
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
  passwordOptions(remoteOptions(storeOptions(user.command('password'))))
    .argument('<name>')
    .description('set the password of a user; without --password, it is read from standard input')
    .addHelpText(
      'after',
      examples('allot user password ada', 'allot user password ada --password-stdin < file'),
    )
    .action(async (name: string, { password, passwordStdin, ...flags }: ApiFlags & PasswordFlags) => {
      const given = { password, passwordStdin: passwordStdin ?? password === undefined }
      return editUser(name, flags, { password: await readPassword(given) }, 'has another password')
    })
}

/**
 * The command that deletes a user or an organization.
 * @param folder of the API, such as `/orgs`
 */
export const deleteAccount =
  (what: string, folder: string) =>
  (name: string, { purge, ...flags }: ApiFlags & { purge?: boolean }): Promise<void> => {
    const path = `${folder}/${pathSegment(name)}${purge ? '?purge=true' : ''}`
    return withApi(flags, async (api) => {
      await api.send('DELETE', path, { notFound: `there is no ${what} named ${name}` }).catch(namePurge)
      printNote(`deleted the ${what} ${name}`)
    })
  }

/** An account that owns something stays: the message of the API names its parameter. */
const namePurge = (error: Error): never => {
  error.message = error.message.replace('set purge=true', 'give --purge')
  throw error
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
