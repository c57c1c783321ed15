import { chosenDriver, foldersOf, outside, type StoreLocation } from '../config/store.ts'
import { checkDatabase } from './database.ts'
import type { Check } from './finding.ts'
import { checkFolder, checkGit, checkOpenFiles } from './machine.ts'
import { checkAddresses, checkCertificate, checkServer, checkStore } from './service.ts'
import { sshChecks } from './ssh.ts'

/**
 * The checks of `allot doctor` in their order.
 * @param url of the running server; undefined: where the configuration has it
 */
export const checksOf = (location: StoreLocation, url: string | undefined): Check[] => {
  const { config, data } = location
  const { repositories, files } = foldersOf(location)
  return [
    ['git', () => checkGit(config)],
    ['data folder', () => checkFolder(data, '--data')],
    ...outside(data, repositories).map((folder) => ofSection('repositories', folder)),
    ...outside(data, files).map((folder) => ofSection('files', folder)),
    storeCheck(location),
    ['open files', () => checkOpenFiles(config)],
    ['certificate', () => checkCertificate(config)],
    ['proxies', () => checkAddresses(config)],
    ...sshChecks(config, repositories ? repositories.directory : undefined),
    ['server', () => checkServer(config, url)],
  ]
}

/** A folder that has a section of the configuration. */
const ofSection = (section: string, folder: string): Check => [
  section,
  () => checkFolder(folder, `directory under [${section}]`),
]

const storeCheck = (location: StoreLocation): Check => {
  const { storage } = location.config
  try {
    const { name, url } = chosenDriver(location)
    if (name === 'postgres') return ['database', () => checkDatabase(url, storage)]
  } catch {
    // The check of the store says why.
  }
  return ['store', () => checkStore(location)]
}
