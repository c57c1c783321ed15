import { type AvatarOwner, digestOfAvatar, readAvatar, sourceAvatar } from '../avatars.ts'
import { reportErrors } from '../migration.ts'
import type { Sides } from './sides.ts'

/** Compares the content of the image that a user or an organization has uploaded. */
export const compareAvatar = ({ source, report, hosting, names }: Sides, given: AvatarOwner): Promise<void> =>
  reportErrors(report, `the avatar of ${given.name}`, async () => {
    const account = await names.account(given.name)
    if (account === undefined) return
    const avatar = sourceAvatar(source, report, given)
    const image = avatar === undefined ? 'generated' : await readAvatar(source, report, given, avatar)
    // It cannot be copied.
    if (image === undefined) return
    const expected = image === 'generated' ? null : digestOfAvatar(image)
    const actual = digestOfAvatar(await hosting.avatars.of(account.id))
    if (image !== 'generated' || actual !== undefined) report.count('avatar')
    report.fields(account.kind, given.name, { 'avatar (SHA-256)': expected }, { 'avatar (SHA-256)': actual })
  })
