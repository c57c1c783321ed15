/** Downloads of what this server stores, from the lists of what uses storage. */
import type { Identity } from '../../accounts/access.ts'
import { fileOfPackage, type SentFile } from '../../content/downloads.ts'
import { itemScope, type StorageItem } from '../../content/usage/storage-item.ts'
import { AllotError } from '../../errors.ts'
import { fileReply } from '../../http/responses.ts'
import type { Account, PackageFile } from '../../records/schema/index.ts'
import { requireScopes } from '../../scopes.ts'
import { Link, PageHead, Section, Size } from '../parts/components.tsx'
import { Table } from '../parts/list.tsx'
import type { PageServices, View } from '../parts/route.ts'
import { ownerCrumbs, storagePages } from './access.tsx'
import { titleOf } from './item-text.tsx'
import { packageOf } from './removal.tsx'

export const downloadPageRoutes = [
  storagePages.page({
    path: '/-/storage/{owner}/download',
    async handle({ owner, services, user, query }) {
      const { hosting } = services
      const [item] = await hosting.storageItems.byIds(user, owner.id, [query.get('item') ?? ''])
      if (item === undefined) throw new AllotError('not_found', 'there is no such file')
      requireScopes(user, { scope: itemScope(item, 'read') })
      const files =
        item.kind === 'packages' ? ((await hosting.packages.files(user, packageOf(owner, item))) ?? []) : []
      // A version with one file is that file; one with several lists them.
      const one = files.length === 1 ? files[0] : files.find(({ name }) => name === query.get('file'))
      if (one === undefined && files.length > 0) return filesView(owner, user, item, files)
      const file = one ? fileOfPackage(hosting.files, one) : await fileOf(services, user, item)
      if (file === undefined)
        throw new AllotError('not_found', `${titleOf(item)} is not stored on this server`)
      return async ({ headers }) => fileReply(headers, file)
    },
  }),
]

const fileOf = async (
  { hosting }: PageServices,
  user: Identity,
  { kind, used, inRepository, name }: StorageItem,
): Promise<SentFile | undefined> => {
  if (kind === 'attachments' && used?.attached !== undefined)
    return hosting.attachments.open(user, used.attached.uuid)
  if (kind !== 'lfs' || used === undefined || inRepository === undefined) return undefined
  const tag = used.entry.name
  const [stored] = await hosting.lfs.find(inRepository.id, [tag])
  return stored && { size: stored.size, tag, name, read: (range) => hosting.files.read(stored, range) }
}

/** The files of a version of a package. */
const filesView = (
  owner: Account,
  user: Identity,
  { id, name, used }: StorageItem,
  files: readonly PackageFile[],
): View => {
  const storage = `/-/storage/${owner.name}`
  const to = (file: string) =>
    `${storage}/download?item=${encodeURIComponent(id)}&file=${encodeURIComponent(file)}`
  return {
    title: `Files of ${name}`,
    crumbs: [...ownerCrumbs(owner, user), { name: `Usage of ${owner.name}`, to: `${storage}/usage` }],
    body: (
      <>
        <PageHead title={<bdi>{name}</bdi>} subtitle={`Version ${used?.entry.version ?? ''}`} />
        <Section id="files" title="Files">
          <Table
            items={files}
            keyOf={(file) => file.id}
            columns={[
              { head: 'File', cell: (file) => <Link to={to(file.name)}>{file.name}</Link> },
              { head: 'Size', class: 'number', cell: ({ size }) => <Size bytes={size} /> },
            ]}
          />
        </Section>
      </>
    ),
  }
}
