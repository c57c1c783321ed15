/** @returns the path of a program of `requirements.json`; undefined when it is absent */
export const programOf: (name: string) => string | undefined
/** @returns why the whole spec file is skipped; false when it is not */
export const lacksForFile: (file: string) => string | false
/** @returns why what needs the programs is skipped; false when all are there */
export const lacks: (...names: string[]) => string | false
