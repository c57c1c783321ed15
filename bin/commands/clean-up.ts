import type { Command } from 'commander'
import type { CleanedUp } from '../../lib/api/repositories.ts'
import type { Repository } from '../../lib/api/repository-presenter.ts'
import { formatSize } from '../../lib/byte-sizes.ts'
import { type ApiClient, type ApiFlags, pathSegment, withApi } from '../client/api.ts'
import { UsageError } from '../errors.ts'
import { type PrintFlags, print, printJson } from '../terminal.ts'
import { apiOptions, examples } from './options.ts'

export const addCleanUpCommand = (program: Command): void => {
  apiOptions(program.command('gc'))
    .argument('[owner/name...]', 'repositories; all of them when absent')
    .description(
      'free bytes of git that nothing refers to and that are an hour old, such as those of deleted branches',
    )
    .addHelpText('after', examples('allot gc acme/app', 'allot gc', 'allot gc --url http://127.0.0.1:3000'))
    .action(cleanUp)
}

const cleanUp = (names: readonly string[], { json, ...flags }: ApiFlags & PrintFlags): Promise<void> => {
  for (const name of names) pathOf(name)
  return withApi(flags, async (api) => {
    const cleaned: (CleanedUp & { repository: string })[] = []
    const failed = new Map<string, string[]>()
    for (const name of names.length > 0 ? names : await allNames(api)) {
      const path = pathOf(name)
      const asked = api.send<CleanedUp>('POST', path, { notFound: NOT_FOUND })
      const sizes = await asked.catch(({ message }: Error) => {
        // Several repositories can have failed for the same reason, such as a server that is down.
        const reason = message.replace(path, '')
        failed.set(reason, [...(failed.get(reason) ?? []), name])
      })
      if (sizes === undefined) continue
      cleaned.push({ repository: name, ...sizes })
      if (!json) print(`${name}: ${changeOf(sizes)}`)
    }
    if (json) printJson(cleaned)
    const lines = [...failed].map(([reason, all]) => `${all.join(', ')}: ${reason}`)
    if (lines.length > 0) throw new Error(lines.join('\n'))
  })
}

const NOT_FOUND = 'there is no such repository, or the server has no git data'

const changeOf = ({ size_before, size_after }: CleanedUp): string =>
  size_after < size_before
    ? `${formatSize(size_before - size_after)} freed`
    : 'nothing to free that is an hour old'

/** @throws UsageError unless it is the name of an owner and that of a repository */
const pathOf = (name: string): string => {
  const [owner, repository, ...more] = name.split('/')
  if (!owner || !repository || more.length > 0)
    throw new UsageError(`"${name}" is not a repository: expected owner/name`)
  return `/repos/${pathSegment(owner)}/${pathSegment(repository)}/gc`
}

const allNames = async (api: ApiClient): Promise<string[]> => {
  const names: string[] = []
  for await (const { items } of api.pages<Repository>('/repos/search'))
    names.push(...items.map(({ full_name }) => full_name))
  return names
}
