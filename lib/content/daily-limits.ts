/** What a person may add in a day (UTC), also of what was deleted since. */
import { today } from '../clock.ts'
import { AllotError } from '../errors.ts'
import { accounts, guestUploads } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { RepositoryServices } from '../repositories/repositories.ts'
import type { ReadTransaction } from '../storage/index.ts'

/**
 * A user without write permission on a repository of the owner, whose quota pays for what the user attaches.
 * As the owner of itself: a user who writes texts, which no quota counts.
 */
interface Guest {
  readonly account: number
  readonly owner: number
}

const bytesToday = async (tx: ReadTransaction, { account, owner }: Guest): Promise<number> => {
  const upload = await guestUploads.get(tx, [account, owner])
  return upload?.day === today() ? upload.bytes : 0
}

/**
 * Refuses further attachments of a guest who has attached as much today as the limit allows.
 * @param size bytes of the next attachment, as far as they are known
 * @throws AllotError too_large
 */
export const refuseBeyondDay = async (
  tx: ReadTransaction,
  guest: Guest,
  limit: number,
  size = 1,
): Promise<void> => {
  if ((await bytesToday(tx, guest)) + size <= limit) return
  throw new AllotError(
    'too_large',
    limit === 0
      ? 'only users with write permission on the repository can attach files'
      : `without write permission, you can attach ${limit} bytes a day to issues of this owner: try again tomorrow, or ask the owner`,
  )
}

/**
 * Counts an attachment of a guest, in the write that saves it.
 * @throws AllotError too_large beyond the limit
 */
export const countGuestUpload = async (
  tx: WriteContext,
  guest: Guest,
  limit: number,
  size: number,
): Promise<void> => {
  await refuseBeyondDay(tx, guest, limit, size)
  await save(tx, guest, (await bytesToday(tx, guest)) + size)
}

/**
 * Counts the texts of an issue, a comment, a release or a commit status that a user writes or changes, in the
 * write that saves them. A text that stays as it was counts as nothing, and so do those of accounts that do
 * not exist: hosts name any id, and an account can be deleted meanwhile.
 * @param before the texts so far
 * @throws AllotError too_large beyond the limit
 */
export const countTexts = async (
  tx: WriteContext,
  { maxTextPerDay }: Pick<RepositoryServices, 'maxTextPerDay'>,
  account: number,
  texts: readonly (string | undefined)[],
  before: readonly string[] = [],
): Promise<void> => {
  const writer = { account, owner: account }
  const changed = texts.filter((text) => text !== undefined && !before.includes(text)) as string[]
  const size = changed.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  if (size === 0 || (await accounts.get(tx, [account])) === undefined) return
  const bytes = (await bytesToday(tx, writer)) + size
  if (bytes > maxTextPerDay)
    throw new AllotError(
      'too_large',
      `you can write ${maxTextPerDay} bytes of text a day in issues, comments, releases and commit statuses: try again tomorrow`,
    )
  await save(tx, writer, bytes)
}

const save = (tx: WriteContext, guest: Guest, bytes: number) =>
  guestUploads.save(tx, { ...guest, day: today(), bytes })
