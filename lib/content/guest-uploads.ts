import { today } from '../clock.ts'
import { AllotError } from '../errors.ts'
import { guestUploads } from '../records/schema/index.ts'
import type { WriteContext } from '../records/store.ts'
import type { ReadTransaction } from '../storage/index.ts'

/**
 * A user without write permission on a repository of the owner, whose quota pays for what the user attaches.
 */
interface Guest {
  readonly account: number
  readonly owner: number
}

/** Bytes that the guest has attached today, also of what was deleted since. */
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
  const bytes = (await bytesToday(tx, guest)) + size
  await guestUploads.save(tx, { ...guest, day: today(), bytes })
}
