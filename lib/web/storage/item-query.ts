/** The sort order and the filters of the table of items, as query parameters of the page. */
import {
  type StorageItemKind,
  type StorageItemQuery,
  storageItemKinds,
} from '../../content/usage/storage-item.ts'
import { pageNumber, withQuery } from '../parts/paging.tsx'

export const isStorageItemKind = (text: string | null): text is StorageItemKind =>
  storageItemKinds.some((kind) => kind === text)

/** What the query parameters of the page say. */
export interface ItemListQuery extends StorageItemQuery {
  readonly page: number
}

export const readQuery = (query: URLSearchParams, kind: string | null = query.get('kind')): ItemListQuery => {
  const sort = query.get('sort')
  return {
    kind: isStorageItemKind(kind) ? kind : undefined,
    repository: query.get('repository')?.trim() ?? '',
    uploader: query.get('uploader')?.trim() ?? '',
    search: query.get('q')?.trim().slice(0, 255) ?? '',
    sort: sort === 'name' || sort === 'created' ? sort : 'size',
    reverse: query.get('order') === 'reverse',
    page: pageNumber(query),
  }
}

/** Path of the page with another query. */
export const pathOf = (owner: string, asked: ItemListQuery, file = 'usage'): string =>
  withQuery(`/-/storage/${owner}/${file}`, {
    kind: asked.kind,
    repository: asked.repository,
    uploader: asked.uploader,
    q: asked.search,
    sort: asked.sort !== 'size' && asked.sort,
    order: asked.reverse && 'reverse',
    page: asked.page > 1 && asked.page,
  })
