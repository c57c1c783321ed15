import { existsSync } from 'node:fs'
import { VERSION } from '../lib/version.ts'
import { print } from './terminal.ts'

/** Where the documents and the systemd unit put the configuration file. */
const CONFIG_FILES = ['allot.toml', '/etc/allot/allot.toml']

/** Prints what to do next, for a person who runs `allot` without arguments in a terminal. */
export const printNextSteps = async (): Promise<void> => {
  const { recordsFolder, storeLocation } = await import('./config/store.ts')
  const config = CONFIG_FILES.find((file) => existsSync(file))
  const option = config === undefined ? '' : ` --config ${config}`
  const location = storeLocation(config === undefined ? {} : { config })
  const folder = recordsFolder(location)
  const isNew = folder !== undefined && !existsSync(folder)
  const store = folder === undefined ? 'the configured storage' : location.data
  const server = process.env.ALLOT_URL
  print(`Allot ${VERSION}, a code-hosting HTTP API with an exact storage-quota engine.\n`)
  if (config !== undefined) print(`The configuration file is ${config}.`)
  print(isNew ? `There is no data in ${location.data} yet.` : `The data is in ${store}.`)
  if (server)
    print(`Commands for accounts, repositories, quota and export use the server at ${server} (ALLOT_URL).`)
  const creates = isNew ? ', and creates the data with an administrator' : ''
  print(`
  allot serve${option}    starts a server${creates}
  allot doctor${option}   checks this machine and the configuration
  allot --help${' '.repeat(option.length)}   lists all commands`)
}
