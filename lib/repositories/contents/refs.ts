import { invalidMember } from '../../errors.ts'
import { canBePushed, isRefName } from '../../git/ref-names.ts'
import { type Page, pageOfAll, type Slice } from '../../records/pages.ts'
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

const FORMAT = '--format=%(refname) %(objectname) %(objecttype) %(*objectname) %(*objecttype)'

/**
 * @param prefix such as `refs/heads/`; git's pattern matches whole components
 * @param order a key of git-for-each-ref
 */
const listRefs = async (
  { git, access }: OpenRepository,
  prefix: string,
  order = 'refname',
): Promise<Ref[]> => {
  const lines = await git.lines(access, 'for-each-ref', [FORMAT, `--sort=${order}`, prefix])
  return lines.map((line) => {
    const [ref, id, type, target, targetType] = line.split(' ') as [string, string, string, string, string]
    return { ref, id, type, target: target || id, targetType: targetType || type }
  })
}

/** Before 2.45, git follows a tag of a tag by one step in a list. */
const followed = async ({ git, access }: OpenRepository, refs: readonly Ref[]): Promise<Ref[]> => {
  const found: Ref[] = []
  for (const ref of refs) {
    const object = ref.targetType === 'tag' ? await git.find(access, `${ref.id}^{}`) : undefined
    found.push(object === undefined ? ref : { ...ref, target: object.id, targetType: object.type })
  }
  return found
}

/** Branches, by name. */
export const listBranches = async (open: OpenRepository, slice: Slice): Promise<Page<Ref>> =>
  pageOfAll(await listRefs(open, 'refs/heads'), slice)

/** Tags, the newest first. */
export const listTags = async (open: OpenRepository, slice: Slice): Promise<Page<Ref>> => {
  const page = pageOfAll(await listRefs(open, 'refs/tags', '-creatordate'), slice)
  return { ...page, items: await followed(open, page.items) }
}

/**
 * The references whose names begin with some text, as `heads` or `tags/v1.`.
 * @param start without `refs/`; every reference when it is empty
 */
export const refsBelow = async (open: OpenRepository, start: string): Promise<Ref[]> => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: no reference has them
  if (/[\u0000-\u0020~^:?*[\\]/.test(start)) return []
  const wanted = `refs/${start}`
  const folder = wanted.slice(0, wanted.lastIndexOf('/') + 1)
  return (await listRefs(open, folder)).filter(({ ref }) => ref.startsWith(wanted))
}

const findRef = async (open: OpenRepository, ref: string): Promise<Ref | undefined> => {
  const object = await findObject(open, ref, '')
  if (object === undefined) return undefined
  const { id, type } = object
  const [found] = await followed(open, [{ ref, id, type, target: id, targetType: type }])
  return found
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
