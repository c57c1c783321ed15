import { ID_PREFIX } from './ids.ts'

/** A footnote while its text is rendered. */
export interface Note {
  /** By the first reference, from 1; 0 while there is none. */
  number: number
  references: number
}

/** What a footnote may be called. */
const LABEL = '\\[\\^([^\\]\\s^]{1,100})\\]'
/** At the start of a line. */
export const DEFINITION = new RegExp(`^${LABEL}:[ \\t]*`)
export const REFERENCE = new RegExp(LABEL, 'g')

/** Labels are compared without case, as those of links are. */
export const keyOf = (label: string): string => label.toLowerCase()

/** A colon, which no heading's id has, keeps them apart. */
export const noteId = ({ number }: Note): string => `${ID_PREFIX}fn:${number}`

const referenceId = ({ number }: Note, reference: number): string =>
  `${ID_PREFIX}fnref:${number}${reference === 1 ? '' : `:${reference}`}`

/** Numbers a note that is referred to for the first time, behind the `listed` ones. */
export const referenceHtml = <N extends Note>(note: N, listed: N[]): string => {
  if (note.number === 0) note.number = listed.push(note)
  const id = referenceId(note, ++note.references)
  return `<sup id="${id}"><a href="#${noteId(note)}" rel="nofollow">${note.number}</a></sup>`
}

/** From a note to each of its references. */
export const backHtml = (note: Note): string =>
  Array.from(
    { length: note.references },
    (_, index) => ` <a href="#${referenceId(note, index + 1)}" rel="nofollow">↩︎</a>`,
  ).join('')

export const LIST = { opening: '<div>\n<hr />\n<ol dir="auto">', closing: '</ol>\n</div>' }
