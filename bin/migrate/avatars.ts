import { hash } from 'node:crypto'
import { type AvatarImage, avatarTypeOf, MAX_AVATAR_BYTES } from '../../lib/accounts/avatars.ts'
import { formatSize } from '../../lib/byte-sizes.ts'
import { AllotError } from '../../lib/errors.ts'
import type { Account, MigrationRecord } from '../../lib/records/schema/index.ts'
import { ifAvailable, type Migration, reportErrors } from './migration.ts'
import type { Report } from './report.ts'
import type { Source } from './source.ts'

const REFUSED = 'avatars that Allot does not store'
const MISSING = 'avatars that the source names, but does not have'
const OF_OTHERS = 'avatars of another service, such as Gravatar'
const CHANGED_HERE = 'avatars that were changed here'
const REMOVED_HERE = 'avatars that were removed here, and stay removed'
const KEPT = 'avatars that were changed at the source, and are kept as they are'
const KEPT_REMOVED = 'avatars that were removed at the source, and are kept'

/** A user or an organization of the source. */
export interface AvatarOwner {
  readonly id?: number | undefined
  readonly name: string
  readonly email: string
  readonly avatar_url: string
}

/** An image at the source that may have been uploaded. */
interface SourceAvatar {
  readonly path: string
  /**
   * Name of its file, a digest of the image. It alone identifies the image: the host of the address is that
   * of the source's settings, by which this server need not reach it.
   */
  readonly key: string
}

/** In an Allot, the image that is made of a name has no key. */
const OF_ALLOT = /\/avatars\/[\w.-]+\/([0-9a-f]{32})$/
const OF_GITEA = /\/avatars\/([0-9a-f]{64}|[0-9a-f]{32})$/

const md5 = (content: string | Buffer): string => hash('md5', content)

/** Undefined when the source shows an image that it has generated, or one of another service. */
export const sourceAvatar = (
  { isAllot }: Source,
  report: Pick<Report, 'note'>,
  { name, email, avatar_url: url }: AvatarOwner,
): SourceAvatar | undefined => {
  const { pathname } = URL.canParse(url) ? new URL(url) : { pathname: '' }
  const [path, key] = (isAllot ? OF_ALLOT : OF_GITEA).exec(pathname) ?? []
  if (/\/avatar\/[0-9a-f]+$/.test(pathname)) report.note('notCopied', OF_OTHERS, name)
  if (path === undefined || key === undefined) return undefined
  // Gitea and Forgejo name a generated image after the address or, without one, after the name.
  const isGenerated = [email, name].some((seed) => md5(seed.trim().toLowerCase()) === key)
  return isGenerated ? undefined : { path, key }
}

/**
 * Downloads an image.
 * @returns undefined for one that cannot be copied, which the report then names
 */
export const readAvatar = async (
  source: Source,
  report: Pick<Report, 'note'>,
  { id, name }: AvatarOwner,
  avatar: SourceAvatar,
): Promise<AvatarImage | 'generated' | undefined> => {
  const content = await ifAvailable(download(source, avatar.path))
  if (content === undefined) return void report.note('notCopied', MISSING, name)
  if (!source.isAllot && isGenerated(avatar, id, content)) return 'generated'
  const refuse = (reason: string) => void report.note('notCopied', REFUSED, `${name} (${reason})`)
  if (content.length > MAX_AVATAR_BYTES) return refuse(`larger than ${formatSize(MAX_AVATAR_BYTES)}`)
  try {
    return { type: avatarTypeOf(content), content }
  } catch (error) {
    if (error instanceof AllotError) return refuse(error.message)
    throw error
  }
}

/** Stops when the content is too large. */
const download = async (source: Source, path: string): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of await source.download(path)) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_AVATAR_BYTES) break
  }
  return Buffer.concat(chunks)
}

/**
 * Whether an image was generated for an address or a name that the account no longer has. Then it is a PNG of
 * two colors, and its key is not made of its content, as older versions do it for uploaded images.
 */
const isGenerated = ({ key }: SourceAvatar, id: number | undefined, content: Buffer): boolean =>
  key.length === 32 && hasTwoColors(content) && key !== md5(`${id}-${md5(content)}`)

