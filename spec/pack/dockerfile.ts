import assert from 'node:assert/strict'

/** The instructions of a Dockerfile, with their arguments. */
export const instructionsIn = (text: string): [name: string, rest: string][] =>
  text
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, name, rest] = /^([A-Z]+) (.*)$/.exec(line) ?? assert.fail(line)
      return [name!, rest!]
    })
