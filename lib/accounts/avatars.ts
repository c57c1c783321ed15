import { createHash } from 'node:crypto'

/** White text on each of them has WCAG AA contrast. */
const COLORS = ['#1a56cf', '#6b46c1', '#0b6b61', '#9a4508', '#a3195b', '#4a5568', '#8f2d2d', '#3b6b1f']

/** @returns the letter of an account's image, and the color behind it */
export const avatarOf = (name: string): { letter: string; color: string } => {
  const [first = 0] = createHash('sha1').update(name.toLowerCase()).digest()
  return { letter: name.charAt(0).toUpperCase(), color: COLORS[first % COLORS.length]! }
}