/** Whether the content is a PNG with a palette of two colors, which stands behind the first chunk. */
const hasTwoColors = (content: Buffer): boolean =>
  content.toString('latin1', 1, 4) === 'PNG' &&
  content.toString('latin1', 37, 41) === 'PLTE' &&
  content.readUInt32BE(33) === 6

export const digestOfAvatar = (image: AvatarImage | undefined): string | undefined =>
  image && hash('sha256', image.content)

/** What a migration compares. */
interface AvatarPair {
  readonly given: AvatarOwner
  readonly account: Account
  /** Digest of the image here; undefined without one. */
  readonly here: string | undefined
  /** Record of the image that an earlier migration has copied. */
  readonly known: MigrationRecord | undefined
}

/**
 * Copies the image that an account has uploaded at the source, and follows its changes there. An image that
 * was set, changed or removed here stays so. As its profile, that of an account which was created here is not
 * touched.
 */
export const copyAvatar = (migration: Migration, given: AvatarOwner): Promise<void> =>
  reportErrors(migration.report, `the avatar of ${given.name}`, async () => {
    const { source, allot, migrationLog, names, report } = migration
    const account = await names.accountOf(given.name)
    if (account === undefined) return
    const scope = names.keyHere(account)
    if ((await migrationLog.get('account', '', scope))?.copy?.id !== account.id) return
    const here = digestOfAvatar(await allot.hosting.avatars.of(account.id))
    const records = await migrationLog.list('avatar', scope)
    // An account that was deleted here, and then copied again, has none of them.
    const known = records.find(({ copy }) => copy?.id === account.id)
    const pair = { given, account, here, known }
    const avatar = sourceAvatar(source, report, given)
    if (avatar !== undefined && avatar.key === known?.name) return reportUnchanged(migration, pair)
    const image = avatar === undefined ? 'generated' : await readAvatar(source, report, given, avatar)
    if (image === undefined) return
    if (avatar === undefined || image === 'generated') await removeCopy(migration, pair)
    else await replaceCopy(migration, pair, avatar, image)
  })

const reportUnchanged = ({ report }: Migration, { given, here, known }: AvatarPair): void => {
  if (here === known?.digest) report.count('avatars', 'found')
  else reportOwn(report, given, here)
}

/** Reports an image that was changed here, or removed. */
const reportOwn = (report: Report, { name }: AvatarOwner, here: string | undefined): void =>
  report.note('differs', here === undefined ? REMOVED_HERE : CHANGED_HERE, name)

/** Reports that an image was changed or removed here while that of the source was downloaded. */
const reportRace = async ({ allot, report }: Migration, { given, account }: AvatarPair): Promise<void> =>
  reportOwn(report, given, digestOfAvatar(await allot.hosting.avatars.of(account.id)))

const removeCopy = async (migration: Migration, pair: AvatarPair): Promise<void> => {
  const { content, report, keep } = migration
  const { given, account, here, known } = pair
  if (here !== known?.digest && here !== undefined) reportOwn(report, given, here)
  else if (known === undefined) return
  else if (keep === true && here !== undefined) report.note('differs', KEPT_REMOVED, given.name)
  else {
    const isRemoved = await content.setAvatar(account.id, known, here)
    if (!isRemoved) await reportRace(migration, pair)
    else if (here !== undefined) report.note('removed', 'avatars', given.name)
  }
}

const replaceCopy = async (
  migration: Migration,
  pair: AvatarPair,
  { key }: SourceAvatar,
  image: AvatarImage,
): Promise<void> => {
  const { content, names, report, keep } = migration
  const { given, account, here, known } = pair
  const digest = digestOfAvatar(image)
  if (here === digest) return report.count('avatars', 'found')
  if (here !== known?.digest) return reportOwn(report, given, here)
  if (keep === true && known !== undefined) return report.note('differs', KEPT, given.name)
  const origin = { scope: names.keyHere(account), name: key, digest }
  const isSet = await content.setAvatar(account.id, known, here, { image, origin })
  if (!isSet) return reportRace(migration, pair)
  report.count('avatars', known === undefined ? 'copied' : 'updated')
}
