/** @returns the path of a program of `requirements.json`; undefined when it is absent */
export const programOf: (name: string) => string | undefined
/** @returns why what needs the programs is skipped; false when all are there */
export const lacks: (...names: string[]) => string | false
