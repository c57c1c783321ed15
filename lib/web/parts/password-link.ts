import type { PasswordLink } from '../../accounts/own-passwords.ts'

/** Path of the page on which a user sets a password with a link. */
export const SET_PASSWORD = '/-/set-password'

/** Path and query of a link that sets a password. */
export const passwordLinkPath = ({ user, code }: PasswordLink): string =>
  `${SET_PASSWORD}?${new URLSearchParams({ user, code })}`
