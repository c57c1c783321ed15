import * as v from 'valibot'
import { isObject } from '../../lib/errors.ts'
import { entriesOf } from '../../lib/options/checks.ts'

/** Name of the variable of an option, or of a section: `ALLOT_SERVER_PORT` of `server.port`. */
export const variableOf = (path: string): string =>
  `ALLOT_${path.replace(/[A-Z]/g, '_$&').replace('.', '_').toUpperCase()}`

/** Whether the environment sets options of a section. */
export const hasVariables = (section: string): boolean =>
  Object.entries(process.env).some(([name, text]) => text && name.startsWith(`${variableOf(section)}_`))

/** Variables of the commands and of worker processes, and those with which the specs run. */
const OTHERS = /^ALLOT_(?:URL|TOKEN|FROM_TOKEN|WORKER|WORKER_PORT|SPEC_\w+)$/
/** Variables that Kubernetes sets for a service named `allot`, or `allot-…`. */
const SERVICE_LINK = /^ALLOT_(?:\w+_)?(?:SERVICE_(?:HOST|PORT)|PORT_\d+_(?:TCP|UDP|SCTP))(?:_\w+)?$/
const SERVICE_ADDRESS = /^(?:tcp|udp|sctp):\/\//

const isOption = (name: string, text: string): boolean =>
  name.startsWith('ALLOT_') && !OTHERS.test(name) && !SERVICE_LINK.test(name) && !SERVICE_ADDRESS.test(text)

/**
 * Adds the options that the environment sets to the content of a configuration file. Every other variable
 * that begins with `ALLOT_` is added as well, so that it is refused as an unknown key of a file is: an option
 * that is written wrong must not be ignored.
 * @returns the paths of what it has added
 */
export const addEnvironment = (
  content: Record<string, unknown>,
  schema: v.GenericSchema,
  environment: NodeJS.ProcessEnv,
): ReadonlySet<string> => {
  const sections = entriesOf(schema) ?? {}
  const added = new Set<string>()
  // In order, so that `ALLOT_LFS_MAX_SIZE` follows `ALLOT_LFS`.
  for (const [name, text] of Object.entries(environment).sort()) {
    // Compose files set a variable to nothing when it is absent.
    if (!text || !isOption(name, text)) continue
    const path = pathOf(name, sections)
    const [section = '', key] = path.split('.')
    added.add(path)
    if (key === undefined) content[section] = readAs(ownMember(sections, section), text)
    else {
      const before = content[section]
      const value = readAs(ownMember(entriesOf(sections[section]!), key), text)
      content[section] = { ...(isObject(before) ? before : {}), [key]: value }
    }
  }
  return added
}

/** Undefined also for names that every object has, such as `constructor`. */
const ownMember = <T>(entries: Readonly<Record<string, T>> | undefined, name: string): T | undefined =>
  entries !== undefined && Object.hasOwn(entries, name) ? entries[name] : undefined

/** The path of an option, of a section, or for an unknown name one that nothing has. */
const pathOf = (name: string, sections: Readonly<Record<string, object>>): string => {
  const section = Object.keys(sections).find((key) => `${name}_`.startsWith(`${variableOf(key)}_`))
  if (section === undefined) return name.slice('ALLOT_'.length).toLowerCase()
  if (name === variableOf(section)) return section
  const paths = Object.keys(entriesOf(sections[section]!) ?? {}).map((key) => `${section}.${key}`)
  const unknown = name.slice(variableOf(section).length + 1).toLowerCase()
  return paths.find((path) => variableOf(path) === name) ?? `${section}.${unknown}`
}

/**
 * What the text means to an option: the text, a number or boolean, or a list, whichever it accepts.
 * @param option undefined for an unknown one
 */
const readAs = (option: v.GenericSchema | undefined, text: string): unknown => {
  if (option === undefined) return text
  const scalar = /^(?:true|false|-?\d+(?:\.\d+)?)$/.test(text) ? JSON.parse(text) : text
  const list = text.split(',').map((item) => item.trim())
  const accepted = [text, scalar, list].find((value) => v.safeParse(option, value).success)
  const isList = v.safeParse(option, scalar).issues?.[0]?.type === 'array'
  return accepted ?? (isList ? list : scalar)
}
