import { invalidMember } from '../../errors.ts'
import { canBePushed, isRefName } from '../../git/ref-names.ts'
import type { Page, Slice } from '../../records/pages.ts'
import { findObject, type OpenRepository } from './open-repository.ts'

/** A reference, and the object that it points to. */
export interface Ref {
  /** Full name of the reference, such as `refs/heads/main`. */
  readonly ref: string
  readonly id: string
  readonly type: string
  /** The object that an annotated tag leads to; the same id for everything else. */
  readonly target: string
  /** `commit`, unless a tag is of a tree or of a blob. */
  readonly targetType: string
}

/**
 * A page of the references that match some patterns of git-for-each-ref. Invariant: of other references, only
 * the lines are counted, whose objects git does not read unless the order needs them.
 * @param order a key of git-for-each-ref
 * @returns also the name of the first on all pages
 */
const listRefs = async (
  { git, access }: OpenRepository,
  patterns: readonly string[],
  { offset, limit }: Slice,
  order = 'refname',
): Promise<Page<Ref> & { readonly first: string }> => {
  const args = ['--format=%(objectname) %(refname)', `--sort=${order}`, ...patterns]
  const shown: string[] = []
  let first = ''
  let total = 0
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of git.chunks(access, 'for-each-ref', args)) {
    const lines = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    let start = 0
    for (let end = lines.indexOf(LINE_FEED); end >= 0; end = lines.indexOf(LINE_FEED, start)) {
      if (total === 0) first = lines.toString('utf8', start + NAME_AT, end)
      if (total >= offset && total < offset + limit) shown.push(lines.toString('utf8', start, end))
      total++
      start = end + 1
    }
    rest = lines.subarray(start)
  }
  const named = shown.map((line) => ({ id: line.slice(0, 40), ref: line.slice(NAME_AT) }))
  const infos = await git.infos(
    access,
    named.flatMap(({ id }) => [id, `${id}^{}`]),
  )
  const items = named.map(({ id, ref }, index) => {
    const [info, target] = [infos[2 * index], infos[2 * index + 1]]
    const type = info?.type ?? 'commit'
    return { ref, id, type, target: target?.id ?? id, targetType: target?.type ?? type }
  })
  return { items, total, first }
}

const LINE_FEED = 10
/** Where the name begins in a line. */
const NAME_AT = 41

/** Branches, by name. */
export const listBranches = (open: OpenRepository, slice: Slice): Promise<Page<Ref>> =>
  listRefs(open, ['refs/heads'], slice)

/** Tags, the newest first. */
export const listTags = (open: OpenRepository, slice: Slice): Promise<Page<Ref>> =>
  listRefs(open, ['refs/tags'], slice, '-creatordate')

/**
 * The reference that has a name, or those whose names begin with it, as `heads` or `tags/v1.`, by name.
 * @param start without `refs/`; every reference when it is empty
 */
export const refsBelow = async (open: OpenRepository, start: string, slice: Slice): Promise<Page<Ref>> => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no reference has them
  if (/[\u0000-\u0020~^:?*[\\]/.test(start)) return { items: [], total: 0 }
  const { first, ...found } = await listRefs(open, [`refs/${start}*`, `refs/${start}*/**`], slice)
  // By name, it precedes those that it is the beginning of.
  return first === `refs/${start}`
    ? { items: found.items.slice(0, slice.offset === 0 ? 1 : 0), total: 1 }
    : found
}

const findRef = async (open: OpenRepository, ref: string): Promise<Ref | undefined> => {
  const object = await findObject(open, ref, '')
  if (object === undefined) return undefined
  const { id, type } = object
  const target = type === 'tag' ? await open.git.find(open.access, `${id}^{}`) : object
  return { ref, id, type, target: target?.id ?? id, targetType: target?.type ?? type }
}

export const findBranch = async (open: OpenRepository, name: string): Promise<Ref | undefined> =>
  canBePushed(name) ? findRef(open, `refs/heads/${name}`) : undefined

export const findTag = async (open: OpenRepository, name: string): Promise<Ref | undefined> =>
  canBePushed(name) ? findRef(open, `refs/tags/${name}`) : undefined

/**
 * Bytes of each part: git locks a reference with a file whose name is 5 longer, and file systems allow 255.
 */
const MAX_PART = 250

/**
 * Checks the name of a new branch or tag.
 * @param member of the request, which the error names
 * @throws AllotError invalid when git would refuse it
 */
export const checkRefName = (member: string, name: string, kind = 'name'): void => {
  if (!isRefName(name)) throw invalidMember(member, `${JSON.stringify(name)} is not a valid ${kind}`)
  if (name.split('/').some((part) => Buffer.byteLength(part) > MAX_PART))
    throw invalidMember(member, `each part of a name between slashes must have at most ${MAX_PART} bytes`)
}

/** The name of a branch or a tag. */
export const shortName = ({ ref }: Ref): string => ref.replace(/^refs\/(?:heads|tags)\//, '')
