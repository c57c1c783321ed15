/** @jsxRuntime automatic @jsxImportSource preact */
/** Deletes selected things after a confirmation, and downloads what this server keeps. */
import type { Identity } from '../../accounts/access.ts'
import { authorizeAdmin } from '../../accounts/authorize.ts'
import { isRemovable, removalScope, type StorageItem } from '../../content/usage/storage-item.ts'
import { AllotError, invalid } from '../../errors.ts'
import { requireScopes } from '../../http/access.ts'
import type { Account } from '../../records/schema/index.ts'
import { Link, PageHead, Section, SizeCell, Table } from '../components.tsx'
import { checkConfirmation } from '../confirmation.tsx'
import { type PageReply, type PageServices, page } from '../route.ts'
import { accessibleOwner, ownerCrumbs } from './access.tsx'
import { confirmationOf, confirmationView } from './removal-view.tsx'
import { titleOf } from './thing-text.tsx'

/** Things that one form deletes at most. */
export const MAX_SELECTED = 50

export const removalRoutes = [
  page({
    method: 'POST',
    path: '/-/storage/{owner}/remove',
    auth: 'required',
    async handle({ user, params, form }, services) {
      const owner = await accessibleOwner(services, user, params.owner)
      const things = await selectedThings(services, user, owner, form.all('thing'))
      if (things.length === 0) return { to: `/-/storage/${owner.name}/usage?done=nothing` }
      const asked = { owner, user, things, confirmation: confirmationOf(things) }
      if (form.text('confirmed') === '') return confirmationView(services, asked)
      try {
        if (asked.confirmation !== undefined) checkConfirmation(form, asked.confirmation)
      } catch (error) {
        if (!(error instanceof AllotError)) throw error
        return { ...(await confirmationView(services, asked, error.message)), status: 422 }
      }
      for (const thing of things) await removeThing(services, user, owner, thing)
      return { to: `/-/storage/${owner.name}/usage?done=deleted` }
    },
  }),
  page({
    method: 'GET',
    path: '/-/storage/{owner}/download',
    auth: 'required',
    async handle({ user, params, query }, services) {
      const owner = await accessibleOwner(services, user, params.owner)
      const [thing] = await services.hosting.storageItems.byIds(user, owner.id, [query.get('thing') ?? ''])
      if (thing === undefined) throw new AllotError('not_found', 'there is no such file')
      return download(services, user, owner, thing, query.get('file'))
    },
  }),
]

/** @throws AllotError invalid when too many are selected; forbidden when the session lacks a scope */
const selectedThings = async (
  { hosting }: PageServices,
  user: Identity,
  owner: Account,
  ids: readonly string[],
): Promise<StorageItem[]> => {
  if (ids.length > MAX_SELECTED)
    throw invalid(`select at most ${MAX_SELECTED} items at once, got ${ids.length}`)
  const things = await hosting.storageItems.byIds(user, owner.id, [...new Set(ids)])
  for (const thing of things) if (thing.isKept) requireScopes(user, { scope: removalScope(thing) })
  return withoutContained(things.filter((thing) => isRemovable(user, thing)))
}

/** Leaves out things in a selected repository, which are deleted with it and must not count twice. */
const withoutContained = (things: readonly StorageItem[]): StorageItem[] => {
  const whole = new Set(
    things.filter(({ kind }) => kind === 'repositories').map(({ repositoryId }) => repositoryId),
  )
  return things.filter(({ kind, repositoryId }) => kind === 'repositories' || !whole.has(repositoryId))
}

/** Something that another request has deleted meanwhile counts as deleted. */
const removeThing = async (
  { hosting }: PageServices,
  user: Identity,
  owner: Account,
  thing: StorageItem,
): Promise<void> => {
  const { kind, used, inRepository } = thing
  const path = { owner: owner.name, name: inRepository?.name ?? '' }
  if (kind === 'repositories')
    await hosting.repositories.remove(authorizeAdmin(user, path.owner, path.name), user.id)
  else if (used === undefined) return
  else if (kind === 'lfs' && inRepository !== undefined)
    await hosting.lfs.remove(user, inRepository.id, used.entry.name)
  else if (kind === 'packages') await hosting.packages.remove(user, packageOf(owner, thing))
  else if (used.attached !== undefined) {
    const { on, targetId, id } = used.attached
    await hosting.attachments.remove(user, path, attachedTo(on, targetId), id)
  }
}

const attachedTo = (on: 'issue' | 'comment' | 'release', id: number) =>
  on === 'issue' ? { issue: id } : on === 'comment' ? { comment: id } : { release: id }

const packageOf = ({ name: owner }: Account, { name, used }: StorageItem) => ({
  owner,
  name,
  type: used?.entry.type ?? '',
  version: used?.entry.version ?? '',
})

const download = async (
  { hosting }: PageServices,
  user: Identity,
  owner: Account,
  thing: StorageItem,
  file: string | null,
): Promise<PageReply> => {
  const { kind, used, inRepository, name } = thing
  const type = 'application/octet-stream'
  if (kind === 'lfs' && inRepository !== undefined) {
    const [stored] = await hosting.lfs.find(inRepository.id, [used?.entry.name ?? ''])
    if (stored !== undefined)
      return { fileName: name, type, size: stored.size, content: await hosting.files.read(stored) }
  }
  if (kind === 'attachments' && used?.attached !== undefined) {
    const path = { owner: owner.name, name: inRepository?.name ?? '' }
    const { on, targetId, id } = used.attached
    const found = await hosting.attachments.find(user, path, attachedTo(on, targetId), id)
    if (found !== undefined)
      return { fileName: name, type, size: found.size, content: await hosting.attachments.read(found) }
  }
  if (kind === 'packages') return downloadPackage(hosting, user, owner, thing, file)
  throw new AllotError('not_found', `this server does not keep ${titleOf(thing)}`)
}

/** A version with one file is that file; one with several lists them. */
const downloadPackage = async (
  hosting: PageServices['hosting'],
  user: Identity,
  owner: Account,
  thing: StorageItem,
  file: string | null,
): Promise<PageReply> => {
  const files = (await hosting.packages.files(user, packageOf(owner, thing))) ?? []
  const found = files.length === 1 ? files[0] : files.find(({ name }) => name === file)
  if (found !== undefined) {
    const content = await hosting.files.read({ area: 'packages', ownerId: found.owner, name: found.stored })
    return { fileName: found.name, type: 'application/octet-stream', size: found.size, content }
  }
  if (files.length === 0) throw new AllotError('not_found', `this server does not keep ${thing.name}`)
  const to = (name: string) =>
    `/-/storage/${owner.name}/download?thing=${encodeURIComponent(thing.id)}&file=${encodeURIComponent(name)}`
  return {
    title: `Files of ${thing.name}`,
    crumbs: [
      ...ownerCrumbs(owner, user),
      { name: `Usage of ${owner.name}`, to: `/-/storage/${owner.name}/usage` },
    ],
    body: (
      <>
        <PageHead title={<bdi>{thing.name}</bdi>} subtitle={versionText(thing)} />
        <Section id="files" title="Files">
          <Table column="File" numbers={['Size']}>
            {files.map(({ id, name, size }) => (
              <tr key={id}>
                <td>
                  <Link to={to(name)}>{name}</Link>
                </td>
                <SizeCell bytes={size} />
              </tr>
            ))}
          </Table>
        </Section>
      </>
    ),
  }
}

const versionText = ({ used }: StorageItem): string => `Version ${used?.entry.version ?? ''}`
