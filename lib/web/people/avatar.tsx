/** The uploaded images of users and organizations, and the form that changes one. */
import type { Identity } from '../../accounts/access.ts'
import { type Authorizer, isOwnerOf } from '../../accounts/authorize.ts'
import { MAX_AVATAR_BYTES, MAX_AVATAR_PIXELS } from '../../accounts/avatars.ts'
import { visibleAccount } from '../../accounts/find.ts'
import { AllotError } from '../../errors.ts'
import { IMAGE_FORMATS } from '../../files/image-format.ts'
import { type Account, AvatarType } from '../../records/schema/index.ts'
import { requireScopes } from '../../scopes.ts'
import { FlashMessage, PageHead, Post, Section } from '../parts/components.tsx'
import { Hint } from '../parts/fields.tsx'
import { invalidAttributes, labelOf } from '../parts/labels.ts'
import { type PageServices, page, refusedForm, type View } from '../parts/route.ts'
import { unbrokenSize } from '../parts/sizes.ts'
import { Avatar, pictureScope } from './account-parts.tsx'

export const avatarPageRoutes = [
  page({
    method: 'GET',
    path: '/-/avatars/{name}/{key}',
    auth: 'optional',
    async handle({ params }, { hosting }) {
      const { type, content } = await hosting.avatars.read(params.name, params.key)
      return { picture: content, type }
    },
  }),
  page({
    method: 'GET',
    path: '/-/avatars/{name}',
    auth: 'required',
    handle: ({ user, params, query }, services) =>
      avatarView(services, user, params.name, { done: query.get('done') }),
  }),
  page({
    method: 'POST',
    path: '/-/avatars/{name}',
    auth: 'required',
    maxFileBytes: MAX_AVATAR_BYTES,
    async handle({ user, params: { name }, form }, services) {
      const { avatars } = services.hosting
      const image = form.file('image')
      const isRemoval = form.text('do') === 'remove'
      try {
        const isFound = isRemoval
          ? await avatars.remove(changeable(user, name))
          : await avatars.set(changeable(user, name), image ?? Buffer.alloc(0))
        if (!isFound) throw missing(name)
      } catch (error) {
        return refusedForm(error, { invalid: 422 }, (failure) =>
          avatarView(services, user, name, { failure }),
        )
      }
      return { to: `/-/avatars/${name}?done=${isRemoval ? 'removed' : 'saved'}` }
    },
  }),
]

const missing = (name: string) =>
  new AllotError('not_found', `there is no user or organization named ${name}`)

/**
 * An account whose image the user may change: the user's own, that of an organization that the user owns, or
 * any for administrators.
 */
const changeable =
  (user: Identity, name: string): Authorizer<Account> =>
  async (tx) => {
    const account = await visibleAccount(tx, user, name)
    if (account === undefined) return undefined
    if (!(await isOwnerOf(tx, user, account.id)))
      throw new AllotError('forbidden', `you may not change the picture of ${account.name}`)
    requireScopes(user, { scope: pictureScope(user, account) })
    return account
  }

const avatarView = async (
  { store, settings }: PageServices,
  user: Identity,
  name: string,
  message: FlashMessage,
): Promise<View> => {
  const account = await store.read(changeable(user, name))
  if (account === undefined) throw missing(name)
  const to = `/-/avatars/${account.name}`
  const above = settings.servedPages.has(account.kind) ? `/${account.name}` : `/-/storage/${account.name}`
  return {
    title: `Picture of ${account.name}`,
    crumbs: [{ name: account.name, to: above }],
    body: (
      <>
        <PageHead title="Profile picture" subtitle={<bdi>{account.fullName || account.name}</bdi>} />
        <FlashMessage {...message} />
        <Section id="picture" title="Picture">
          <div class="profile">
            <Avatar account={account} size="large" />
            <p class="muted">
              {account.avatar === undefined
                ? 'The current picture is made from the name.'
                : 'The current picture was uploaded.'}
            </p>
          </div>
          <Post to={to} class="stacked more" hasFile>
            <label for="image">{labelOf('image')}</label>
            <input
              id="image"
              name="image"
              type="file"
              accept={AvatarType.options.join()}
              required
              {...invalidAttributes('image', message.failure, 'image-hint')}
            />
            <Hint field="image" failure={message.failure} id="image-hint">
              {IMAGE_FORMATS}, up to {unbrokenSize(MAX_AVATAR_BYTES)} and {MAX_AVATAR_PIXELS} ×{' '}
              {MAX_AVATAR_PIXELS} pixels, cut to a square. Metadata, such as where a photo was taken, stays in
              the file.
            </Hint>
            <div class="buttons">
              <button type="submit">Save picture</button>
              {account.avatar !== undefined && (
                <button type="submit" class="secondary" name="do" value="remove" formNoValidate>
                  Remove picture
                </button>
              )}
            </div>
          </Post>
        </Section>
      </>
    ),
  }
}
