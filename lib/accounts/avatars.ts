import { createHash, randomBytes } from 'node:crypto'
import { formatSize } from '../byte-sizes.ts'
import { now } from '../clock.ts'
import { AllotError, invalidMember } from '../errors.ts'
import { IMAGE_FORMATS, imageFormatOf } from '../files/image-format.ts'
import { type Account, type AvatarType, accounts, avatars } from '../records/schema/index.ts'
import type { Store, WriteContext } from '../records/store.ts'
import { accountAt, type Target } from './authorize.ts'
import { accountByName } from './find.ts'

/** Bytes of an image. */
export const MAX_AVATAR_BYTES = 512 * 1024
/**
 * Width and height of an image: browsers need four bytes for each of its pixels, however small the file is.
 */
export const MAX_AVATAR_PIXELS = 2048

/** Form of the key of an image. */
export const AVATAR_KEY = /^[0-9a-f]{32}$/

/** @throws AllotError invalid when the file is not an image, or too large in bytes or pixels */
export const avatarTypeOf = (content: Buffer): AvatarType => {
  if (content.length === 0) throw invalidMember('image', 'must not be empty')
  if (content.length > MAX_AVATAR_BYTES)
    throw invalidMember(
      'image',
      `must not be larger than ${formatSize(MAX_AVATAR_BYTES)}, got ${formatSize(content.length)}`,
    )
  const format = imageFormatOf(content)
  if (format === undefined) throw invalidMember('image', `must be a ${IMAGE_FORMATS} image`)
  const { type, width, height } = format
  if (width === 0 || height === 0)
    throw invalidMember('image', 'the file is damaged, its width and height cannot be read')
  if (width > MAX_AVATAR_PIXELS || height > MAX_AVATAR_PIXELS)
    throw invalidMember(
      'image',
      `must have at most ${MAX_AVATAR_PIXELS} × ${MAX_AVATAR_PIXELS} pixels, got ${width} × ${height}: make it smaller`,
    )
  return type
}

/** An uploaded image. */
export interface AvatarImage {
  readonly type: AvatarType
  readonly content: Buffer
}

/**
 * Images that users and organizations have uploaded. The address of an image has a random key, which changes
 * with the image: so browsers cache it forever, and only those who were given the address of a hidden account
 * can read it.
 */
export class Avatars {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Replaces the image of an account.
   * @returns false when there is no such account
   * @throws AllotError invalid when the file is not an image, or too large in bytes or pixels
   */
  async set(which: Target<Account>, content: Buffer): Promise<boolean> {
    const image = { type: avatarTypeOf(content), content }
    return this.#change(which, (tx, account) => saveAvatar(tx, account, image))
  }

  /**
   * Removes the image of an account, so that the one made of the name is shown.
   * @returns false when there is no such account
   */
  remove(which: Target<Account>): Promise<boolean> {
    return this.#change(which, removeAvatar)
  }

  /** The image that the account with the id has uploaded; undefined without one. */
  of(account: number): Promise<AvatarImage | undefined> {
    return this.#store.read(async (tx) => {
      const image = await avatars.get(tx, [account])
      return image && { type: image.type, content: Buffer.from(image.content, 'base64') }
    })
  }

  /** @throws AllotError not_found unless the account has the image with the key */
  read(name: string, key: string): Promise<AvatarImage> {
    return this.#store.read(async (tx) => {
      const account = await accountByName(tx, name)
      const image = account?.avatar === key ? await avatars.get(tx, [account.id]) : undefined
      if (image === undefined) throw new AllotError('not_found', 'there is no such image')
      return { type: image.type, content: Buffer.from(image.content, 'base64') }
    })
  }

  #change(
    which: Target<Account>,
    change: (tx: WriteContext, account: Account) => Promise<void>,
  ): Promise<boolean> {
    return this.#store.write(async (tx) => {
      const account = await accountAt(tx, which)
      if (account !== undefined) await change(tx, account)
      return account !== undefined
    })
  }
}

/**
 * Saves the image of an account.
 * @param image one whose type {@link avatarTypeOf} has found
 */
export const saveAvatar = async (tx: WriteContext, account: Account, image: AvatarImage): Promise<void> => {
  const content = image.content.toString('base64')
  const before = await avatars.get(tx, [account.id])
  if (before?.content === content) return
  await avatars.save(tx, { account: account.id, type: image.type, content })
  await accounts.save(tx, { ...account, avatar: randomBytes(16).toString('hex'), updatedAt: now() })
}

export const removeAvatar = async (tx: WriteContext, { avatar, ...account }: Account): Promise<void> => {
  if (avatar === undefined) return
  await avatars.remove(tx, [account.id])
  await accounts.save(tx, { ...account, updatedAt: now() })
}

/** White text on each of them has WCAG AA contrast. */
const COLORS = ['#1a56cf', '#6b46c1', '#0b6b61', '#9a4508', '#a3195b', '#4a5568', '#8f2d2d', '#3b6b1f']

/** @returns the letter of an account's image, and the color behind it */
export const avatarOf = (name: string): { letter: string; color: string } => {
  const [first = 0] = createHash('sha1').update(name.toLowerCase()).digest()
  return { letter: name.charAt(0).toUpperCase(), color: COLORS[first % COLORS.length]! }
}
