import * as v from 'valibot'
import { isObject } from '../../lib/errors.ts'
import { entriesOf } from '../../lib/options/checks.ts'

/** Name of the variable of an option, or of a section: `ALLOT_SERVER_PORT` of `server.port`. */
export const variableOf = (path: string): string =>
  `ALLOT_${path.replace(/[A-Z]/g, '_$&').replace('.', '_').toUpperCase()}`

/** Whether the environment sets options of a section. */
export const hasVariables = (section: string): boolean =>
  Object.entries(process.env).some(([name, text]) => text && name.startsWith(`${variableOf(section)}_`))

/**
 * Adds the options that the environment sets to the content of a configuration file. A variable that begins
 * with a section and names no option of it is added as well, so that it is refused as it is in a file.
 * @returns the paths of what it has added
 */
export const addEnvironment = (
  content: Record<string, unknown>,
  schema: v.GenericSchema,
  environment: NodeJS.ProcessEnv,
): ReadonlySet<string> => {
  const sections = Object.entries(entriesOf(schema) ?? {})
  const added = new Set<string>()
  // In order, so that `ALLOT_LFS_MAX_SIZE` follows `ALLOT_LFS`.
  for (const [name, text] of Object.entries(environment).sort()) {
    const found = sections.find(([section]) => `${name}_`.startsWith(`${variableOf(section)}_`))
    // Compose files set a variable to nothing when it is absent.
    if (found === undefined || !text) continue
    const [section, member] = found
    const path = pathOf(name, section, member)
    const [, key] = path.split('.')
    added.add(path)
    if (key === undefined) content[section] = readAs(member, text)
    else {
      const before = content[section]
      const option = entriesOf(member)?.[key]
      const value = option === undefined ? text : readAs(option, text)
      content[section] = { ...(isObject(before) ? before : {}), [key]: value }
    }
  }
  return added
}

/** The path of an option, or of the section itself. */
const pathOf = (name: string, section: string, member: object): string => {
  if (name === variableOf(section)) return section
  const paths = Object.keys(entriesOf(member) ?? {}).map((key) => `${section}.${key}`)
  const unknown = name.slice(variableOf(section).length + 1).toLowerCase()
  return paths.find((path) => variableOf(path) === name) ?? `${section}.${unknown}`
}

/** What the text means to an option: the text, a number or boolean, or a list, whichever it accepts. */
const readAs = (option: v.GenericSchema, text: string): unknown => {
  const scalar = /^(?:true|false|-?\d+(?:\.\d+)?)$/.test(text) ? JSON.parse(text) : text
  const list = text.split(',').map((item) => item.trim())
  return [text, scalar, list].find((value) => v.safeParse(option, value).success) ?? scalar
}
