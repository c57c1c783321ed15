/**
 * Pictures that browsers may show; every other type is text or bytes, so that no file becomes a page of this
 * origin.
 */
const PICTURES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
}

/** @returns the content type of a picture; undefined for other files */
export const pictureType = (name: string): string | undefined =>
  PICTURES[name.slice(name.lastIndexOf('.') + 1).toLowerCase()]
