import { createHash } from 'node:crypto'

/** The image of an account, which is made of its name alone: so it tells nothing that its address does not. */

/** White text on each of them has WCAG AA contrast. */
const COLORS = ['#1a56cf', '#6b46c1', '#0b6b61', '#9a4508', '#a3195b', '#4a5568', '#8f2d2d', '#3b6b1f']

/** @returns the letter of an account's image, and the color behind it */
export const avatarOf = (name: string): { letter: string; color: string } => {
  const [first = 0] = createHash('sha1').update(name.toLowerCase()).digest()
  return { letter: name.charAt(0).toUpperCase(), color: COLORS[first % COLORS.length]! }
}

/** @param name a valid account name, which needs no escaping */
export const avatarSvg = (name: string): string => {
  const { letter, color } = avatarOf(name)
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64" width="256" height="256"><rect width="64" height="64" fill="${color}"/><text x="32" y="43" font-family="system-ui,sans-serif" font-size="32" font-weight="600" text-anchor="middle" fill="#fff">${letter}</text></svg>`
}
