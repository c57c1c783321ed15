import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/*
 * The programs that specs need, from `requirements.json`. `node spec/support/requirements.mjs` prints the Debian packages
 * of those that are absent, for `.ci/run`.
 */

/**
 * @typedef {object} Requirement
 * @property {string} name
 * @property {string[]} [programs] any of which will do; the name when absent
 * @property {string[]} [folders] searched besides PATH; a `*` stands for every folder there, the highest number first
 * @property {string} package of Debian
 * @property {string[]} [files] specs that need it in each of their tests
 */

/** @type {Requirement[]} */
const requirements = JSON.parse(readFileSync(new URL('requirements.json', import.meta.url), 'utf8'))

/** @returns {string[]} */
const expand = (/** @type {string} */ folder) => {
  const [parent = '', rest] = folder.split('/*/')
  if (rest === undefined) return [folder]
  if (!existsSync(parent)) return []
  const names = readdirSync(parent).sort((left, right) => Number(right) - Number(left))
  return names.map((name) => join(parent, name, rest))
}

const isProgram = (/** @type {string} */ path) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * @param {string} name of the table
 * @returns {string | undefined} the path of the program
 */
export const programOf = (name) => {
  const requirement = requirements.find((one) => one.name === name)
  if (requirement === undefined) throw new Error(`${name} is not in requirements.json`)
  const { programs = [name], folders = [] } = requirement
  return [...folders.flatMap(expand), ...(process.env.PATH ?? '').split(':')]
    .flatMap((folder) => programs.map((program) => join(folder, program)))
    .find(isProgram)
}

/**
 * For `skip` of a test.
 * @param {string[]} names of the table
 * @returns {string | false} why what needs the programs is skipped; false when all are there
 */
export const lacks = (...names) => {
  const absent = requirements.filter(({ name }) => names.includes(name) && programOf(name) === undefined)
  if (absent.length === 0) return false
  return `needs ${absent.map(({ name }) => name).join(' and ')}: apt-get install ${absent.map((one) => one.package).join(' ')}`
}

/**
 * @param {string} file path of a spec file
 * @returns {string | false} why the whole file is skipped
 */
export const lacksForFile = (file) =>
  lacks(...requirements.filter(({ files = [] }) => files.includes(file)).map(({ name }) => name))

if (process.argv[1] === import.meta.filename)
  for (const { name, package: debian } of requirements) if (programOf(name) === undefined) console.log(debian)
