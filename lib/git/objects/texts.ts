/**
 * Commits and tags, whose contents a list has all at once. What is read and kept of them is bounded, whatever
 * was pushed.
 */
import type { BatchProcess, ObjectInfo } from './batch-process.ts'

/** An object, or the beginning of its content. */
export interface GitObject extends ObjectInfo {
  readonly content: Buffer
}

/** A commit or a tag, as far as it was read. */
export interface GitText extends GitObject {
  readonly type: 'commit' | 'tag'
  /** Whether the content is only the beginning, or was not read. */
  readonly isCut: boolean
}

/**
 * Bytes of commits or tags that one list reads from git besides those that it keeps, and that it keeps:
 * normal ones have a few thousand each.
 */
const [MAX_READ, MAX_KEPT] = [32 * 1024 * 1024, 2 * 1024 * 1024]
const NOTHING = Buffer.alloc(0)

/** The largest number of bytes that each object may keep, so that all keep no more than `total`. */
const evenShare = (objects: readonly ObjectInfo[], total: number): number => {
  let [left, count] = [total, objects.length]
  for (const size of objects.map(({ size }) => size).sort((a, b) => a - b)) {
    if (size * count > left) return Math.floor(left / count)
    left -= size
    count--
  }
  return total
}

/**
 * The beginnings of the contents of the objects that have the type: all of them together, or of the largest
 * ones nothing.
 */
export const readTexts = async (
  batch: BatchProcess,
  type: GitText['type'],
  ids: readonly string[],
): Promise<GitObject[]> => {
  const found = await Promise.all(ids.map((id) => batch.info(id)))
  // A tag can lead to anything.
  const infos = found.filter((info) => info?.type === type) as ObjectInfo[]
  const kept = evenShare(infos, MAX_KEPT)
  let left = MAX_READ
  const isRead = ({ size }: ObjectInfo) => {
    if (size > kept) left -= size
    return size <= kept || left >= 0
  }
  return Promise.all(
    infos.map(async (info) => ({
      ...info,
      content: (isRead(info) ? await batch.content(info.id, kept) : undefined) ?? NOTHING,
    })),
  )
}

/** Those that have the type, in the order of their ids, as far as they are kept together. */
export const textsOf = (
  type: GitText['type'],
  ids: readonly string[],
  objects: readonly GitObject[],
): GitText[] => {
  const byId = new Map(objects.map((object) => [object.id, object]))
  const kept = evenShare(objects, MAX_KEPT)
  return ids.flatMap((id) => {
    const object = byId.get(id)
    if (object?.type !== type) return []
    const content = object.content.subarray(0, kept)
    return [{ ...object, type, content, isCut: content.length < object.size }]
  })
}
